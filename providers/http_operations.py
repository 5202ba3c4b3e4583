"""Running operations at endpoints: attempts, retries and how each ends. The row is the truth.

Source: contract of document and HTTP memory, section 11. An operation is a row of short transactions with the network between
them: a claim before each attempt, which checks that it may still be made, and a conclusion after it, which counts only while
the run still holds the row. What a dead run left is settled by the sweeper. Order of locks: session, operation.
"""

import time
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import Q
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Session
from memoryhub.rows import find_row
from providers import credentials, http_calls, settlements
from providers.egress import (
    AnswerTooLarge,
    DeadlineReached,
    EgressBlocked,
    EgressError,
    Outgoing,
    Reply,
    TransportFailed,
)
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
from providers.retries import Event, Kind, Verdict, decide, parse_retry_after
from providers.wire_answers import WireAnswer, host_error, read_answer, redact, too_large, unanswered

log = structlog.get_logger("memoryhub.http_operations")

_BEGUN = (
    "state",
    "claim",
    "attempt",
    "beat_at",
    "next_attempt_at",
    "started_at",
    "deadline_at",
    "body",
)
LOST_SECONDS = 3.0  # a run that said nothing for so long is taken for dead
OVERDUE_SECONDS = 2.0  # contract: 11.3
RING_AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt that may be made now. `ends_at`: by the monotonic clock. `secrets`: what must be shown nowhere."""

    operation: HttpOperation
    outgoing: Outgoing
    secrets: frozenset[str]
    recall_bytes_max: int | None
    ends_at: float
    started_at: datetime

    @property
    def seconds_left(self) -> float:
        return self.ends_at - time.monotonic()


@dataclass(frozen=True, slots=True)
class _Observed:
    """What an attempt brought; `retry_after` in seconds."""

    answer: WireAnswer
    address: str | None = None
    answer_bytes: int | None = None
    retry_after: float | None = None


def run_operation(operation_id: UUID) -> None:
    """Every attempt and pause of one operation. Again, or beside another run: nothing is sent twice."""
    claim = uuid.uuid4()
    attempt = _claim(operation_id, claim, None)
    if attempt is None:
        return
    with flying(operation_id, claim) as flight:
        while attempt is not None:
            delay = _conclude(attempt, _send(attempt, flight))
            if delay is None:
                break
            flight.pause(delay)
            attempt = _claim(operation_id, claim, attempt.ends_at)
    ring_waiting(operation_id)


@atomic
def _claim(operation_id: UUID, claim: UUID, ends_at: float | None) -> _Attempt | None:
    """Ready or waiting becomes sending; None when there is nothing to send: another run has it, or it has just ended."""
    operation = _lock(operation_id)
    if operation is None or not _is_free(operation, claim):
        return None
    if operation.state == READY and not _may_begin(operation):
        return None
    found = _check(operation)
    if found is not None:
        settlements.settle(operation, _refusal(operation, found))
        return None
    pinned = credentials.find_pinned(operation)
    if operation.state == READY and not _begin(operation, pinned):
        return None
    return _start_attempt(operation, pinned, claim, ends_at)


def _lock(operation_id: UUID, session_id: UUID | None = None) -> HttpOperation | None:
    """The operation with its session, both held; None when it is gone. Waits: a beat holds the row for a moment."""
    if session_id is None:
        session_id = find_row(
            HttpOperation.objects.filter(id=operation_id).values_list("session_id", flat=True)
        )
    if session_id is None:
        return None
    session = find_row(Session.objects.select_for_update(no_key=True).filter(id=session_id))
    held = HttpOperation.objects.select_for_update(of=("self",)).filter(id=operation_id)
    operation = find_row(
        held.select_related("model_request", "tool_call", "binding__resource", "binding__namespace")
    )
    if operation is None or session is None:
        return None
    operation.session = session
    return operation


def _is_free(operation: HttpOperation, claim: UUID) -> bool:
    return operation.state == READY or (operation.state == WAITING and operation.claim in (None, claim))


def _may_begin(operation: HttpOperation) -> bool:
    """Few calls at once for one origin and for one session; who waits too long is told so."""
    if timezone.now() - operation.created_at > timedelta(seconds=QUEUED_SECONDS_MAX):
        error = host_error("host_overloaded")
        settlements.settle(operation, settlements.failed(operation, error))
        return False
    with connection.cursor() as cursor:  # those that begin at one origin count one after the other
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 11))", [operation.origin])
    in_the_air = HttpOperation.objects.filter(state__in=[SENDING, WAITING])
    near = Q(origin=operation.origin) | Q(session_id=operation.session_id)
    places = list(in_the_air.filter(near).values_list("origin", "session_id"))
    return (
        sum(origin == operation.origin for origin, _ in places) < ORIGIN_CALLS_MAX
        and sum(session_id == operation.session_id for _, session_id in places) < SESSION_CALLS_MAX
    )


def _check(operation: HttpOperation) -> Event | None:
    """Why no attempt may be made now. The binding was read after its session was locked, so it is as it is now."""
    binding = operation.binding
    if operation.cancelled_at is not None:
        return Event.CANCELLED
    if operation.session.ended_at is not None or binding.revoked_at is not None:
        return Event.SESSION_CLOSED
    if operation.deadline_at is not None and operation.deadline_at <= timezone.now():
        return Event.DEADLINE_REACHED
    return None


def _refusal(operation: HttpOperation, event: Event) -> settlements.Settlement:
    """Before the first attempt a tool's call is rejected; after one it is an error, which tells of the doubt."""
    if event is Event.SESSION_CLOSED and operation.attempt == 0 and operation.kind != Kind.RECALL:
        return settlements.rejected("session_closed")
    return _decide(operation, _Observed(unanswered(event)), seconds_left=0.0)[1]


