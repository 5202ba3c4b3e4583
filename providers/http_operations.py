"""Running operations at endpoints: attempts, retries and how each ends. The row is the truth.

Source: contract of document and HTTP memory, section 11. An operation is a row of short transactions with the network between
them: a claim before each attempt, which checks that it may still be made, and a conclusion after it, which counts only while
the run still holds the row. A recall's first claim is made by who asks for it, and taken here. What a dead run left is settled
by the sweeper.
Times in rows are the database's, which every process reads alike; the budget of a run is counted by its monotonic clock.
"""

import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import F
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.egress import EgressError, Outgoing
from memoryhub.kept_queries import KeptSelect, insert_row, together, update_row
from providers import credentials, handovers, http_calls, settlements
from providers.flights import Flight, FlightCancelled, flying
from providers.held_operations import Held, lock_again, lock_operation
from providers.limits import (
    QUEUED_SECONDS_MAX,
    SESSION_CALLS_MAX,
)
from providers.models import HttpAttempt, HttpOperation
from providers.observations import Expected, Observed, observe, observe_error
from providers.pins import Pinned, find_pinned
from providers.places import DONE, READY, SENDING, WAITING, ask_place
from providers.retries import Event, Kind, Verdict, decide
from providers.wire_answers import host_error, unanswered

log = structlog.get_logger("memoryhub.http_operations")

_BEGUN = ["state", "claim", "attempt", "beat_at", "next_attempt_at", "started_at", "deadline_at", "body"]
LOST_SECONDS = 3.0  # a run that said nothing for so long is taken for dead
OVERDUE_SECONDS = 2.0  # contract: 11.3
RING_AGAIN_SECONDS = 0.5


_waiting_for_a_place = KeptSelect(
    lambda session_id, origin: (
        _ready()
        .filter(session_id=session_id)[:SESSION_CALLS_MAX]
        .union(_ready().filter(origin=origin).order_by("id")[:SESSION_CALLS_MAX])
    )
)


def _ready() -> QuerySet[HttpOperation]:
    return HttpOperation.objects.filter(state=READY).only("id")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt that may be made now. `ends_at`: by the monotonic clock."""

    operation: HttpOperation
    outgoing: Outgoing
    expected: Expected
    ends_at: float
    started_at: datetime

    @property
    def seconds_left(self) -> float:
        return self.ends_at - time.monotonic()


def run_operation(operation_id: UUID) -> None:
    """Every attempt and pause of one operation. Again, or beside another run: nothing is sent twice."""
    claim = uuid.uuid4()
    _run(operation_id, claim, _claim(operation_id, claim, None))


def run_handed_over(operation_id: UUID) -> None:
    """As `run_operation`, of what was handed over; when somebody has it already, or it has changed, it is claimed."""
    claim = uuid.uuid4()
    _run(operation_id, claim, _take(operation_id, claim) or _claim(operation_id, claim, None))


def _run(operation_id: UUID, claim: UUID, attempt: _Attempt | None) -> None:
    if attempt is None:
        return
    session_id, origin = attempt.operation.session_id, attempt.operation.origin
    with flying(operation_id, claim) as flight:
        while attempt is not None:
            delay = _conclude(attempt, _send(attempt, flight))
            if delay is None:
                break
            flight.pause(delay)
            attempt = _claim(operation_id, claim, attempt.ends_at)
    _ring_waiting(session_id, origin)


def _take(operation_id: UUID, claim: UUID) -> _Attempt | None:
    """What was handed over to whoever comes first; None when it is to be claimed."""
    operation = handovers.take(operation_id, claim)
    if operation is None:
        return None
    pinned = find_pinned(operation.session_id)
    assert pinned is not None and operation.beat_at is not None
    sent = credentials.find_headers(operation, pinned)
    if sent is None:
        handovers.let_go(operation)
        return None
    return _attempt(operation, pinned, sent, ends_at=None, now=operation.beat_at)


@atomic
def _claim(operation_id: UUID, claim: UUID, ends_at: float | None) -> _Attempt | None:
    """Ready or waiting becomes sending; None when there is nothing to send: another run has it, or it has just ended."""
    held = lock_operation(operation_id)
    if held is None:
        return None
    operation = held.operation
    has_place = handovers.take_back(operation)
    if not _is_free(operation, claim):
        return None
    if operation.state == READY and not _may_begin(held, has_place=has_place):
        return None
    found = _check(held)
    if found is not None:
        settlements.settle(operation, _refusal(operation, found))
        return None
    pinned = find_pinned(operation.session_id)
    assert pinned is not None
    if operation.state == READY and not _begin(held, pinned):
        return None
    return _start_attempt(held, pinned, claim, ends_at)


def _is_free(operation: HttpOperation, claim: UUID) -> bool:
    return operation.state == READY or (operation.state == WAITING and operation.claim in (None, claim))


def _may_begin(held: Held, *, has_place: bool) -> bool:
    """Few calls at once for one origin and for one session; who waits too long is told so."""
    operation = held.operation
    if held.now - operation.created_at > timedelta(seconds=QUEUED_SECONDS_MAX):
        error = host_error("host_overloaded")
        settlements.settle(operation, settlements.failed(operation, error))
        return False
    if has_place:
        return True
    with together():
        place = ask_place(operation.origin, operation.session_id)
    return place().is_free


def _check(held: Held) -> Event | None:
    """Why no attempt may be made now. The binding was read after its session was locked, so it is as it is now."""
    operation = held.operation
    binding = operation.binding
    if operation.cancelled_at is not None:
        return Event.CANCELLED
    if operation.session.ended_at is not None or binding.revoked_at is not None:
        return Event.SESSION_CLOSED
    if operation.deadline_at is not None and operation.deadline_at <= held.now:
        return Event.DEADLINE_REACHED
    return None


def _refusal(operation: HttpOperation, event: Event) -> settlements.Settlement:
    """Before the first attempt a tool's call is rejected; after one it is an error, which tells of the doubt."""
    if event is Event.SESSION_CLOSED and operation.attempt == 0 and operation.kind != Kind.RECALL:
        return settlements.rejected("session_closed")
    return _decide(operation, Observed(unanswered(event)), seconds_left=0.0)[1]


