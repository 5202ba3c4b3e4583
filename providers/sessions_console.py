"""The pages of sessions: which there are, what each pins and was asked, and their end."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import session_events
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.pages import PageRequest, go_to, list_request, page
from providers import inspections, service_overviews, session_overviews
from providers import sessions as verbs
from providers.session_overviews import SessionFilters
from providers.waterfalls import draw_together
from stores import memory_stores, work, work_lists
from stores.attachments import system_context

EVENTS_SHOWN = 10
WORK_SHOWN = 10
STOPPED = "The work item has stopped: nothing is saved with its token any more."
STOPPING = "The worker is told with its next heartbeat, and has the time of one lease to save what it has."
STATES = {"live": True, "ended": False}
OPEN_EXAMPLE = """curl {url}/v1/sessions \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"environment": "{environment}", "memory": {{"playbook": {{"scope": "document", "id": "team-a", "access": "read-write"}}}}}}'"""
REQUEST_EXAMPLE = """curl {url}/v1/sessions/{session_id}/model-requests \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"client_request_id": "turn-1", "input": {{"text": "What did we agree?"}}}}'"""
ATTACH_EXAMPLE = """curl {url}/v1/sessions \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"environment": "{environment}", "resources": [{{"type": "memory_store", "memory_store_id": "{store_id}"}}]}}'"""


@page("sessions.list")
@require_safe
def sessions(request: PageRequest, *, actor: Actor) -> HttpResponse:
    filters = _read_filters(request)
    wanted = list_request(request, "console.sessions", filters.as_dict())
    shown = session_overviews.list_overviews(wanted, filters, actor=actor)
    example = OPEN_EXAMPLE.format(url=settings.BASE_URL, environment=request.place.environment.name)
    facts = {
        "sessions": shown,
        "filters": filters,
        "is_filtered": filters != SessionFilters(),
        "state": request.GET.get("state", ""),
        "states": STATES,
        "names": name_actors((one.session.created_by_id for one in shown.rows), actor=actor),
        "example": example,
    }
    return render(request, "providers/sessions.html", facts)


def _read_filters(request: PageRequest) -> SessionFilters:
    """Of the URL: `state`, `resource`, `target`. Raises: InvalidRequest."""
    state = request.GET.get("state", "")
    resource_id, target_id = (request.GET.get(name, "").strip() for name in ("resource", "target"))
    if (state and state not in STATES) or "\0" in resource_id + target_id:
        raise InvalidRequest("The address asks for a state or a name that there is not.")
    return SessionFilters(STATES.get(state), resource_id, target_id)


