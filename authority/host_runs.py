"""Running host calls: one at a time, in the order of their ordinals.

A call keeps its turn to its end. It is one transaction that claims the row, the steps of `advance` or `adopt` with the
store's own commit between them, and one transaction that moves the pin, keeps the receipt and ends the row. What a dead
worker left running is never run again: its outcome is unknown, and sending the same request again is safe.
"""

from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.transaction import atomic

from authority.adopt import Adoption, adopt
from authority.advance import advance
from authority.authorities import terms_of
from authority.canonical import load
from authority.failures import AdoptionConflictError, AuthorityIntegrityError
from authority.graph import Head
from authority.host_calls import ADOPT, ADVANCE
from authority.host_requests import read_adoption_request, read_advance_request
from authority.models import Authority, HostCall, Nomination, Receipt
from authority.receipts import Receipt as MadeReceipt
from authority.told import tell_ended
from authority.turns import HeldTurn, take_stale_turns, try_turn
from memoryhub import audit, ids, jobs, wakeups
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.credentials import hold_credential
from memoryhub.problems import error_body, translate

log = structlog.get_logger("authority.host_runs")

UNKNOWN = {
    "name": "OutcomeUnknown",
    "code": "outcome_unknown",
    "message": "The worker ended during the call, so its outcome is unknown; send the same request again.",
    "status": 503,
    "type": "api_error",
}


class TurnLost(AuthorityIntegrityError):
    """Somebody else has the turn, so nothing is written and nothing is published."""

    def __init__(self) -> None:
        super().__init__("The turn was taken away during the call.")


def drain(authority_id: UUID) -> int:
    """Run what waits, in order, while nobody else does; the number of calls that ended."""
    done = 0
    project_id = Authority.objects.filter(id=authority_id).values_list("project_id", flat=True).first()
    while project_id is not None:
        with try_turn(authority_id, project_id) as turn:
            if turn is None:
                return done
            _fail_orphans(turn)
            while not turn.lost.is_set() and run_next(turn):
                done += 1
        # One that arrived after the last look found the turn taken: it would wait for ever.
        if turn.lost.is_set() or not has_queued(authority_id):
            return done
    return done


def has_queued(authority_id: UUID) -> bool:
    return HostCall.objects.filter(authority_id=authority_id, state="queued").exists()


def sweep_turns() -> None:
    """End silent turns, and run what nobody runs."""
    take_stale_turns()
    unfinished = HostCall.objects.filter(state__in=("queued", "running")).values_list(
        "authority_id", flat=True
    )
    for authority_id in unfinished.distinct().order_by("authority_id"):
        jobs.enqueue("authority.drain", ids.to_wire(ids.AUTHORITY, authority_id))


@atomic
def _fail_orphans(turn: HeldTurn) -> None:
    """Whoever ran these has the turn no more."""
    orphans = HostCall.objects.filter(authority_id=turn.authority_id, state="running").select_for_update()
    for call in orphans.select_related("authority").order_by("ordinal"):
        _end(call, state="failed", error=UNKNOWN)


def run_next(turn: HeldTurn) -> bool:
    """Run the call that waits longest; whether there was one."""
    call = _claim(turn)
    if call is None:
        return False
    log.info("host_call_started", call=call.wire_id, method=call.method, ordinal=call.ordinal)
    pin = call.authority.pin
    try:
        receipt = _perform(call, pin)
        _publish(call, pin, receipt)
        reach("after_publish")
    except TurnLost:
        turn.lost.set()
    except Exception as error:  # noqa: BLE001 - whatever was raised, the turn goes on and the row says what it was
        _fail(call, error)
    return True


@atomic
def _claim(turn: HeldTurn) -> HostCall | None:
    waiting = HostCall.objects.filter(authority_id=turn.authority_id, state="queued").order_by("ordinal")
    call = waiting.select_for_update().first()
    if call is None:
        return None
    HostCall.objects.filter(id=call.id).update(
        state="running", attempt=turn.attempt, started_at=ClockTimestamp()
    )
    return HostCall.objects.select_related("authority__canonical", "authority__working").get(id=call.id)


def reach(point: str) -> None:
    """A named point of an adoption; crash tests stop a worker here."""


def _perform(call: HostCall, pin: Head) -> MadeReceipt:
    with atomic():  # what was revoked while the call waited asks for nothing any more
        hold_credential(_submitter(call))
    terms = terms_of(call.authority, fence=lambda: require_turn(call))
    value = load(call.request)
    if call.method == ADVANCE:
        return advance(terms, pin, read_advance_request(value))
    return adopt(Adoption(terms, pin, read_adoption_request(value), lambda point: reach(point)))


