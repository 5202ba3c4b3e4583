"""The page that shows what a model would be given: for an input, bound memory and attached stores. Nothing is written."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest, NotFound, RecallFailed
from memoryhub.pages import PageRequest, page
from memoryhub.problems import status_of
from memoryhub.store_access import newest_stores
from providers import deployments, trials
from providers.models import Deployment
from providers.trial_forms import TrialForm
from providers.trials import Trial

STORES_SHOWN_MAX = 20


@page("memory_documents.get")
@require_http_methods(["GET", "HEAD", "POST"])
def try_memory(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """`?agent=` with what it declares; `?resource=` of one of the agents that declare it. The input stays out of the URL."""
    active = [one.deployment for one in deployments.list_active(request.place.environment.id)]
    chosen = _choose(active, request.GET.get("agent", ""), request.GET.get("resource", ""))
    facts: dict[str, Any] = {"agents": [one.agent_id for one in active], "chosen": chosen}
    if chosen is None:
        return render(request, "providers/try_memory.html", facts)
    form = _form(request, chosen)
    facts["form"], status = form, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                facts |= _shown(trials.try_memory(form.wanted(chosen.agent_id), actor=actor))
                status = 200
            except (Conflict, InvalidRequest, NotFound, RecallFailed) as error:
                facts["problem"], status = error, status_of(error)
    return render(request, "providers/try_memory.html", facts, status=status)


def _choose(active: list[Deployment], agent_id: str, resource_id: str) -> Deployment | None:
    """The named agent's, else one that declares the resource, else the first."""
    named = [one for one in active if one.agent_id == agent_id]
    declaring = [one for one in active if any(item["id"] == resource_id for item in one.manifest["memory"])]
    return next(iter([*named, *declaring, *active]), None)


def _form(request: PageRequest, chosen: Deployment) -> TrialForm:
    environment_id = request.place.environment.id
    resource_id, document_id = request.GET.get("resource", ""), request.GET.get("document", "")
    choices = trials.list_choices(
        chosen, environment_id, first_resource_id=resource_id, first_document_id=document_id
    )
    return TrialForm(
        request.POST or None, choices=choices, stores=newest_stores(environment_id, STORES_SHOWN_MAX)
    )


def _shown(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial,
        "tools": [
            {"tool": one, "size_bytes": trials.tool_size_bytes(one), "schema": one.input_schema}
            for one in trial.tools
        ],
        "context_bytes": len(trial.system_context.encode()),
        "projections": [(one, len(one.text.encode())) for one in trial.projections],
        "whole_bytes": trial.size_bytes(),
    }
