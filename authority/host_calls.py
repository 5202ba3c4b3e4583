"""Host calls as rows: checked and copied when they arrive, in the order of their ordinals; `host_runs` runs them."""

from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.transaction import atomic

from authority.authorities import get_authority
from authority.canonical import digest_of, is_digest, parse, text_of
from authority.host_requests import read_adoption_request, read_advance_request
from authority.models import WAITING_STATES, Authority, HostCall, Nomination, Receipt
from memoryhub import audit, ids, jobs, wakeups
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row

ADVANCE, ADOPT = "advanceCanonical", "adoptNomination"
CALLS_QUEUED_MAX = 1_000
NOMINATION_CALLS_SHOWN_MAX = 20


def submit_advance(authority_id: str, value: Any, *, actor: Actor) -> HostCall:
    """Raises: NotFound, ValidationTypeError, CapacityError, Conflict when too many wait."""
    get_authority(authority_id, actor=actor)
    read_advance_request(value)
    return submit_call(authority_id, ADVANCE, value, nomination_sha256=None, actor=actor)


def submit_adoption(authority_id: str, value: Any, *, actor: Actor) -> HostCall:
    """`nominationSha256` in place of the nomination names one that arrived here. Raises: as submit_advance."""
    authority = get_authority(authority_id, actor=actor)
    if type(value) is dict and "nominationSha256" in value and "nomination" not in value:
        named = {key: inner for key, inner in value.items() if key != "nominationSha256"}
        value = {**named, "nomination": _find_nomination(authority, value["nominationSha256"])}
    request = read_adoption_request(value)
    return submit_call(authority_id, ADOPT, value, nomination_sha256=request.nomination.sha256, actor=actor)


def _find_nomination(authority: Authority, sha256: Any) -> Any:
    row = (
        Nomination.objects.filter(authority=authority, nomination_sha256=sha256).first()
        if isinstance(sha256, str)
        else None
    )
    if row is None:
        raise InvalidRequest(
            "nominationSha256: No such nomination has arrived.", error_code="nomination_unknown"
        )
    return parse(row.body)


@atomic(durable=True)
def submit_call(
    authority_id: str, method: str, value: Any, *, nomination_sha256: str | None, actor: Actor
) -> HostCall:
    """Keep a checked request and give it its place in the line."""
    authority = get_authority(authority_id, actor=actor)
    return keep_call(authority, method, value, nomination_sha256=nomination_sha256, actor=actor)


def keep_call(
    authority: Authority, method: str, value: Any, *, nomination_sha256: str | None, actor: Actor
) -> HostCall:
    """A step: the same. Raises: Conflict when too many wait."""
    ordinal = _next_ordinal(authority.id)
    if HostCall.objects.filter(authority=authority, state="queued").count() >= CALLS_QUEUED_MAX:
        raise Conflict(f"{CALLS_QUEUED_MAX} host calls wait already.", error_code="queue_full")
    call = HostCall.objects.create(
        project_id=authority.project_id,
        authority=authority,
        ordinal=ordinal,
        method=method,
        request=text_of(value).decode(),
        request_sha256=digest_of(value),
        nomination_sha256=nomination_sha256,
        submitted_by_type=actor.type,
        submitted_by_id=actor.actor_id,
    )
    call.refresh_from_db(fields=["submitted_at"])
    if nomination_sha256 is not None:
        Nomination.objects.filter(
            authority=authority, nomination_sha256=nomination_sha256, state__in=WAITING_STATES
        ).update(state="adopting")
    audit.record(
        AuditAction.HOST_CALL_SUBMITTED,
        call.wire_id,
        environment_id=authority.environment_id,
        parent_id=authority.wire_id,
        details={"method": method, "ordinal": ordinal},
        actor=actor,
    )
    jobs.enqueue("authority.drain", authority.wire_id)
    return call


