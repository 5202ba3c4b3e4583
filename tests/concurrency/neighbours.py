"""One tenant sends fifty times as much as another, which must not feel it. Callers are given; imports nothing of Django."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.answers import Answer, Call
from tests.concurrency.clients import created, make_memory, make_store, run_together

QUIET_PER_SECOND = 5.0
LOUD_TIMES = 50
LOUD_CLIENTS = 20
LIMIT_PER_MINUTE = 400  # for each key: the quiet one stays below, the loud one is far above
P99_RATIO_MAX = 2.0
WINDOW_SECONDS = 60


@dataclass
class Stream:
    """What one tenant got: its latencies in seconds, each from the moment at which its call was due."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def note(self, answer: Answer, due: float) -> None:
        self.seconds.append(time.monotonic() - due)
        self.statuses[answer.status] += 1
        if answer.status == 429:
            wait = answer.headers.get("retry-after", "")
            if not (wait.isdigit() and 1 <= int(wait) <= WINDOW_SECONDS):
                self.faults.append(f"429 with Retry-After {wait!r}")

    @property
    def p99(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[math.ceil(0.99 * len(ordered)) - 1]


def client(call: Call) -> Callable[[int], Answer]:
    """Reads, writes and lists one memory in turn."""
    base = f"/v1/memory_stores/{make_store(call)}/memories"
    memory = f"{base}/{make_memory(call, base.split('/')[3], '/a')}"
    turns: list[Callable[[int], Answer]] = [
        lambda number: call("GET", memory),
        lambda number: call("POST", memory, {"content": str(number)}),
        lambda number: call("GET", base),
    ]
    return lambda number: turns[number % len(turns)](number)


def send(ask: Callable[[int], Answer], stream: Stream, *, per_second: float, until: float) -> None:
    """Calls at an even pace; one that was held up is late, and the next ones catch up."""
    due, number = time.monotonic(), 0
    while due < until:
        time.sleep(max(0.0, due - time.monotonic()))
        stream.note(ask(number), due)
        due, number = due + 1 / per_second, number + 1


@dataclass(frozen=True)
class Neighbours:
    alone: Stream
    beside: Stream
    loud: Stream

    @property
    def faults(self) -> list[str]:
        faults = [*self.alone.faults, *self.beside.faults, *self.loud.faults]
        for stream in (self.alone, self.beside):
            if stream.statuses.keys() != {200}:
                faults.append(f"the quiet tenant was refused: {dict(stream.statuses)}")
        if self.loud.statuses[429] < self.loud.statuses.total() / 2:
            faults.append(f"the loud tenant was not held back: {dict(self.loud.statuses)}")
        if self.ratio > P99_RATIO_MAX:
            faults.append(f"p99 beside the loud tenant is {self.ratio:.1f} times that alone")
        return faults

    @property
    def ratio(self) -> float:
        return self.beside.p99 / self.alone.p99

    @property
    def figures(self) -> str:
        return (
            f"p99 {self.alone.p99 * 1000:.1f} ms alone, {self.beside.p99 * 1000:.1f} ms beside ({self.ratio:.2f}); "
            f"loud: {self.loud.statuses.total()} calls, {self.loud.statuses[429]} answered 429"
        )


def crowd(quiet: Call, loud: Call, *, seconds: float) -> Neighbours:
    """Half of the time the quiet tenant is alone."""
    seen = Neighbours(Stream(), Stream(), Stream())
    quietly, loudly = client(quiet), client(loud)
    created(quietly(0))
    send(quietly, seen.alone, per_second=QUIET_PER_SECOND, until=time.monotonic() + seconds / 2)
    until = time.monotonic() + seconds / 2
    per_second = QUIET_PER_SECOND * LOUD_TIMES / LOUD_CLIENTS

    def shout() -> None:
        send(loudly, seen.loud, per_second=per_second, until=until)

    run_together(
        [
            lambda: send(quietly, seen.beside, per_second=QUIET_PER_SECOND, until=until),
            *[shout] * LOUD_CLIENTS,
        ]
    )
    return seen
