"""The request cycle: recall of everything that is bound, kept before it is shown; then what the render selects.

Source: contract, section 6. A recall that failed leaves nothing accepted, and nothing may be inferred on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import erasure, ids, sessions, wakeups
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.credentials import ask_credential, hold_credential
from memoryhub.errors import Conflict, Gone, NotFound, RecallFailed
from memoryhub.kept_queries import KeptSelect, insert_row, insert_rows, together, update_row
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from memoryhub.session_events import append_event
from providers import http_calls
from providers.bindings import list_bindings
from providers.declarations import Manifest
from providers.limits import WAIT_SECONDS_MAX
from providers.models import Binding, HttpOperation, ModelRequest, Projection
from providers.offers import BoundResource, OfferedTool, offer_tools
from providers.pins import find_pinned
from providers.places import DONE
from providers.principals import Principal
from providers.recall import Recalled, recall_all
from providers.recalled_items import list_items
from providers.record_origins import scope_of_request
from providers.record_scopes import find_scope
from providers.record_session_models import RecalledItem
from providers.retries import Kind
from providers.wire_answers import host_error

RECALLING, ACCEPTED, RECALL_FAILED = "recalling", "accepted", "recall_failed"
OF_TOKENS = "token"  # the hub's own, for what comes with a session's token before any other: nothing is recalled for it

_with_id = KeptSelect(lambda id: ModelRequest.objects.filter(id=id))
_with_client_id = KeptSelect(lambda **owner: ModelRequest.objects.filter(**owner))
_projections = KeptSelect(lambda **request: Projection.objects.filter(**request).order_by("resource_id"))


@dataclass(frozen=True, slots=True)
class Accepted:
    """`is_new` False: it was accepted before, and this is what was kept. `items`: the records that searches gave before, for the
    principal whose input it is."""

    request: ModelRequest
    projections: list[Projection]
    items: list[RecalledItem]
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Input:
    text: str | None
    principal: Principal | None
    has_untrusted: bool


def open_request(
    session_id: str,
    *,
    client_request_id: str,
    input_text: str | None,
    waits: bool,
    principal: Principal | None = None,
    has_untrusted: bool = False,
    actor: Actor,
) -> Accepted:
    """Recall everything that the session binds. The same `client_request_id` again: what was kept of it.

    `principal`: whose input it is, None for the session's. `has_untrusted`: others had a say in what the model is given.

    Services are asked by workers, and waited for unless `waits` is False or too many wait in this process already: then the
    request may still be recalling, and is to be asked for again.
    Raises: NotFound, Conflict for an ended session and for a request of another principal (`principal_mismatch`), Gone for one
    whose text was erased, RecallFailed.
    """
    given = _Input(input_text, principal, has_untrusted)
    begun, asks_services = _begin(session_id, client_request_id, given, actor)
    if begun.state == ACCEPTED:
        return _accepted(begun, is_new=False)
    if not asks_services:
        return _accept_here(session_id, begun.id, actor)
    seconds = WAIT_SECONDS_MAX if waits else 0
    return _answer(wakeups.wait_for(begun.wire_id, partial(_look, begun.id), _is_settled, seconds=seconds))


def _look(request_id: UUID) -> ModelRequest:
    """Raises: NotFound when the session was deleted meanwhile."""
    request = _with_id.row(id=request_id)
    if request is None:
        raise NotFound("model request")
    return request


def _is_settled(request: ModelRequest) -> bool:
    return request.state != RECALLING


def _answer(request: ModelRequest) -> Accepted:
    """Raises: Gone, RecallFailed."""
    if request.state == RECALL_FAILED:
        assert request.cause is not None
        raise RecallFailed(request.cause["resource"], request.cause["cause"])
    return _accepted(request, is_new=True)


def _accept_here(session_id: str, request_id: UUID, actor: Actor) -> Accepted:
    try:
        return _accept(session_id, request_id, actor)
    except RecallFailed as error:
        _fail(request_id, error)
        raise


@atomic(durable=True)
def _begin(session_id: str, client_request_id: str, given: _Input, actor: Actor) -> tuple[ModelRequest, bool]:
    """The request's row, which is there before anything is recalled, and whether services are asked for it.

    One that is accepted is left as it is, and so is one whose services are being asked: who comes second waits with the first.
    """
    session, request = _lock_both(session_id, client_request_id, actor)
    principal = None if given.principal is None else given.principal.to_wire()
    if request is not None and request.principal != principal:
        raise Conflict(
            "This client_request_id made a request with another principal.", error_code="principal_mismatch"
        )
    if request is not None and request.state == ACCEPTED:
        return request, False
    if request is not None and _is_asking(request):
        return request, True
    sessions.require_live(session)
    if request is None:
        request = ModelRequest(
            project_id=session.project_id,
            session=session,
            client_request_id=client_request_id,
            state=RECALLING,
            input_text=given.text,
            principal=principal,
            has_input=given.text is not None,
            has_untrusted=given.has_untrusted,
        )
        with together():
            insert_row(request)
            return request, _ask_services(session, request)
    request.state, request.input_text, request.cause = RECALLING, given.text, None
    request.has_input, request.has_untrusted = given.text is not None, given.has_untrusted
    request.round += 1
    request.save(update_fields=["state", "input_text", "cause", "round", "has_input", "has_untrusted"])
    return request, _ask_services(session, request)


def _lock_both(session_id: str, client_request_id: str, actor: Actor) -> tuple[Session, ModelRequest | None]:
    """The credential and the session, held; the request as it stands then. Raises: as those who hold them."""
    with together():
        require_credential = ask_credential(actor)
        locked = sessions.ask_session(session_id, actor)
        key = sessions.session_key(session_id, actor)
        asked = _with_client_id.ask(session_id=key, client_request_id=client_request_id)
    require_credential()
    return locked(), asked.row()


def _is_asking(request: ModelRequest) -> bool:
    return request.state == RECALLING and _operations(request).exclude(state=DONE).exists()


def _operations(request: ModelRequest) -> QuerySet[HttpOperation]:
    """The recalls of its last round."""
    return HttpOperation.objects.filter(model_request_id=request.id, kind=Kind.RECALL, round=request.round)


def _ask_services(session: Session, request: ModelRequest) -> bool:
    pinned = find_pinned(session.id)
    if pinned is None:
        return False
    return bool(http_calls.add_recalls(session, request, live_bindings(session), pinned.manifest))


def settle_request(session: Session, request: ModelRequest, answers: Mapping[str, Any]) -> None:
    """A step, when every service has answered: all is kept, or the request fails. `answers`: by resource id.

    The session is locked, and the copies of its environment are held.
    """
    if request.state != RECALLING:
        return
    try:
        _require_open(session, request)
        _keep(session, request, answers)
    except RecallFailed as error:
        request.state, request.input_text, request.cause = RECALL_FAILED, None, error.facts
        request.save(update_fields=["state", "input_text", "cause"])
    if len(answers) > 1:  # what was kept of each until here stands in the projections, or is not to be had
        _operations(request).update(outcome=None)
    transaction.on_commit(partial(wakeups.wake, request.wire_id))


def _require_open(session: Session, request: ModelRequest) -> None:
    """What came after the end of the session is not kept: nothing is bound any more, which is not to look like empty memory.

    Raises: RecallFailed.
    """
    if session.ended_at is not None:
        resource_id = _operations(request).order_by("id").values_list("resource_id", flat=True)[0]
        raise RecallFailed(resource_id, host_error("session_closed"))


@atomic(durable=True)
def _accept(session_id: str, request_id: UUID, actor: Actor) -> Accepted:
    """Keep what is recalled, all of it or nothing. Two at once: the second gets what the first kept."""
    session = sessions.lock_session(session_id, actor)
    request = ModelRequest.objects.get(id=request_id)
    if request.state == ACCEPTED:
        return _accepted(request, is_new=False)
    sessions.require_live(session)
    erasure.hold_copies(session.environment_id)
    projections = _keep(session, request, {})
    return Accepted(request, projections, _list_items(request), is_new=True)


def _keep(session: Session, request: ModelRequest, answers: Mapping[str, Any]) -> list[Projection]:
    """A step. `answers`: of services, by resource id. Raises: RecallFailed, with nothing written."""
    recalled = recall_all(session, live_bindings(session), answers)
    projections = [draft_projection(request, one) for one in recalled]
    request.state, request.accepted_at, request.input_text = ACCEPTED, ClockTimestamp(), None
    sizes = {one.resource_id: len(one.text.encode()) for one in recalled}
    with together():
        insert_rows(projections)
        update_row(request, "state", "accepted_at", "input_text")
    append_event(session, "model_request.accepted", {"model_request_id": request.wire_id, "bytes": sizes})
    return projections


def live_bindings(session: Session) -> list[Binding]:
    """Those that are not revoked: a revoked one is not recalled."""
    return [one for one in list_bindings(session) if one.revoked_at is None]


def draft_projection(request: ModelRequest, recalled: Recalled) -> Projection:
    """Not saved."""
    return Projection(
        project_id=request.project_id,
        model_request=request,
        resource_id=recalled.resource_id,
        text=recalled.text,
        sources=recalled.sources,
        writable=recalled.writable,
        cursor=recalled.cursor,
        version_ids=recalled.version_ids,
    )


def _accepted(request: ModelRequest, *, is_new: bool) -> Accepted:
    """Raises: Gone."""
    return Accepted(request, _kept(request), _list_items(request), is_new)


def _list_items(request: ModelRequest) -> list[RecalledItem]:
    """Of the session's records, while it binds them."""
    pinned = find_pinned(request.session_id)
    if request.state != ACCEPTED or pinned is None or not pinned.has_records:
        return []
    if not any(one.scope == "records" for one in live_bindings(request.session)):
        return []
    held = find_scope(scope_of_request(request.session, request, pinned))
    until = request.accepted_at if isinstance(request.accepted_at, datetime) else None
    return list_items(request.session_id, held, until=until)


