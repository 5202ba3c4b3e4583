"""The pages of calls of other services: those of a resource or a session, one with all its attempts, and to try a recall."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page
from memoryhub.problems import status_of
from providers import cancellations, documents, service_overviews, service_trials
from providers.models import HttpOperation
from providers.service_overviews import InspectedCall
from providers.trial_forms import ServiceTrialForm
from providers.waterfalls import draw_together, draw_waterfall


@page("http_operations.list")
@require_safe
def resource_calls(request: PageRequest, resource_id: str, *, actor: Actor) -> HttpResponse:
    resource = documents.get_resource(None, resource_id, actor=actor)
    wanted = list_request(request, "console.resource_calls", {"resource": resource.wire_id})
    shown = service_overviews.list_calls(resource, wanted)
    facts = {"resource": resource} | _list_facts(shown)
    return render(request, "providers/resource_calls.html", facts)


@page("http_operations.list")
@require_safe
def session_calls(request: PageRequest, session_id: str, *, actor: Actor) -> HttpResponse:
    wanted = list_request(request, "console.session_calls", {"session": session_id})
    session, shown = service_overviews.list_session_calls(session_id, wanted, actor=actor)
    facts = {"session": session} | _list_facts(shown)
    return render(request, "providers/session_calls.html", facts)


def _list_facts(shown: Page[HttpOperation]) -> dict[str, Any]:
    return {
        "calls": draw_together(shown.rows),
        "next_page": shown.next_page,
        "kept_days": settings.HTTP_OPERATION_DAYS,
    }


@page("http_operations.list")
@require_safe
def call(request: PageRequest, operation_id: str, *, actor: Actor) -> HttpResponse:
    """With what the model was told of it."""
    inspected = service_overviews.inspect_call(operation_id, actor=actor)
    return render(request, "providers/call.html", _call_facts(inspected))


def _call_facts(inspected: InspectedCall) -> dict[str, Any]:
    projection = inspected.projection
    return {
        "inspected": inspected,
        "operation": inspected.operation,
        "session": inspected.operation.session,
        "waterfall": draw_waterfall(inspected.operation),
        "projection": projection,
        "size_bytes": len(projection.text.encode()) if projection else 0,
        "body_hours": settings.HTTP_BODY_HOURS,
    }


@page("http_operations.cancel")
@require_POST
def cancel_call(request: PageRequest, operation_id: str, *, actor: Actor) -> HttpResponse:
    session_id = service_overviews.inspect_call(operation_id, actor=actor).operation.session.wire_id
    cancelled = cancellations.cancel_operation(session_id, operation_id, actor=actor)
    if cancelled.cancelled_at is not None:
        messages.success(request, "The call is cancelled. What the service has accepted is not undone.")
    else:
        messages.warning(request, "The call had ended before.")
    return go_to(request, "call", operation_id=operation_id)


@page("model_requests.create")
def try_service(request: PageRequest, resource_id: str, *, actor: Actor) -> HttpResponse:
    """Says where the text goes before it is sent. The answer is the page of the call, which a reload does not send again."""
    resource = documents.get_resource(None, resource_id, actor=actor)
    if resource.store is not None:
        return redirect(f"{request.place.url('try-memory')}?resource={resource_id}")
    known = service_trials.newest_namespaces(resource)
    form = ServiceTrialForm(request.POST or None, initial={"namespace": next(iter(known), "")})
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            made = service_trials.try_service(
                resource_id, namespace_id=typed["namespace"], input_text=typed["input"], actor=actor
            )
        except (Conflict, InvalidRequest) as error:
            add_refusal(form, error)
            status = status_of(error)
        else:
            return go_to(request, "call", operation_id=made.wire_id)
    facts = {"form": form, "resource": resource, "namespaces": known}
    return render(request, "providers/try_service.html", facts, status=status)
