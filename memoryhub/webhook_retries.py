"""What follows an attempt at a webhook: the one decision over everything that can happen. Pure."""

from dataclasses import dataclass
from enum import StrEnum

# After the first attempt nine more at most, the last a day after the first; each waits up to a fifth longer, by chance.
DELAYS_SECONDS = (5, 30, 120, 600, 1_800, 3_600, 10_800, 25_200, 43_200)
JITTER_MAX = 0.2
RETRY_AFTER_SECONDS_MAX = 3_600
PAUSE_SECONDS_MAX = 300  # of a webhook that fails, between one attempt and the next


class Outcome(StrEnum):
    """How an attempt ended."""

    DELIVERED = "delivered"  # 2xx
    GONE = "gone"  # 410
    REDIRECTED = "redirected"  # never followed
    REFUSED = "refused"  # any other status
    BLOCKED = "egress_blocked"  # the policy refuses the address; nothing was sent
    NO_ANSWER = "no_answer"  # no connection, or none to the answer's end
    TOO_SLOW = "too_slow"  # the time was over
    SECRET_LOST = "secret_lost"  # no key of this hub opens the webhook's secret


@dataclass(frozen=True, slots=True)
class Decision:
    """`delay_seconds` None: there is no further attempt."""

    delay_seconds: float | None = None
    is_delivered: bool = False
    disables: bool = False


def outcome_of(status: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome.DELIVERED
    if status == 410:
        return Outcome.GONE
    return Outcome.REDIRECTED if 300 <= status < 400 else Outcome.REFUSED


def decide(outcome: Outcome, *, tries: int, retry_after: float | None, chance: float) -> Decision:
    """`tries`: how many were begun, this one included. `chance`: from 0 to 1. `retry_after`: what the receiver asked for."""
    if outcome is Outcome.DELIVERED:
        return Decision(is_delivered=True)
    if outcome is Outcome.GONE:
        return Decision(disables=True)
    if tries > len(DELAYS_SECONDS):
        return Decision()
    delay = DELAYS_SECONDS[tries - 1] * (1 + JITTER_MAX * chance)
    return Decision(max(delay, min(retry_after or 0.0, RETRY_AFTER_SECONDS_MAX)))


def pause_seconds(failures: int) -> float:
    """How long a receiver that failed so often in a row is left alone, whatever else waits for it."""
    return float(min(2 ** min(failures, 16), PAUSE_SECONDS_MAX))
