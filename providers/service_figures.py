"""How a service did lately: how many calls, how they ended, how long they took. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

CODES_SHOWN_MAX = 8
P95 = 0.95
_MILLISECONDS = 1_000

type Ended = tuple[str | None, datetime | None, datetime | None]  # (code, began, ended)


@dataclass(frozen=True, slots=True)
class Figures:
    """`failures`: [(code, count)], the most frequent first; `more_failures`: those of further codes.

    `median_ms`, `p95_ms`: of the calls that were begun, None without any. `is_cut`: there were more calls than counted.
    """

    count: int
    answered: int
    uncertain: int
    failures: list[tuple[str, int]]
    more_failures: int
    median_ms: int | None
    p95_ms: int | None
    is_cut: bool

    @property
    def failed(self) -> int:
        return self.count - self.answered - self.uncertain

    @property
    def answered_percent(self) -> int:
        """Rounded down: what did not all succeed is not 100 %."""
        return 100 * self.answered // self.count if self.count else 0


def measure(calls: Sequence[Ended], *, count_max: int) -> Figures:
    """Of `count_max` calls at most; one more says that there are more."""
    counted = calls[:count_max]
    codes = Counter(code or "" for code, _, _ in counted)
    failures = [(code, count) for code, count in codes.most_common() if code not in ("ok", "uncertain")]
    took = sorted(_took(began, ended) for _, began, ended in counted if began and ended)
    return Figures(
        len(counted),
        codes["ok"],
        codes["uncertain"],
        failures[:CODES_SHOWN_MAX],
        sum(count for _, count in failures[CODES_SHOWN_MAX:]),
        round(median(took)) if took else None,
        took[math.ceil(P95 * len(took)) - 1] if took else None,
        len(calls) > count_max,
    )


def _took(began: datetime, ended: datetime) -> int:
    return round((ended - began).total_seconds() * _MILLISECONDS)