def require_turn(call: HostCall) -> None:
    """A step: the call is still the holder's, and stays so to the end of the transaction. Raises: TurnLost."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM authority_hostcall WHERE id = %s AND state = 'running' AND attempt = %s FOR SHARE",
            [call.id, call.attempt],
        )
        if cursor.fetchone() is None:
            raise TurnLost


_MOVE_PIN = """
UPDATE authority_authority
   SET pin_sequence = %s, pin_operation_sha256 = %s, pin_graph_revision_sha256 = %s, pin_records_sha256 = %s
 WHERE id = %s AND pin_sequence = %s AND pin_operation_sha256 IS NOT DISTINCT FROM %s
"""


@atomic(durable=True)
def _publish(call: HostCall, pin: Head, receipt: MadeReceipt) -> None:
    """Pin, receipt and the end of the call, together or not at all. Raises: TurnLost."""
    reach("before_publish")
    require_turn(call)
    if receipt.head != pin:
        _move_pin(call.authority_id, pin, receipt.head)
    Receipt.objects.bulk_create(
        [
            Receipt(
                project_id=call.project_id,
                authority_id=call.authority_id,
                host_call_id=call.id,
                method=call.method,
                receipt_sha256=receipt.sha256,
                body=receipt.text.decode(),
            )
        ],
        ignore_conflicts=True,
    )
    _end(call, state="succeeded", receipt=receipt)


def _move_pin(authority_id: UUID, pin: Head, head: Head) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _MOVE_PIN,
            [
                head.sequence,
                head.operation_sha256,
                head.graph_revision_sha256,
                head.records_sha256,
                authority_id,
                pin.sequence,
                pin.operation_sha256,
            ],
        )
        if cursor.rowcount != 1:
            raise TurnLost


def _fail(call: HostCall, error: Exception) -> None:
    """Write down what was raised, unless the turn was lost meanwhile."""
    known = translate(error)
    if known is None:
        log.error("bug", exc_info=error)
    with atomic():
        try:
            require_turn(call)
        except TurnLost:
            return
        _end(call, state="failed", error=error_wire(error))


def error_wire(error: Exception) -> dict[str, Any]:
    """`{"name", "code", "message", "status", "type", "conflict"?, "details"?}` of whatever was raised."""
    known = translate(error)
    if known is None:
        name, message = type(error).__name__, str(error)
        return {"name": name, "code": "bug", "message": message, "status": 500, "type": "api_error"}
    status, body = error_body(known)
    wire = {
        "name": type(error).__name__,
        "code": known.error_code or body["error"]["type"],
        "message": known.message,
        "status": status,
        "type": body["error"]["type"],
    }
    if isinstance(known, AdoptionConflictError):
        return {**wire, "conflict": known.conflict}
    return {**wire, "details": known.facts} if known.facts else wire


NOMINATION_STATES = {"adopted": "adopted", "already-present": "already_present"}


def _end(
    call: HostCall, *, state: str, receipt: MadeReceipt | None = None, error: dict[str, Any] | None = None
) -> None:
    """A step: the call's last state, its nomination's and the audit row."""
    call.receipt_sha256 = receipt.sha256 if receipt else None
    HostCall.objects.filter(id=call.id, state="running").update(
        state=state, finished_at=ClockTimestamp(), receipt_sha256=call.receipt_sha256, error=error
    )
    if call.method == ADOPT:
        _mark_nomination(call, receipt, error)
    transaction.on_commit(partial(wakeups.wake, call.wire_id))
    details: dict[str, Any] = {"method": call.method, "ordinal": call.ordinal, "state": state}
    if receipt is not None:
        details |= {"status": receipt.status, "sequence": receipt.head.sequence}
    if error is not None:
        details |= {"error": error["name"]}
    audit.record_accepted(
        AuditAction.HOST_CALL_FINISHED,
        call.wire_id,
        environment_id=call.authority.environment_id,
        parent_id=call.authority.wire_id,
        details=details,
        actor=_submitter(call),
    )
    tell_ended(call, status=receipt.status if receipt else None, error=error)


def _mark_nomination(call: HostCall, receipt: MadeReceipt | None, error: dict[str, Any] | None) -> None:
    """What was taken over is adopted, whatever was decided before; what failed waits again, if it was to be adopted."""
    named = Nomination.objects.filter(
        authority_id=call.authority_id, nomination_sha256=call.nomination_sha256
    )
    if receipt is not None:
        named.exclude(state="adopted").update(state=NOMINATION_STATES[receipt.status])
    else:
        state = "conflict" if error and "conflict" in error else "pending"
        named.filter(state="adopting").update(state=state)


def _submitter(call: HostCall) -> Actor:
    kind: Any = call.submitted_by_type
    return Actor(kind, call.submitted_by_id, call.project_id, call.authority.environment_id, frozenset())
