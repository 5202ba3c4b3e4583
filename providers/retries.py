"""What follows an attempt: the one decision over every kind of operation and everything that can happen to it. Pure.

Source: contract of document and HTTP memory, sections 11.1 and 11.2, decisions D1 to D3.
"""

from dataclasses import dataclass
from enum import StrEnum

from providers.limits import ATTEMPTS_MAX, DELAY_SECONDS


class Kind(StrEnum):
    RECALL = "recall"
    READ = "read"
    WRITE = "write"


class Event(StrEnum):
    """What happened. The first group is the answer's or its absence, the second is found by the check before an attempt."""

    SUCCEEDED = "succeeded"
    TRANSPORT_FAILED = "transport_failed"
    DEADLINE_REACHED = "deadline_reached"
    BUSY = "busy"  # 408, 429 and 5xx
    INVALID_ANSWER = "invalid_answer"
    TOO_LARGE = "too_large"
    REDIRECTED = "redirected"
    UNAUTHENTICATED = "unauthenticated"
    REFUSED = "refused"  # any other 4xx
    BLOCKED = "blocked"

    CANCELLED = "cancelled"  # also in the midst of an attempt
    SESSION_CLOSED = "session_closed"
    SECRET_UNAVAILABLE = "secret_unavailable"


class Verdict(StrEnum):
    RETRY = "retry"
    RESULT = "result"
    UNCERTAIN = "uncertain"
    ERROR = "error"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True, slots=True)
class Decision:
    """`delay_seconds`: of a retry. `may_have_committed`: of an error; the service may have done what it was asked."""

    verdict: Verdict
    delay_seconds: float = 0.0
    may_have_committed: bool = False


def decide(
    kind: Kind,
    *,
    idempotent: bool,
    event: Event,
    attempt: int,
    seconds_left: float,
    retry_after: float | None,
) -> Decision:
    """`attempt`: how many were begun, 0 before the first. `retry_after`: in seconds, None when there was no valid one."""
    if event is Event.SUCCEEDED:
        return Decision(Verdict.RESULT)
    may_repeat = kind is not Kind.WRITE or idempotent
    if not may_repeat and event in (Event.TRANSPORT_FAILED, Event.DEADLINE_REACHED):
        return Decision(Verdict.UNCERTAIN)
    doubt = kind is Kind.WRITE and _may_have_committed(event, attempt)
    if not may_repeat or event not in (Event.TRANSPORT_FAILED, Event.BUSY):
        return Decision(Verdict.ERROR, may_have_committed=doubt)
    delay = _choose_delay(attempt, seconds_left, retry_after)
    if attempt >= ATTEMPTS_MAX or delay >= seconds_left:
        return Decision(Verdict.EXHAUSTED, may_have_committed=doubt)
    return Decision(Verdict.RETRY, delay_seconds=delay)


def _may_have_committed(event: Event, attempt: int) -> bool:
    """A refusal of the service is its last word; what the policy blocked was not sent."""
    if event is Event.REFUSED:
        return False
    return attempt > (1 if event is Event.BLOCKED else 0)


def _choose_delay(attempt: int, seconds_left: float, retry_after: float | None) -> float:
    if retry_after is not None and retry_after < seconds_left:
        return retry_after
    return DELAY_SECONDS[min(attempt, len(DELAY_SECONDS)) - 1]