def _begin(held: Held, pinned: Pinned) -> bool:
    """The ten seconds begin here. The bytes are made once; False when there are too many."""
    operation = held.operation
    if http_calls.begin(operation, pinned.manifest, now=held.now):
        return True
    settlements.settle(operation, settlements.failed(operation, host_error("request_too_large")))
    return False


def _start_attempt(held: Held, pinned: Pinned, claim: UUID, ends_at: float | None) -> _Attempt | None:
    operation = held.operation
    sent = credentials.find_headers(operation, pinned)
    if sent is None:
        settlements.settle(operation, _refusal(operation, Event.SECRET_UNAVAILABLE))
        return None
    operation.state, operation.claim = SENDING, claim
    operation.attempt += 1
    operation.beat_at = ClockTimestamp()
    operation.next_attempt_at = None
    if operation.kind != Kind.WRITE:
        handovers.commit_early()
    update_row(operation, *_BEGUN)
    return _attempt(operation, pinned, sent, ends_at=ends_at, now=held.now)


def _attempt(
    operation: HttpOperation,
    pinned: Pinned,
    sent: credentials.SentHeaders,
    *,
    ends_at: float | None,
    now: datetime,
) -> _Attempt:
    """`ends_at`: of the run, None when it has just begun."""
    assert operation.body is not None and operation.deadline_at is not None
    provider = http_calls.http_provider(pinned.manifest, operation.resource_id)
    left = (operation.deadline_at - now).total_seconds()
    return _Attempt(
        operation=operation,
        outgoing=Outgoing(operation.origin, provider.path, bytes(operation.body), sent.headers),
        expected=Expected(
            sent.secrets, recall_bytes_max=provider.bytes_max if operation.kind == Kind.RECALL else None
        ),
        ends_at=time.monotonic() + left if ends_at is None else ends_at,
        started_at=now,
    )


def _send(attempt: _Attempt, flight: Flight) -> Observed:
    """The network, outside any transaction."""
    if not connection.in_atomic_block:
        connection.close()
    try:
        reply = flight.send(attempt.outgoing, seconds=max(attempt.seconds_left, 0.0))
    except FlightCancelled:
        return Observed(unanswered(Event.CANCELLED))
    except EgressError as error:
        return observe_error(error, attempt.expected)
    return observe(reply, attempt.expected)


@atomic
def _conclude(attempt: _Attempt, observed: Observed) -> float | None:
    """The seconds until the next attempt, None at the end. A run that has lost its row writes nothing."""
    held = lock_again(attempt.operation)
    mine = (SENDING, attempt.operation.claim, attempt.operation.attempt)
    if held is None or (held.operation.state, held.operation.claim, held.operation.attempt) != mine:
        return None
    operation = held.operation
    delay, settlement = _decide(operation, observed, seconds_left=attempt.seconds_left)
    _note_attempt(operation, observed, attempt.started_at, delay)
    if delay is None:
        settlements.settle(operation, settlement)
        return None
    operation.state = WAITING
    operation.next_attempt_at = held.now + timedelta(seconds=delay)
    update_row(operation, "state", "next_attempt_at")
    return delay


