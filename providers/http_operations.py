"""Running operations at endpoints: attempts, retries and how each ends. The row is the truth.

Source: contract of document and HTTP memory, section 11. An operation is a row of short transactions with the network between
them: a claim before each attempt, which checks that it may still be made, and a conclusion after it, which counts only while
the run still holds the row. What a dead run left is settled by the sweeper. Order of locks: session, operation.
Times in rows are the database's, which every process reads alike; the budget of a run is counted by its monotonic clock.
"""

import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import erasure, jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.egress import EgressError, Outgoing
from memoryhub.kept_queries import KeptSelect, insert_row, together, update_row
from memoryhub.models import Session
from providers import credentials, http_calls, settlements
from providers.flights import Flight, FlightCancelled, flying
from providers.http_calls import DONE, READY, SENDING, WAITING
from providers.limits import (
    BODY_BYTES_MAX,
    BUDGET_SECONDS,
    ORIGIN_CALLS_MAX,
    QUEUED_SECONDS_MAX,
    SESSION_CALLS_MAX,
)
from providers.models import HttpAttempt, HttpOperation
from providers.observations import Expected, Observed, observe, observe_error
from providers.pins import Pinned, find_pinned
from providers.retries import Event, Kind, Verdict, decide
from providers.wire_answers import host_error, unanswered

log = structlog.get_logger("memoryhub.http_operations")

_BEGUN = ["state", "claim", "attempt", "beat_at", "next_attempt_at", "started_at", "deadline_at", "body"]
LOST_SECONDS = 3.0  # a run that said nothing for so long is taken for dead
OVERDUE_SECONDS = 2.0  # contract: 11.3
RING_AGAIN_SECONDS = 0.5


def _locked_operation(*related: str, id: UUID) -> QuerySet[Any]:
    alone = HttpOperation.objects.select_for_update(no_key=True, of=("self",)).filter(id=id)
    return alone.select_related("model_request", "tool_call", *related).annotate(read_at=ClockTimestamp())


_alone = KeptSelect(_locked_operation)
_with_binding = KeptSelect(partial(_locked_operation, "binding__resource", "binding__namespace"))
_session_of = KeptSelect(
    lambda operation_id: Session.objects.select_for_update(no_key=True).filter(
        id__in=HttpOperation.objects.filter(id=operation_id).values("session_id")
    )
)
_in_the_air = KeptSelect(
    lambda origin, session_id: HttpOperation.objects.filter(
        Q(origin=origin) | Q(session_id=session_id), state__in=[SENDING, WAITING]
    ).only("origin", "session_id")
)
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
class _Held:
    """A row that is locked, and the database's time when it was."""

    operation: HttpOperation
    now: datetime


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
    attempt = _claim(operation_id, claim, None)
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


@atomic
def _claim(operation_id: UUID, claim: UUID, ends_at: float | None) -> _Attempt | None:
    """Ready or waiting becomes sending; None when there is nothing to send: another run has it, or it has just ended."""
    held = _lock(operation_id, _with_binding)
    if held is None or not _is_free(held.operation, claim):
        return None
    operation = held.operation
    if operation.state == READY and not _may_begin(held):
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


def _lock(operation_id: UUID, select: KeptSelect[Any]) -> _Held | None:
    """The operation with its session, both held, and the copies of the environment; None when it is gone.

    It waits for the row: to pass over one that a beat holds for a moment would lose what came of an attempt.
    """
    session = _session_of.row(operation_id=operation_id)
    if session is None:
        return None
    with together():
        erasure.hold_copies(session.environment_id)
        asked = select.ask(id=operation_id)
    return _held(session, asked.row())


def _lock_again(attempt: _Attempt) -> _Held | None:
    """As `_lock`, of what this run has sent: whose environment it is cannot have changed."""
    with together():
        session = _session_of.ask(operation_id=attempt.operation.id)
        erasure.hold_copies(attempt.operation.environment_id)
        asked = _alone.ask(id=attempt.operation.id)
    return _held(session.row(), asked.row())


def _held(session: Session | None, operation: Any) -> _Held | None:
    """`operation` as `_locked_operation` reads it."""
    if session is None or operation is None:
        return None
    operation.session = session
    return _Held(operation, operation.read_at)