def _begin(operation: HttpOperation, pinned: credentials.Pinned) -> bool:
    """The ten seconds begin here. The bytes are made once; False when there are too many."""
    provider = http_calls.http_provider(pinned.manifest, operation.binding)
    operation.started_at = timezone.now()
    operation.deadline_at = operation.started_at + timedelta(seconds=BUDGET_SECONDS)
    operation.body = http_calls.build_body(operation, provider, deadline_at=operation.deadline_at)
    if len(operation.body) > BODY_BYTES_MAX:
        operation.body = None
        settlements.settle(operation, settlements.failed(operation, host_error("request_too_large")))
        return False
    return True


def _start_attempt(
    operation: HttpOperation, pinned: credentials.Pinned, claim: UUID, ends_at: float | None
) -> _Attempt | None:
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
    operation.save(update_fields=_BEGUN)
    left = (operation.deadline_at - timezone.now()).total_seconds()
    return _Attempt(
        operation=operation,
        outgoing=Outgoing(operation.origin, provider.path, bytes(operation.body), sent.headers),
        secrets=sent.secrets,
        recall_bytes_max=provider.bytes_max if operation.kind == Kind.RECALL else None,
        ends_at=time.monotonic() + left if ends_at is None else ends_at,
        started_at=timezone.now(),
    )


def _send(attempt: _Attempt, flight: Flight) -> _Observed:
    """The network, outside any transaction."""
    if not connection.in_atomic_block:
        connection.close()
    try:
        reply = flight.send(attempt.outgoing, seconds=max(attempt.seconds_left, 0.0))
    except FlightCancelled:
        return _Observed(unanswered(Event.CANCELLED))
    except EgressError as error:
        return _observe_error(attempt, error)
    return _observe(attempt, reply)


def _observe_error(attempt: _Attempt, error: EgressError) -> _Observed:
    if isinstance(error, AnswerTooLarge):
        if error.reply.status == 200:
            return _Observed(too_large("response_too_large", 200), error.address)
        return _observe(attempt, error.reply)
    events: dict[type[EgressError], Event] = {
        EgressBlocked: Event.BLOCKED,
        TransportFailed: Event.TRANSPORT_FAILED,
        DeadlineReached: Event.DEADLINE_REACHED,
    }
    return _Observed(unanswered(events[type(error)]), error.address)


def _observe(attempt: _Attempt, reply: Reply) -> _Observed:
    answer = read_answer(
        reply.status,
        reply.body,
        content_encoding=reply.headers.get("content-encoding"),
        recall_bytes_max=attempt.recall_bytes_max,
    )
    answer = replace(
        answer,
        value=redact(answer.value, attempt.secrets),
        error=redact(answer.error, attempt.secrets),
        provider=redact(answer.provider, attempt.secrets),
    )
    retry_after = parse_retry_after(reply.headers.get("retry-after"), now=timezone.now())
    return _Observed(answer, reply.address, len(reply.body), retry_after)


