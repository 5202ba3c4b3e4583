"""The request cycle: recall of everything that is bound, kept before it is shown; then what the render selects.

Source: contract, section 6. A recall that failed leaves nothing accepted, and nothing may be inferred on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import ids, sessions, wakeups
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.credentials import hold_credential
from memoryhub.errors import Conflict, Gone, NotFound, RecallFailed
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from memoryhub.session_events import append_event
from providers import deployments, http_calls, waiting
from providers.bindings import list_bindings
from providers.declarations import Manifest
from providers.models import Binding, HttpOperation, ModelRequest, Projection
from providers.offers import BoundResource, OfferedTool, offer_tools
from providers.recall import Recalled, recall_all
from providers.retries import Kind
from providers.sessions import find_deployment

RECALLING, ACCEPTED, RECALL_FAILED = "recalling", "accepted", "recall_failed"


@dataclass(frozen=True, slots=True)
class Accepted:
    """`is_new` False: it was accepted before, and this is what was kept."""

    request: ModelRequest
    projections: list[Projection]
    is_new: bool


def open_request(
    session_id: str, *, client_request_id: str, input_text: str | None, waits: bool, actor: Actor
) -> Accepted:
    """Recall everything that the session binds. The same `client_request_id` again: what was kept of it.

    Services are asked by workers, and waited for unless `waits` is False or too many wait in this process already: then the
    request may still be recalling, and is to be asked for again.
    Raises: NotFound, Conflict for an ended session, Gone for one whose text was erased, RecallFailed.
    """
    begun = _begin(session_id, client_request_id, input_text, actor)
    if begun.state == ACCEPTED:
        return Accepted(begun, _kept(begun), is_new=False)
    if not _operations(begun).exists():
        return _accept_here(session_id, begun.id, actor)
    if waits:
        waiting.wait_for(begun.wire_id, partial(_is_settled, begun.id))
    return _answer(begun.id)


def _is_settled(request_id: UUID) -> bool:
    return not ModelRequest.objects.filter(id=request_id, state=RECALLING).exists()


def _answer(request_id: UUID) -> Accepted:
    """Raises: NotFound when the session was deleted meanwhile, RecallFailed."""
    request = find_row(ModelRequest.objects.filter(id=request_id))
    if request is None:
        raise NotFound("model request")
    if request.state == RECALL_FAILED:
        assert request.cause is not None
        raise RecallFailed(request.cause["resource"], request.cause["cause"])
    return Accepted(request, _kept(request), is_new=True)


def _accept_here(session_id: str, request_id: UUID, actor: Actor) -> Accepted:
    try:
        return _accept(session_id, request_id, actor)
    except RecallFailed as error:
        _fail(request_id, error)
        raise


@atomic(durable=True)
def _begin(session_id: str, client_request_id: str, input_text: str | None, actor: Actor) -> ModelRequest:
    """The request's row, which is there before anything is recalled, and what services are to be asked.

    One that is accepted is left as it is, and so is one whose services are being asked: who comes second waits with the first.
    """
    hold_credential(actor)
    session = sessions.lock_session(session_id, actor)
    held = ModelRequest.objects.filter(session_id=session.id, client_request_id=client_request_id)
    request = find_row(held)
    if request is not None and (request.state == ACCEPTED or _is_asking(request)):
        return request
    sessions.require_live(session)
    if request is None:
        request = ModelRequest.objects.create(
            project_id=session.project_id,
            session=session,
            client_request_id=client_request_id,
            state=RECALLING,
            input_text=input_text,
        )
    else:
        request.state, request.input_text, request.cause = RECALLING, input_text, None
        request.round += 1
        request.save(update_fields=["state", "input_text", "cause", "round"])
    _ask_services(session, request)
    return request


def _is_asking(request: ModelRequest) -> bool:
    return request.state == RECALLING and _operations(request).exclude(state=http_calls.DONE).exists()


def _operations(request: ModelRequest) -> QuerySet[HttpOperation]:
    """The recalls of its last round."""
    return HttpOperation.objects.filter(model_request_id=request.id, kind=Kind.RECALL, round=request.round)


def _ask_services(session: Session, request: ModelRequest) -> None:
    deployment = find_deployment(session)
    if deployment is not None:
        manifest = deployments.manifest_of(deployment)
        http_calls.add_recalls(session, request, live_bindings(session), manifest)


def settle_request(session: Session, request: ModelRequest) -> None:
    """A step, after each recall of a service: when all have answered, all is kept, or the request fails.

    The session is locked.
    """
    asked = list(_operations(request).defer("body"))
    if request.state != RECALLING or any(one.state != http_calls.DONE for one in asked):
        return
    try:
        _keep(session, request, asked)
    except RecallFailed as error:
        request.state, request.input_text, request.cause = RECALL_FAILED, None, error.facts
        request.save(update_fields=["state", "input_text", "cause"])
    _operations(request).update(outcome=None)  # it stands in the projections, or is not to be had
    transaction.on_commit(partial(wakeups.wake, request.wire_id))


@atomic(durable=True)
def _accept(session_id: str, request_id: UUID, actor: Actor) -> Accepted:
    """Keep what is recalled, all of it or nothing. Two at once: the second gets what the first kept."""
    session = sessions.lock_session(session_id, actor)
    request = ModelRequest.objects.get(id=request_id)
    if request.state == ACCEPTED:
        return Accepted(request, _kept(request), is_new=False)
    sessions.require_live(session)
    return Accepted(request, _keep(session, request, []), is_new=True)


def _keep(session: Session, request: ModelRequest, asked: Iterable[HttpOperation]) -> list[Projection]:
    """A step. `asked`: the services, which have answered. Raises: RecallFailed, with nothing written."""
    answers = {one.resource_id: one.outcome for one in asked}
    recalled = recall_all(session, live_bindings(session), answers)
    projections = Projection.objects.bulk_create(draft_projection(request, one) for one in recalled)
    request.state, request.accepted_at, request.input_text = ACCEPTED, ClockTimestamp(), None
    request.save(update_fields=["state", "accepted_at", "input_text"])
    sizes = {one.resource_id: len(one.text.encode()) for one in recalled}
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


def _kept(request: ModelRequest) -> list[Projection]:
    """Raises: Gone."""
    projections = list(Projection.objects.filter(model_request_id=request.id).order_by("resource_id"))
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
    return Accepted(request, _kept(request), is_new=False)


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
    deployment = find_deployment(session)
    if deployment is None:
        return []
    return declared_bindings(deployments.manifest_of(deployment), list_bindings(session))


def declared_bindings(manifest: Manifest, bindings: Sequence[Binding]) -> list[BoundResource]:
    """What bindings offer, as the manifest declares it."""
    return [
        BoundResource(manifest.resources[one.resource.resource_id], one.scope, one.access == "read-write")
        for one in bindings
    ]


def projection_facts(projection: Projection) -> dict[str, Any]:
    """What the application sees of a projection: exactly this."""
    return {"text": projection.text, "sources": projection.sources, "writable": projection.writable}
