"""The figures of a bench, and the table and the goals made of them."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any

from tools.bench.cells import LARGE, SMALL
from tools.bench.clients import Side


@dataclass(slots=True)
class Figure:
    """One operation in one round. The driver of the hub's statements is its web server, of the floor's its clients."""

    operation: str
    size: int
    clients: int
    side: Side
    round: int
    seconds: float = 0.0
    driver_cpu_seconds: float = 0.0
    postgres_cpu_seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.step_seconds) / self.seconds

    @property
    def cpu_ms(self) -> float:
        return 1_000 * (self.driver_cpu_seconds + self.postgres_cpu_seconds) / len(self.step_seconds)

    @property
    def postgres_cpu_ms(self) -> float:
        return 1_000 * self.postgres_cpu_seconds / len(self.step_seconds)

    def percentile_ms(self, percent: int) -> float:
        return 1_000 * quantiles(self.step_seconds, n=100)[percent - 1]

    def as_record(self) -> dict[str, Any]:
        record = asdict(self)
        del record["step_seconds"]
        return record | {
            "requests_per_second": self.rate,
            "cpu_ms": self.cpu_ms,
            "p50_ms": self.percentile_ms(50),
            "p95_ms": self.percentile_ms(95),
        }


@dataclass(slots=True)
class Figures:
    taken: list[Figure] = field(default_factory=list)

    def of(self, operation: str, size: int, clients: int, side: Side) -> list[Figure]:
        """In order of the rounds."""
        wanted = (operation, size, clients, side)
        return [f for f in self.taken if (f.operation, f.size, f.clients, f.side) == wanted]

    def ratios(self, operation: str, size: int, clients: int) -> list[float]:
        """Of each round, the hub's rate to the floor's; none without a floor."""
        hub = self.of(operation, size, clients, "hub")
        floor = self.of(operation, size, clients, "floor")
        return [mine.rate / bare.rate for mine, bare in zip(hub, floor, strict=bool(floor))]

    def middle(
        self, operation: str, size: int, clients: int, side: Side, what: Callable[[Figure], float]
    ) -> float:
        return median(what(figure) for figure in self.of(operation, size, clients, side))


HEAD = (
    "| operation | memories | clients | req/s | p50 ms | p95 ms | CPU ms (PostgreSQL) "
    "| floor req/s | floor CPU ms | of the floor's rate (best) | floor's CPU to the hub's |\n"
    + "| --- "
    + "| ---: " * 10
    + "|"
)


def table(figures: Figures) -> str:
    """Medians of the rounds."""
    rows = dict.fromkeys((f.operation, f.size, f.clients) for f in figures.taken)
    return "\n".join(
        [HEAD, *(_row(figures, *row) for row in sorted(rows, key=lambda row: (row[0], row[2], row[1])))]
    )


def _row(figures: Figures, operation: str, size: int, clients: int) -> str:
    def hub(what: Callable[[Figure], float]) -> float:
        return figures.middle(operation, size, clients, "hub", what)

    def floor(what: Callable[[Figure], float]) -> float:
        return figures.middle(operation, size, clients, "floor", what)

    cells = [
        operation,
        f"{size:,}",
        str(clients),
        f"{hub(lambda f: f.rate):,.0f}",
        f"{hub(lambda f: f.percentile_ms(50)):.1f}",
        f"{hub(lambda f: f.percentile_ms(95)):.1f}",
        f"{hub(lambda f: f.cpu_ms):.2f} ({hub(lambda f: f.postgres_cpu_ms):.2f})",
    ]
    if ratios := figures.ratios(operation, size, clients):
        cells += [
            f"{floor(lambda f: f.rate):,.0f}",
            f"{floor(lambda f: f.cpu_ms):.2f}",
            f"{median(ratios):.2f} ({max(ratios):.2f})",
            f"{floor(lambda f: f.cpu_ms) / hub(lambda f: f.cpu_ms):.2f}",
        ]
    else:
        cells += ["", "", "", ""]
    return "| " + " | ".join(cells) + " |"


@dataclass(frozen=True, slots=True)
class Goal:
    what: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_met(self) -> bool:
        return (self.at_least is None or self.measured >= self.at_least) and (
            self.at_most is None or self.measured <= self.at_most
        )

    def __str__(self) -> str:
        bound = f"at least {self.at_least}" if self.at_least is not None else f"at most {self.at_most}"
        return f"{'met   ' if self.is_met else 'MISSED'} {self.what}: {self.measured:.2f}, {bound}"


def goals(figures: Figures) -> Iterable[Goal]:
    def cpu(operation: str, size: int) -> float:
        return figures.middle(operation, size, 8, "hub", lambda f: f.cpu_ms)

    for operation, goal in (("update", 0.5), ("get", 0.2)):
        ratio = median(figures.ratios(operation, LARGE, 8))
        yield Goal(f"{operation} by 8 clients, of the floor's rate", ratio, at_least=goal)
    yield Goal("CPU of a list page of 20, of a get's", cpu("list", LARGE) / cpu("get", LARGE), at_most=2)
    p95 = figures.middle("search", LARGE, 1, "hub", lambda f: f.percentile_ms(95))
    yield Goal("p95 of a search by one client, ms", p95, at_most=30)
    for operation in ("get", "update", "create", "delete", "list"):
        grown = cpu(operation, LARGE) / cpu(operation, SMALL)
        yield Goal(f"CPU of {operation} at {LARGE:,} memories, of that at {SMALL}", grown, at_most=1.3)
