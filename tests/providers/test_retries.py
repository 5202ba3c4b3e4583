"""The whole decision table, as a table; and every form of Retry-After."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memoryhub.retry_after import parse_retry_after
from providers.retries import Decision, Event, Kind, Verdict, decide

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
KINDS = [(Kind.RECALL, True), (Kind.READ, False), (Kind.WRITE, True), (Kind.WRITE, False)]
R, E, D, U, OK = "retry", "error", "error in doubt", "uncertain", "result"
# Event in the first attempt: recall, read tool, write that may be repeated, write that may not.
TABLE = {
    Event.TRANSPORT_FAILED: (R, R, R, U),
    Event.DEADLINE_REACHED: (E, E, D, U),
    Event.BUSY: (R, R, R, D),
    Event.SUCCEEDED: (OK, OK, OK, OK),
    Event.INVALID_ANSWER: (E, E, D, D),
    Event.TOO_LARGE: (E, E, D, D),
    Event.REDIRECTED: (E, E, D, D),
    Event.UNAUTHENTICATED: (E, E, D, D),
    Event.REFUSED: (E, E, E, E),
    Event.BLOCKED: (E, E, E, E),
    Event.CANCELLED: (E, E, D, D),
    Event.SESSION_CLOSED: (E, E, D, D),
    Event.SECRET_UNAVAILABLE: (E, E, D, D),
}
CELLS = [
    (event, kind, idempotent, wanted)
    for event, row in TABLE.items()
    for (kind, idempotent), wanted in zip(KINDS, row, strict=True)
]


def choose(kind: Kind, *, idempotent: bool, event: Event, **more: Any) -> Decision:
    facts = {"attempt": 1, "seconds_left": 9.0, "retry_after": None} | more
    return decide(kind, idempotent=idempotent, event=event, **facts)


def word(decision: Decision) -> str:
    if decision.verdict is Verdict.ERROR:
        return D if decision.may_have_committed else E
    return str(decision.verdict)


def test_the_table_knows_every_event() -> None:
    assert TABLE.keys() == set(Event)


@pytest.mark.parametrize(("event", "kind", "idempotent", "wanted"), CELLS)
def test_a_cell_of_the_table(event: Event, kind: Kind, idempotent: bool, wanted: str) -> None:
    assert word(choose(kind, idempotent=idempotent, event=event)) == wanted


@pytest.mark.parametrize(("event", "kind", "idempotent", "wanted"), CELLS)
def test_before_the_first_attempt_nothing_is_in_doubt(
    event: Event, kind: Kind, idempotent: bool, wanted: str
) -> None:
    if event in (Event.CANCELLED, Event.SESSION_CLOSED, Event.SECRET_UNAVAILABLE):
        assert word(choose(kind, idempotent=idempotent, event=event, attempt=0)) == E


def test_what_is_blocked_after_an_attempt_leaves_the_doubt_of_the_first() -> None:
    decision = choose(Kind.WRITE, idempotent=True, event=Event.BLOCKED, attempt=2)
    assert decision.may_have_committed


@pytest.mark.parametrize("event", [Event.TRANSPORT_FAILED, Event.BUSY])
@pytest.mark.parametrize(("kind", "idempotent"), KINDS[:3])
def test_three_attempts_with_the_standard_delays(event: Event, kind: Kind, idempotent: bool) -> None:
    decisions = [choose(kind, idempotent=idempotent, event=event, attempt=number) for number in (1, 2, 3)]
    assert [(one.verdict, one.delay_seconds) for one in decisions] == [
        (Verdict.RETRY, 0.25),
        (Verdict.RETRY, 1.0),
        (Verdict.EXHAUSTED, 0.0),
    ]
    assert decisions[2].may_have_committed == (kind is Kind.WRITE)


@pytest.mark.parametrize(
    ("left", "retry_after", "attempt", "wanted"),
    [
        (9.0, 0.0, 1, 0.0),
        (9.0, 0.1, 2, 0.1),
        (9.0, 8.9, 1, 8.9),
        (9.0, 9.0, 1, 0.25),  # not before the deadline: the standard delay
        (9.0, 60.0, 2, 1.0),
        (0.25, None, 1, None),
        (1.0, None, 2, None),
        (0.2, 60.0, 1, None),
        (0.2, 0.1, 1, 0.1),
        (0.0, 0.0, 1, None),
    ],
)
def test_the_delay_fits_before_the_deadline(
    left: float, retry_after: float | None, attempt: int, wanted: float | None
) -> None:
    decision = choose(
        Kind.RECALL,
        idempotent=True,
        event=Event.BUSY,
        attempt=attempt,
        seconds_left=left,
        retry_after=retry_after,
    )
    if wanted is None:
        assert decision.verdict is Verdict.EXHAUSTED
    else:
        assert (decision.verdict, decision.delay_seconds) == (Verdict.RETRY, wanted)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("60", 60.0),
        ("Mon, 30 Nov 2026 12:00:02 GMT", 2.0),
        ("Monday, 30-Nov-26 12:00:02 GMT", 2.0),
        ("Mon Nov 30 12:00:02 2026", 2.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("1, 2", None),
        ("9" * 40, None),
        (None, None),
    ],
)
def test_a_form_of_retry_after(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text, now=NOW) == seconds
