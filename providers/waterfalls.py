"""A call of a service drawn in time: where each attempt began, how long it took, how long was waited after it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from providers.models import HttpAttempt, HttpOperation
from providers.retries import Event

# What came of an attempt, in words.
EVENT_WORDS = {
    Event.SUCCEEDED: "Answered",
    Event.TRANSPORT_FAILED: "No connection, or it broke off",
    Event.DEADLINE_REACHED: "The time was over",
    Event.BUSY: "The service was busy",
    Event.INVALID_ANSWER: "Not an answer of the contract",
    Event.TOO_LARGE: "Too large an answer",
    Event.REDIRECTED: "A redirect, not followed",
    Event.UNAUTHENTICATED: "The credential was refused",
    Event.REFUSED: "Refused by the service",
    Event.BLOCKED: "Not an address to call, nothing sent",
    Event.CANCELLED: "Cancelled",
    Event.SESSION_CLOSED: "The session had ended",
    Event.SECRET_UNAVAILABLE: "No secret to send",
}
LEAST_WIDTH = 0.6  # per cent: what took no time can be seen
LABEL_FROM_RIGHT = 55.0  # per cent: a bar that begins behind it has its label to the left
# Pixels: an attempt's height in the drawing, its label's base line and its bar below.
ROW, LABEL, BAR = 44, 14, 20
_MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt. `x`, `width`, `wait_x`, `wait_width`: in per cent of the whole; the others in milliseconds.

    `wait_ms`: until the next attempt, None when there is none. `style`: good or bad.
    """

    attempt: HttpAttempt
    words: str
    style: str
    start_ms: int
    took_ms: int
    wait_ms: int | None
    x: float
    width: float
    wait_x: float
    wait_width: float

    @property
    def is_label_left(self) -> bool:
        return self.x > LABEL_FROM_RIGHT

    @property
    def label_y(self) -> int:
        return self._top + LABEL

    @property
    def y(self) -> int:
        return self._top + BAR

    @property
    def _top(self) -> int:
        return (self.attempt.number - 1) * ROW


@dataclass(frozen=True, slots=True)
class Waterfall:
    """`scale_ms`: what the whole width stands for. `is_sending`: an attempt is under way that no bar shows yet."""

    bars: list[Bar]
    scale_ms: int
    is_sending: bool

    @property
    def whole_ms(self) -> int:
        return _end_of(self.bars)

    @property
    def height(self) -> int:
        return max((bar.attempt.number for bar in self.bars), default=0) * ROW


def _end_of(bars: Sequence[Bar]) -> int:
    return max((bar.start_ms + bar.took_ms for bar in bars), default=0)


def draw_waterfall(operation: HttpOperation, *, scale_ms: int | None = None) -> Waterfall:
    """`scale_ms` None: as wide as the call was long. Its attempts are fetched."""
    attempts = sorted(operation.attempts.all(), key=lambda one: one.number)
    began = operation.started_at or operation.created_at
    scale = max(scale_ms or _span_of(began, attempts), 1)
    bars = [_draw(attempt, began, scale) for attempt in attempts]
    is_sending = operation.shown_state == "sending" and operation.attempt > len(attempts)
    return Waterfall(bars, scale, is_sending)


def draw_together(operations: Sequence[HttpOperation]) -> list[tuple[HttpOperation, Waterfall]]:
    """On one scale, so that they can be compared."""
    longest = max((draw_waterfall(one).whole_ms for one in operations), default=0)
    return [(one, draw_waterfall(one, scale_ms=longest)) for one in operations]


def _span_of(began: datetime, attempts: Sequence[HttpAttempt]) -> int:
    """To the end of the last attempt, or of the pause after it, which may still last."""
    ends = [
        _since(began, one.finished_at) + round((one.delay_seconds or 0.0) * _MILLISECONDS) for one in attempts
    ]
    return max(ends, default=0)


def _since(began: datetime, moment: datetime) -> int:
    return max(0, round((moment - began).total_seconds() * _MILLISECONDS))


def _draw(attempt: HttpAttempt, began: datetime, scale_ms: int) -> Bar:
    start, end = _since(began, attempt.started_at), _since(began, attempt.finished_at)
    wait = None if attempt.delay_seconds is None else round(attempt.delay_seconds * _MILLISECONDS)
    x, width = _place(start, end - start, scale_ms)
    wait_x, wait_width = _place(end, wait or 0, scale_ms)
    return Bar(
        attempt,
        EVENT_WORDS[Event(attempt.event)],
        "good" if attempt.event == Event.SUCCEEDED else "bad",
        start,
        max(0, end - start),
        wait,
        x,
        max(width, LEAST_WIDTH),
        wait_x,
        wait_width,
    )


def _place(start: int, length: int, scale_ms: int) -> tuple[float, float]:
    """Never beyond the right edge, and with room there for what took no time."""
    x = min(100 * start / scale_ms, 100 - LEAST_WIDTH)
    return round(x, 2), round(max(0.0, min(100 * length / scale_ms, 100 - x)), 2)
