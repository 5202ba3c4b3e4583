"""The pages of declared memory: which resources there are, what each holds, and its declaration."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import ListRequest, Page
from memoryhub.problems import status_of
from memoryhub.strict_json import json_text
from providers import declared, document_exports, documents, holdings, namespaces, service_overviews
from providers.holdings import Holding
from providers.limits import RESOURCE_BYTES_DEFAULT
from providers.models import Resource
from providers.resource_forms import DOCUMENT, HTTP, ResourceForm
from providers.waterfalls import draw_together

DECLARE_EXAMPLE = """curl {url}/v1/memory_resources \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"resource": {{"id": "playbook", "description": "How this team works."}}}}'"""
DOCUMENT_EXAMPLE = """curl -X PUT "{url}/v1/projects/{project}/memory/{resource}/documents/team-a?environment={environment}" \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" -H "If-None-Match: *" \\
  -d '{{"title": "Team A", "text": "Deploy before noon."}}'"""


@page("memory_resources.list")
@require_safe
def resources(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = holdings.list_holdings(list_request(request, "console.resources", {}), actor=actor)
    facts = {"resources": shown, "example": DECLARE_EXAMPLE.format(url=settings.BASE_URL)}
    return render(request, "providers/resources.html", facts)


@page("memory_resources.get")
@require_safe
def resource(request: PageRequest, resource_id: str, *, actor: Actor) -> HttpResponse:
    """With its documents, or how its service does."""
    holding = holdings.get_holding(resource_id, actor=actor)
    shown = holding.resource
    facts: dict[str, Any] = {
        "holding": holding,
        "resource": shown,
        "declaration": declared.declaration_of(shown),
        "declaring": declared.list_declaring(shown),
        "example": DECLARE_EXAMPLE.partition(" \\")[0].format(url=settings.BASE_URL),
    }
    wanted = list_request(request, "console.documents", {"resource": shown.wire_id})
    if shown.kind == DOCUMENT:
        facts |= _documents(request, holding, wanted, actor)
    elif shown.kind == HTTP:
        facts |= _service(shown, wanted)
        connection = facts["declaration"].get("connection", {})
        facts["sent"] = service_overviews.list_sent_secrets(shown, connection, facts["declaring"])
    return render(request, "providers/resource.html", facts)


def _documents(request: PageRequest, holding: Holding, wanted: ListRequest, actor: Actor) -> dict[str, Any]:
    resource_id, place = holding.resource.resource_id, request.place
    shown = documents.list_documents(None, resource_id, wanted, actor=actor)
    writers = (one.memory.head.created_by_id for one in shown.rows)
    return {
        "documents": Page(shown.rows, shown.next_page),
        "names": name_actors(writers, actor=actor),
        "document_example": DOCUMENT_EXAMPLE.format(
            url=settings.BASE_URL,
            project=place.project.wire_id,
            environment=place.environment.name,
            resource=resource_id,
        ),
    }


def _service(resource: Resource, wanted: ListRequest) -> dict[str, Any]:
    """How the service does, and its newest calls."""
    return {
        "namespaces": namespaces.list_namespaces(resource, wanted),
        "figures": service_overviews.read_figures(resource),
        "figures_hours": service_overviews.FIGURES_HOURS,
        "calls": draw_together(service_overviews.newest_calls(resource)),
        "calls_shown": service_overviews.CALLS_SHOWN,
    }


@page("memory_documents.export")
@require_safe
def export_documents(request: PageRequest, resource_id: str, *, actor: Actor) -> StreamingHttpResponse:
    """A line of JSON for each document."""
    environment = request.place.environment.name
    lines = document_exports.export_documents(environment, [resource_id], actor=actor)
    response = StreamingHttpResponse((line.encode() for line in lines), content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{resource_id}.ndjson"'
    return response


@page("memory_resources.declare")
def declare_resource(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The first one makes the default agent's deployment and promotes it."""
    form = ResourceForm(request.POST or None, initial={"kind": DOCUMENT})
    if request.method == "POST" and form.is_valid():
        try:
            made = declared.declare_resource(
                environment=None,
                **form.declared(None, None),
                acknowledge_endpoint_change=False,
                actor=actor,
            )
        except InvalidRequest as error:
            form.refuse(error)
        except Conflict as error:
            form.add_error("id", error.message)
        else:
            messages.success(request, "The resource is declared: sessions may bind it from now on.")
            return go_to(request, "resource", resource_id=made.resource.resource_id)
    return render(request, "providers/declare_resource.html", {"form": form}, status=form_status(request))


@page("memory_resources.declare")
def change_resource(request: PageRequest, resource_id: str, *, actor: Actor) -> HttpResponse:
    """The form carries the digest of the declaration that it was shown for: a later change is shown, not overwritten."""
    shown = documents.get_resource(None, resource_id, actor=actor)
    declaration = declared.declaration_of(shown)
    if request.method != "POST":
        form = ResourceForm(kind=shown.kind, initial=_initial(declaration))
        return _show_change(request, form, declaration, declared.declaration_sha256(shown))
    form = ResourceForm(request.POST, kind=shown.kind)
    shown_sha256 = request.POST.get("declaration_sha256", "")
    if not form.is_valid():
        return _show_change(request, form, declaration, shown_sha256, status=400)
    try:
        declared.declare_resource(
            environment=None,
            **form.declared(resource_id, declaration.get("connection")),
            acknowledge_endpoint_change=form.cleaned_data["acknowledge"],
            expected_sha256=shown_sha256,
            actor=actor,
        )
    except InvalidRequest as error:
        form.refuse(error)
        return _show_change(request, form, declaration, shown_sha256, status=400)
    except Conflict as error:
        return _refuse_change(request, form, error, resource_id, actor)
    messages.success(request, "The declaration is in force.")
    return go_to(request, "resource", resource_id=resource_id)


def _refuse_change(
    request: PageRequest, form: ResourceForm, error: Conflict, resource_id: str, actor: Actor
) -> HttpResponse:
    """With what is declared now; what was typed stays. An endpoint that changes is asked about."""
    now = documents.get_resource(None, resource_id, actor=actor)
    form.asks_acknowledgement = error.error_code == "endpoint_change_unacknowledged"
    is_stale = error.error_code == "resource_changed"
    facts = {"problem": error, "is_stale": is_stale, "changes": error.facts.get("changes", [])}
    shown_sha256 = declared.declaration_sha256(now)
    declaration = declared.declaration_of(now)
    return _show_change(request, form, declaration, shown_sha256, status=status_of(error), **facts)


def _initial(declaration: dict[str, Any]) -> dict[str, Any]:
    provider, connection = declaration["resource"]["provider"], declaration.get("connection", {})
    sent = connection.get("headers", {}).get("Authorization", {})
    return {
        "description": declaration["resource"]["description"],
        "bytes_max": provider.get("maxBytes", RESOURCE_BYTES_DEFAULT),
        "memory_write": provider.get("memoryWrite", ""),
        "origin": connection.get("origin", ""),
        "path": provider.get("path", ""),
        "secret": sent.get("secret", "") if isinstance(sent, dict) else "",
        "tools": json_text(provider.get("tools", [])),
    }


def _show_change(
    request: PageRequest,
    form: ResourceForm,
    declaration: dict[str, Any],
    sha256: str,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    facts = {
        "form": form,
        "resource_id": declaration["resource"]["id"],
        "declaration": declaration,
        "sha256": sha256,
    }
    return render(request, "providers/change_resource.html", facts | more, status=status)