def _next_ordinal(key: UUID) -> int:
    """Taken in the transaction that keeps the call: the row's lock gives the numbers in the order of commits."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE authority_authority SET next_ordinal = next_ordinal + 1 WHERE id = %s RETURNING next_ordinal - 1",
            [key],
        )
        ordinal: int = cursor.fetchone()[0]
    return ordinal


def get_call(authority_id: str, call_id: str, *, actor: Actor) -> HostCall:
    """Raises: NotFound."""
    authority, key = get_authority(authority_id, actor=actor), ids.from_wire(ids.HOST_CALL, call_id)
    call = None if key is None else find_row(HostCall.objects.filter(authority=authority, id=key))
    if call is None:
        raise NotFound("host call")
    return call


def list_calls(authority_id: str, request: ListRequest, *, actor: Actor) -> Page[HostCall]:
    """Newest first."""
    calls = HostCall.objects.filter(authority=get_authority(authority_id, actor=actor)).order_by("-ordinal")
    position = request.position()
    if position is not None:
        calls = calls.filter(ordinal__lt=position[0])
    return cut_page(list(calls.defer("request")[: request.limit + 1]), request, lambda call: [call.ordinal])


def count_queued(authority: Authority) -> int:
    return HostCall.objects.filter(authority=authority, state="queued").count()


def get_receipt(authority_id: str, receipt_sha256: str, *, actor: Actor) -> Receipt:
    """Raises: NotFound."""
    authority = get_authority(authority_id, actor=actor)
    rows = Receipt.objects.filter(authority=authority, receipt_sha256=receipt_sha256)
    receipt = find_row(rows) if is_digest(receipt_sha256) else None
    if receipt is None:
        raise NotFound("receipt")
    return receipt


def find_receipt(call: HostCall) -> Receipt | None:
    """What the call left; the same outcome may have left it before."""
    if call.receipt_sha256 is None:
        return None
    return Receipt.objects.get(authority_id=call.authority_id, receipt_sha256=call.receipt_sha256)


@atomic(durable=True)
def withdraw_call(authority_id: str, call_id: str, *, actor: Actor) -> HostCall:
    """A call that waits, so that it never runs. Raises: NotFound, Conflict for one that began or ended."""
    call = get_call(authority_id, call_id, actor=actor)
    withdrawn = HostCall.objects.filter(id=call.id, state="queued").update(
        state="withdrawn", finished_at=ClockTimestamp()
    )
    if not withdrawn:
        raise Conflict("Only a call that waits can be withdrawn.", error_code="host_call_begun")
    _give_back(call)
    audit.record(
        AuditAction.HOST_CALL_WITHDRAWN,
        call.wire_id,
        environment_id=call.authority.environment_id,
        parent_id=call.authority.wire_id,
        actor=actor,
    )
    transaction.on_commit(partial(wakeups.wake, call.wire_id))
    call.refresh_from_db()
    return call


def _give_back(call: HostCall) -> None:
    """A step: what no call is to adopt any more waits for a decision again."""
    of_nomination = HostCall.objects.filter(
        authority_id=call.authority_id, nomination_sha256=call.nomination_sha256
    )
    if call.method == ADOPT and not of_nomination.filter(state__in=("queued", "running")).exists():
        Nomination.objects.filter(
            authority_id=call.authority_id, nomination_sha256=call.nomination_sha256, state="adopting"
        ).update(state="pending")


@atomic(durable=True)
def resend_call(authority_id: str, call_id: str, *, actor: Actor) -> HostCall:
    """The same request again, as a new call: what landed of the first is found, and what did not is done once.

    Raises: NotFound, Conflict for a call that has not failed, or too many that wait.
    """
    call = get_call(authority_id, call_id, actor=actor)
    if call.state != "failed":
        raise Conflict(
            "Only the request of a call that failed is sent again.", error_code="host_call_not_failed"
        )
    return keep_call(
        call.authority,
        call.method,
        parse(call.request),
        nomination_sha256=call.nomination_sha256,
        actor=actor,
    )


def list_nomination_calls(nomination: Nomination) -> list[HostCall]:
    """The last that were to adopt it, newest first, without their requests."""
    calls = HostCall.objects.filter(
        authority_id=nomination.authority_id, nomination_sha256=nomination.nomination_sha256
    )
    return list(calls.order_by("-ordinal").defer("request")[:NOMINATION_CALLS_SHOWN_MAX])


def find_receipts(calls: Iterable[HostCall]) -> dict[str, Receipt]:
    """What these calls of one authority left, by digest."""
    wanted = [(call.authority_id, call.receipt_sha256) for call in calls if call.receipt_sha256]
    receipts = Receipt.objects.filter(
        authority_id__in={key for key, _ in wanted}, receipt_sha256__in={sha256 for _, sha256 in wanted}
    )
    return {receipt.receipt_sha256: receipt for receipt in receipts} if wanted else {}