@page("sessions.list")
@require_safe
def store_sessions(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Those that hold a store."""
    store = memory_stores.get_store(store_id, actor=actor)
    filters = SessionFilters(store_id=store_id)
    wanted = list_request(request, "console.store_sessions", filters.as_dict())
    shown = session_overviews.list_overviews(wanted, filters, actor=actor)
    place = request.place.environment.name
    facts = {
        "store": store,
        "sessions": shown,
        "names": name_actors((one.session.created_by_id for one in shown.rows), actor=actor),
        "example": ATTACH_EXAMPLE.format(url=settings.BASE_URL, environment=place, store_id=store_id),
    }
    return render(request, "providers/store_sessions.html", facts)


@page("sessions.get")
@require_safe
def session(request: PageRequest, session_id: str, *, actor: Actor) -> HttpResponse:
    """What it pins, what it was asked, what happened last."""
    details = verbs.inspect_session(session_id, actor=actor)
    wanted = list_request(request, "console.model_requests", {"session": session_id})
    last = max(0, details.session.events_count - EVENTS_SHOWN)
    facts = {
        "details": details,
        "session": details.session,
        "context": system_context(details.attachments),
        "work": work_lists.work_of_session(details.session, WORK_SHOWN),
        "requests": inspections.list_inspected(session_id, wanted, actor=actor),
        "events": session_events.list_events(session_id, after=last, limit=EVENTS_SHOWN, actor=actor)[::-1],
        "names": name_actors([details.session.created_by_id], actor=actor),
        "example": REQUEST_EXAMPLE.format(url=settings.BASE_URL, session_id=session_id),
    }
    return render(request, "providers/session.html", facts)


@page("session_events.list")
@require_safe
def events(request: PageRequest, session_id: str, *, actor: Actor) -> HttpResponse:
    """From the first on; `?after=` is the number of an event."""
    after = request.GET.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) <= 9):
        raise InvalidRequest("after: This must be the number of an event.")
    details = verbs.inspect_session(session_id, actor=actor)
    limit = session_events.EVENTS_PER_PAGE_MAX
    shown = session_events.list_events(session_id, after=int(after), limit=limit, actor=actor)
    has_more = bool(shown) and shown[-1].number < details.session.events_count
    facts = {
        "session": details.session,
        "events": shown,
        "next_after": shown[-1].number if has_more else None,
    }
    return render(request, "providers/events.html", facts)


@page("model_requests.get")
@require_safe
def model_request(request: PageRequest, session_id: str, request_id: str, *, actor: Actor) -> HttpResponse:
    wanted = list_request(request, "console.tool_calls", {"request": request_id})
    inspected = inspections.inspect_request(session_id, request_id, wanted, actor=actor)
    facts = {
        "inspected": inspected,
        "session": inspected.session,
        "model_request": inspected.request,
        "projections": [(one, len(one.text.encode())) for one in inspected.projections],
        "tools": [(one, one.input_schema) for one in inspected.tools],
        "service_calls": draw_together(service_overviews.list_request_calls(inspected.request)),
    }
    return render(request, "providers/model_request.html", facts)


@page("sessions.end")
def end_session(request: PageRequest, session_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    if request.method == "POST":
        verbs.end_session(session_id, actor=actor)
        messages.success(request, "The session has ended: nothing is saved in it any more.")
        return go_to(request, "session", session_id=session_id)
    return render(request, "providers/end_session.html", _facts(session_id, actor))


@page("sessions.delete")
def delete_session(request: PageRequest, session_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first, naming what goes."""
    if request.method == "POST":
        verbs.delete_session(session_id, actor=actor)
        messages.success(request, "The session is deleted, with what models were given and said in it.")
        return go_to(request, "sessions")
    return render(request, "providers/delete_session.html", _facts(session_id, actor))


def _facts(session_id: str, actor: Actor) -> dict[str, Any]:
    details = verbs.inspect_session(session_id, actor=actor)
    counts = inspections.count_requests(details.session)
    return {"details": details, "session": details.session, **counts}


@page("work.stop")
def stop_work(request: PageRequest, session_id: str, work_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: what the worker has not saved yet may be lost."""
    session = verbs.inspect_session(session_id, actor=actor).session
    environment = request.place.environment.wire_id
    item = work.get_work(environment, work_id, actor=actor)
    if item.session_id != session.id:
        raise NotFound("work item")
    if request.method == "POST":
        at_once = request.POST.get("at_once") == "yes"
        stopped = work.stop_work(environment, work_id, is_forced=at_once, actor=actor)
        messages.success(request, STOPPED if stopped.state == "stopped" else STOPPING)
        return go_to(request, "session", session_id=session_id)
    return render(request, "providers/stop_work.html", {"session": session, "work": item})


@page("bindings.revoke")
def revoke_binding(request: PageRequest, session_id: str, resource_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    if request.method == "POST":
        verbs.revoke_binding(session_id, resource_id, actor=actor)
        messages.success(request, f"The session reaches {resource_id} no more.")
        return go_to(request, "session", session_id=session_id)
    details = verbs.inspect_session(session_id, actor=actor)
    bound = [one for one in details.bindings if one.binding.resource.resource_id == resource_id]
    if not bound:
        raise NotFound("binding")
    facts = {"session": details.session, "state": bound[0]}
    return render(request, "providers/revoke_binding.html", facts)
