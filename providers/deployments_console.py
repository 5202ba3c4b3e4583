"""The pages of deployments: what each agent's builds declare, and which one an environment runs.

A deployment belongs to the project and is promoted into an environment, so these pages show those of the whole project.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page
from memoryhub.problems import status_of
from providers import deployments as builds
from providers.resource_forms import DeploymentForm

CREATE_EXAMPLE = """curl {url}/v1/deployments \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"agent_id": "triage", "manifest": {{"memory": [{{"id": "playbook", "description": "How this team works."}}]}}}}'"""


@page("deployments.list", of_project=True)
@require_safe
def deployments(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """With those in force marked."""
    shown = builds.list_deployments(
        list_request(request, "console.deployments", {}), agent_id=None, actor=actor
    )
    in_force = _in_force(request)
    facts = {
        "deployments": Page([(one, one.id in in_force) for one in shown.rows], shown.next_page),
        "names": name_actors((one.created_by_id for one in shown.rows), actor=actor),
        "example": CREATE_EXAMPLE.format(url=settings.BASE_URL),
    }
    return render(request, "providers/deployments.html", facts)


def _in_force(request: PageRequest) -> dict[Any, Any]:
    """The promotions that are in force here, by their deployment."""
    active = builds.list_active(request.place.environment.id)
    return {one.deployment_id: one for one in active}


@page("deployments.get", of_project=True)
@require_safe
def deployment(request: PageRequest, deployment_id: str, *, actor: Actor) -> HttpResponse:
    shown = builds.get_deployment(deployment_id, actor=actor)
    promotion = _in_force(request).get(shown.id)
    writers = [shown.created_by_id, promotion.created_by_id if promotion else ""]
    facts = {"deployment": shown, "promotion": promotion, "names": name_actors(writers, actor=actor)}
    return render(request, "providers/deployment.html", facts)


@page("deployments.create", of_project=True)
def create_deployment(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = DeploymentForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = builds.create_deployment(**form.cleaned_data, actor=actor)
        except InvalidRequest as error:
            form.refuse(error)
        else:
            messages.success(request, "The deployment is made. It is in force here once it is promoted.")
            return go_to(request, "deployment", deployment_id=made.wire_id)
    return render(request, "providers/create_deployment.html", {"form": form}, status=form_status(request))


@page("deployments.promote", of_project=True)
def promote_deployment(request: PageRequest, deployment_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first. What moves to another endpoint is named, and needs a tick of its own."""
    shown = builds.get_deployment(deployment_id, actor=actor)
    problem: Conflict | None = None
    if request.method == "POST":
        try:
            builds.promote_deployment(
                deployment_id,
                environment=request.place.environment.name,
                acknowledged_endpoints=request.POST.getlist("acknowledged"),
                actor=actor,
            )
        except Conflict as error:
            problem = error
        else:
            messages.success(request, f"New sessions of {shown.agent_id} get this deployment from now on.")
            return go_to(request, "deployment", deployment_id=deployment_id)
    environment_id = request.place.environment.id
    facts = {
        "deployment": shown,
        "replaced": builds.find_active(environment_id, shown.agent_id),
        "problem": problem,
        "changes": problem.facts.get("changes", []) if problem else [],
    }
    return render(
        request, "providers/promote_deployment.html", facts, status=status_of(problem) if problem else 200
    )