def _decide(
    operation: HttpOperation, observed: Observed, *, seconds_left: float
) -> tuple[float | None, settlements.Settlement]:
    answer = observed.answer
    decision = decide(
        Kind(operation.kind),
        idempotent=operation.is_idempotent,
        event=answer.event,
        attempt=operation.attempt,
        seconds_left=seconds_left,
        retry_after=observed.retry_after if answer.event is Event.BUSY else None,
    )
    settlement = settlements.from_decision(operation, decision, answer)
    return (decision.delay_seconds if decision.verdict is Verdict.RETRY else None), settlement


def _note_attempt(
    operation: HttpOperation, observed: Observed, started_at: datetime, delay: float | None
) -> None:
    attempt = HttpAttempt(
        project_id=operation.project_id,
        operation=operation,
        number=operation.attempt,
        started_at=started_at,
        event=observed.answer.event,
        status=observed.answer.status,
        answer_bytes=observed.answer_bytes,
        address=observed.address,
        delay_seconds=delay,
    )
    insert_row(attempt)
    log.info(
        "http_attempt",
        operation=operation.wire_id,
        attempt=operation.attempt,
        outcome=str(observed.answer.event),
        status=observed.answer.status,
    )


def _ring_waiting(session_id: UUID, origin: str) -> None:
    """A place is free: ring for what may have waited for it."""
    for one in _waiting_for_a_place.rows(session_id=session_id, origin=origin):
        jobs.enqueue_or_run(http_calls.RUN, one.wire_id)


# --- what dead runs and a lost queue leave ---


def sweep() -> None:
    """Ring again for what nobody took, take over what a dead run left, end what is overdue."""
    unfinished = HttpOperation.objects.exclude(state=DONE)
    now = ClockTimestamp()
    forgotten = unfinished.filter(state=READY, created_at__lt=now - timedelta(seconds=RING_AGAIN_SECONDS))
    untaken = handovers.find_untaken(unfinished, seconds=RING_AGAIN_SECONDS)
    for operation_id in (forgotten | untaken).order_by("id").values_list("id", flat=True):
        _sweep_ready(operation_id)
    held = unfinished.filter(state=WAITING) | unfinished.filter(state=SENDING).exclude(claim=F("id"))
    lost = held.filter(beat_at__lt=now - timedelta(seconds=LOST_SECONDS))
    overdue = held.filter(deadline_at__lt=now - timedelta(seconds=OVERDUE_SECONDS))
    for operation_id in (lost | overdue).order_by("id").values_list("id", flat=True):
        _take_over(operation_id)


@atomic
def _sweep_ready(operation_id: UUID) -> None:
    held = lock_operation(operation_id)
    if held is None:
        return
    has_place = handovers.take_back(held.operation)
    if held.operation.state != READY:
        return
    found = _check(held)
    if found is not None:
        settlements.settle(held.operation, _refusal(held.operation, found))
    elif _may_begin(held, has_place=has_place):
        jobs.enqueue_or_run(http_calls.RUN, held.operation.wire_id)


@atomic
def _take_over(operation_id: UUID) -> None:
    """Of a write that may not be repeated nobody knows whether it was sent; what may be repeated goes on while there is time."""
    held = lock_operation(operation_id)
    if held is None or held.operation.state not in (SENDING, WAITING):
        return
    operation = held.operation
    assert operation.deadline_at is not None
    left = (operation.deadline_at - held.now).total_seconds()
    event = Event.TRANSPORT_FAILED if left > 0 else Event.DEADLINE_REACHED
    observed = Observed(unanswered(event))
    delay, settlement = _decide(operation, observed, seconds_left=left)
    log.warning("http_operation_taken_over", operation=operation.wire_id, state=operation.state)
    if operation.state == SENDING:
        _note_attempt(operation, observed, operation.started_at or held.now, delay)
    if delay is None:
        settlements.settle(operation, settlement)
        return
    operation.state, operation.claim = WAITING, None
    operation.beat_at = ClockTimestamp()
    operation.save(update_fields=["state", "claim", "beat_at"])
    jobs.enqueue_or_run(http_calls.RUN, operation.wire_id)