@atomic
def _conclude(attempt: _Attempt, observed: _Observed) -> float | None:
    """The seconds until the next attempt, None at the end. A run that has lost its row writes nothing."""
    operation = _lock(attempt.operation.id, attempt.operation.session_id)
    mine = (SENDING, attempt.operation.claim, attempt.operation.attempt)
    if operation is None or (operation.state, operation.claim, operation.attempt) != mine:
        return None
    delay, settlement = _decide(operation, observed, seconds_left=attempt.seconds_left)
    _note_attempt(operation, observed, attempt.started_at, delay)
    if delay is None:
        settlements.settle(operation, settlement)
        return None
    operation.state = WAITING
    operation.next_attempt_at = timezone.now() + timedelta(seconds=delay)
    operation.save(update_fields=["state", "next_attempt_at"])
    return delay


def _decide(
    operation: HttpOperation, observed: _Observed, *, seconds_left: float
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
    operation: HttpOperation, observed: _Observed, started_at: datetime, delay: float | None
) -> None:
    HttpAttempt.objects.create(
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
    log.info(
        "http_attempt",
        operation=operation.wire_id,
        attempt=operation.attempt,
        outcome=str(observed.answer.event),
        status=observed.answer.status,
    )


def ring_waiting(operation_id: UUID) -> None:
    """A place is free: ring for what may have waited for it."""
    ended = HttpOperation.objects.filter(id=operation_id).values_list("session_id", "origin").first()
    if ended is None:
        return
    session_id, origin = ended
    ready = HttpOperation.objects.filter(state=READY)
    waiting = set(ready.filter(session_id=session_id).values_list("id", flat=True)[:SESSION_CALLS_MAX])
    waiting |= set(
        ready.filter(origin=origin).order_by("id").values_list("id", flat=True)[:SESSION_CALLS_MAX]
    )
    for one in waiting:
        jobs.enqueue(http_calls.RUN, _wire_id(one))


def _wire_id(operation_id: UUID) -> str:
    return HttpOperation(id=operation_id).wire_id


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
    operation = _lock(operation_id)
    if operation is None or operation.state != READY:
        return
    found = _check(operation)
    if found is not None:
        settlements.settle(operation, _refusal(operation, found))
    elif _may_begin(operation):
        jobs.enqueue(http_calls.RUN, operation.wire_id)


@atomic
def _take_over(operation_id: UUID) -> None:
    """Of a write that may not be repeated nobody knows whether it was sent; what may be repeated goes on while there is time."""
    operation = _lock(operation_id)
    if operation is None or operation.state not in (SENDING, WAITING):
        return
    assert operation.deadline_at is not None
    left = (operation.deadline_at - timezone.now()).total_seconds()
    event = Event.TRANSPORT_FAILED if left > 0 else Event.DEADLINE_REACHED
    observed = _Observed(unanswered(event))
    delay, settlement = _decide(operation, observed, seconds_left=left)
    log.warning("http_operation_taken_over", operation=operation.wire_id, state=operation.state)
    if operation.state == SENDING:
        _note_attempt(operation, observed, operation.started_at or timezone.now(), delay)
    if delay is None:
        settlements.settle(operation, settlement)
        return
    operation.state, operation.claim = WAITING, None
    operation.beat_at = ClockTimestamp()
    operation.save(update_fields=["state", "claim", "beat_at"])
    jobs.enqueue(http_calls.RUN, operation.wire_id)


def clear_expired(*, bodies_hours: int, operations_days: int) -> None:
    """Bodies hold what people wrote, so they go first; then the operations with their attempts."""
    ended: dict[str, Any] = {"state": DONE}
    now = ClockTimestamp()
    old_bodies = HttpOperation.objects.filter(finished_at__lt=now - timedelta(hours=bodies_hours), **ended)
    old_bodies.exclude(body=None).update(body=None)
    HttpOperation.objects.filter(finished_at__lt=now - timedelta(days=operations_days), **ended).delete()
