"""What the application sees and does of calls to other services: every attempt of a session's, and to cancel one or all of a request.

Source: contract of document and HTTP memory, section 12.3. A cancelled write may have been done: nothing is undone.
"""

from uuid import UUID

from django.db.transaction import atomic

from memoryhub import audit, erasure, ids, sessions
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import NotFound
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from providers import handovers, model_requests, settlements
from providers.models import HttpOperation, ModelRequest
from providers.places import DONE, SENDING
from providers.retries import Event, Kind, decide
from providers.wire_answers import unanswered


def list_operations(session_id: str, page: ListRequest, *, actor: Actor) -> Page[HttpOperation]:
    """Newest first, with their attempts. Raises: NotFound, InvalidRequest for a foreign cursor."""
    session = sessions.get_session(session_id, actor=actor)
    held = HttpOperation.objects.filter(session_id=session.id).defer("body").prefetch_related("attempts")
    position = page.position()
    if position is not None:
        held = held.filter(id__lt=UUID(hex=position[0]))
    rows = list(held.order_by("-id")[: page.limit + 1])
    return cut_page(rows, page, lambda operation: [operation.id.hex])


def find_operation(session: Session, operation_id: str) -> HttpOperation:
    """Raises: NotFound."""
    key = ids.from_wire(ids.HTTP_OPERATION, operation_id)
    held = HttpOperation.objects.filter(session_id=session.id).select_related("model_request", "tool_call")
    operation = None if key is None else find_row(held.filter(id=key))
    if operation is None:
        raise NotFound("operation")
    return operation


@atomic(durable=True)
def cancel_operation(session_id: str, operation_id: str, *, actor: Actor) -> HttpOperation:
    """No further attempt begins; one that is under way is left within moments. Again, or after the end: unchanged.

    Raises: NotFound.
    """
    session = sessions.lock_session(session_id, actor)
    erasure.hold_copies(session.environment_id)
    operation = find_operation(session, operation_id)
    operation.session = session
    if operation.cancelled_at is None and operation.state != DONE:
        _cancel(operation, actor)
    return _shown(operation)


@atomic(durable=True)
def cancel_request(session_id: str, request_id: str, *, actor: Actor) -> ModelRequest:
    """Every call of it that is not done, its recalls and its tools' alike. Again, or with nothing under way: unchanged.

    Raises: NotFound.
    """
    session = sessions.lock_session(session_id, actor)
    erasure.hold_copies(session.environment_id)
    request = model_requests.find_request(session, request_id)
    held = HttpOperation.objects.select_related("model_request", "tool_call").exclude(state=DONE)
    for operation in held.filter(model_request_id=request.id, cancelled_at=None).order_by("id"):
        operation.session = session
        operation.model_request = request
        _cancel(operation, actor)
    return request


def _cancel(operation: HttpOperation, actor: Actor) -> None:
    """A step: the session is locked. Who has the call in the air sees it within moments, and ends it."""
    operation.cancelled_at = ClockTimestamp()
    operation.save(update_fields=["cancelled_at"])
    if handovers.take_back(operation) or operation.state != SENDING:
        _settle(operation)
    audit.record(
        AuditAction.HTTP_OPERATION_CANCELLED,
        operation.wire_id,
        environment_id=operation.session.environment_id,
        parent_id=operation.session.wire_id,
        actor=actor,
    )


def _shown(operation: HttpOperation) -> HttpOperation:
    return HttpOperation.objects.defer("body").prefetch_related("attempts").get(id=operation.id)


def _settle(operation: HttpOperation) -> None:
    decision = decide(
        Kind(operation.kind),
        idempotent=operation.is_idempotent,
        event=Event.CANCELLED,
        attempt=operation.attempt,
        seconds_left=0.0,
        retry_after=None,
    )
    settlement = settlements.from_decision(operation, decision, unanswered(Event.CANCELLED))
    settlements.settle(operation, settlement)