def _kept(request: ModelRequest) -> list[Projection]:
    """Raises: Gone."""
    projections = _projections.rows(model_request_id=request.id)
    if any(one.erased_at is not None for one in projections):
        raise Gone(
            "The text of a memory in this request was erased: begin a new request.", error_code="erased"
        )
    return projections


@atomic(durable=True)
def _fail(request_id: UUID, error: RecallFailed) -> None:
    waiting = ModelRequest.objects.filter(id=request_id).exclude(state=ACCEPTED)
    waiting.update(state=RECALL_FAILED, input_text=None, cause=error.facts)


def get_request(session_id: str, request_id: str, *, actor: Actor) -> ModelRequest:
    """Raises: NotFound."""
    session = sessions.get_session(session_id, actor=actor)
    return find_request(session, request_id)


def get_accepted(session_id: str, request_id: str, *, actor: Actor) -> Accepted:
    """With what was kept of it, nothing before it is accepted. Raises: NotFound, Gone."""
    request = get_request(session_id, request_id, actor=actor)
    return _accepted(request, is_new=False)


def find_request(session: Session, request_id: str) -> ModelRequest:
    """Raises: NotFound."""
    key = ids.from_wire(ids.MODEL_REQUEST, request_id)
    request = None if key is None else find_row(ModelRequest.objects.filter(session_id=session.id, id=key))
    if request is None:
        raise NotFound("model request")
    return request