def _is_free(operation: HttpOperation, claim: UUID) -> bool:
    return operation.state == READY or (operation.state == WAITING and operation.claim in (None, claim))


def _may_begin(held: _Held) -> bool:
    """Few calls at once for one origin and for one session; who waits too long is told so."""
    operation = held.operation
    if held.now - operation.created_at > timedelta(seconds=QUEUED_SECONDS_MAX):
        error = host_error("host_overloaded")
        settlements.settle(operation, settlements.failed(operation, error))
        return False
    with together():
        with connection.cursor() as cursor:  # those that begin at one origin count one after the other
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 11))", [operation.origin])
        asked = _in_the_air.ask(origin=operation.origin, session_id=operation.session_id)
    near = asked.rows()
    return (
        sum(one.origin == operation.origin for one in near) < ORIGIN_CALLS_MAX
        and sum(one.session_id == operation.session_id for one in near) < SESSION_CALLS_MAX
    )


def _check(held: _Held) -> Event | None:
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


def _begin(held: _Held, pinned: Pinned) -> bool:
    """The ten seconds begin here. The bytes are made once; False when there are too many."""
    operation = held.operation
    provider = http_calls.http_provider(pinned.manifest, operation.binding)
    operation.started_at = held.now
    operation.deadline_at = operation.started_at + timedelta(seconds=BUDGET_SECONDS)
    operation.body = http_calls.build_body(operation, provider, deadline_at=operation.deadline_at)
    if len(operation.body) > BODY_BYTES_MAX:
        operation.body = None
        settlements.settle(operation, settlements.failed(operation, host_error("request_too_large")))
        return False
    return True


def _start_attempt(held: _Held, pinned: Pinned, claim: UUID, ends_at: float | None) -> _Attempt | None:
    operation = held.operation
    assert operation.body is not None and operation.deadline_at is not None
    sent = credentials.find_headers(operation, pinned)
    if sent is None:
        settlements.settle(operation, _refusal(operation, Event.SECRET_UNAVAILABLE))
        return None
    provider = http_calls.http_provider(pinned.manifest, operation.binding)
    operation.state, operation.claim = SENDING, claim
    operation.attempt += 1
    operation.beat_at = ClockTimestamp()
    operation.next_attempt_at = None
    if operation.kind != Kind.WRITE:
        _commit_early()
    update_row(operation, *_BEGUN)
    left = (operation.deadline_at - held.now).total_seconds()
    return _Attempt(
        operation=operation,
        outgoing=Outgoing(operation.origin, provider.path, bytes(operation.body), sent.headers),
        expected=Expected(
            sent.secrets, recall_bytes_max=provider.bytes_max if operation.kind == Kind.RECALL else None
        ),
        ends_at=time.monotonic() + left if ends_at is None else ends_at,
        started_at=held.now,
    )


def _commit_early() -> None:
    """The claim of what only reads need not reach the disk before it is sent: a database that fails just then forgets that it was
    begun, and it is begun again. What comes of it is committed as everything is.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")


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
    held = _lock_again(attempt)
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
    for operation_id in forgotten.order_by("id").values_list("id", flat=True):
        _sweep_ready(operation_id)
    held = unfinished.exclude(state=READY)
    lost = held.filter(beat_at__lt=now - timedelta(seconds=LOST_SECONDS))
    overdue = held.filter(deadline_at__lt=now - timedelta(seconds=OVERDUE_SECONDS))
    for operation_id in (lost | overdue).order_by("id").values_list("id", flat=True):
        _take_over(operation_id)


@atomic
def _sweep_ready(operation_id: UUID) -> None:
    held = _lock(operation_id, _with_binding)
    if held is None or held.operation.state != READY:
        return
    found = _check(held)
    if found is not None:
        settlements.settle(held.operation, _refusal(held.operation, found))
    elif _may_begin(held):
        jobs.enqueue_or_run(http_calls.RUN, held.operation.wire_id)


@atomic
def _take_over(operation_id: UUID) -> None:
    """Of a write that may not be repeated nobody knows whether it was sent; what may be repeated goes on while there is time."""
    held = _lock(operation_id, _with_binding)
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