def list_requests(session_id: str, page: ListRequest, *, actor: Actor) -> Page[ModelRequest]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    session = sessions.get_session(session_id, actor=actor)
    held = ModelRequest.objects.filter(session_id=session.id)
    return cut_newest(held, page)


@atomic(durable=True)
def select_memory(
    session_id: str, request_id: str, *, use: list[str], actor: Actor
) -> dict[str, OfferedTool]:
    """Fix which of the recalled memories the render uses; the tools that the model is offered for them.

    The same set again changes nothing. Raises: NotFound; Conflict for another set (`selection_fixed`), for a resource that
    is not bound (`memory_not_bound`), for a request that is not accepted or a session that has ended.
    """
    hold_credential(actor)
    session = sessions.lock_session(session_id, actor)
    request = find_request(session, request_id)
    wanted = sorted(set(use))
    if request.selected is None:
        sessions.require_live(session)
        _require_bound(request, wanted)
        request.selected = wanted
        request.save(update_fields=["selected"])
    elif request.selected != wanted:
        raise Conflict(
            "The selection of this request is fixed: it was made with other memories.",
            error_code="selection_fixed",
        )
    return offered_tools(session, request)


def _require_bound(request: ModelRequest, wanted: list[str]) -> None:
    if request.state != ACCEPTED:
        raise Conflict("The request is not accepted: recall it first.", error_code="request_not_accepted")
    recalled = Projection.objects.filter(model_request_id=request.id).values_list("resource_id", flat=True)
    missing = sorted(set(wanted) - set(recalled))
    if missing:
        raise Conflict(
            f"The session does not bind {missing[0]}: the render must not go on.",
            error_code="memory_not_bound",
            resources=missing,
        )


def offered_tools(session: Session, request: ModelRequest) -> dict[str, OfferedTool]:
    """What the model is offered: by the deployment that the session keeps, whatever was promoted since."""
    return offer_tools(bound_resources(session), request.selected or [])


def bound_resources(session: Session) -> list[BoundResource]:
    pinned = find_pinned(session.id)
    if pinned is None:
        return []
    return declared_bindings(pinned.manifest, list_bindings(session))


def declared_bindings(manifest: Manifest, bindings: Sequence[Binding]) -> list[BoundResource]:
    """What bindings offer, as the manifest declares it."""
    return [
        BoundResource(manifest.resources[one.resource.resource_id], one.scope, _lets_write(one))
        for one in bindings
    ]


def _lets_write(binding: Binding) -> bool:
    """By its access, and of records by what was declared last: that binds older sessions too."""
    denies = binding.scope == "records" and binding.resource.provider["memoryWrite"] == "deny"
    return binding.access == "read-write" and not denies


def projection_facts(projection: Projection) -> dict[str, Any]:
    """What the application sees of a projection: exactly this."""
    return {"text": projection.text, "sources": projection.sources, "writable": projection.writable}
