"""The pages that delete an environment or a project: what goes, what lies elsewhere, and the name once more."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from memoryhub import deletions, environments, tenancy
from memoryhub.actors import Actor
from memoryhub.deletions import Deleted
from memoryhub.errors import InvalidRequest
from memoryhub.pages import PageRequest, form_status, page, sentence
from memoryhub.project_forms import DeletionForm

REMAINING_SHOWN_MAX = 200


@page("environments.delete")
def delete_environment(request: PageRequest, other_id: str, *, actor: Actor) -> HttpResponse:
    environment = tenancy.get_environment(other_id, actor=actor)
    form = DeletionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            deleted = deletions.delete_environment(
                other_id, expected_name=form.cleaned_data["name"], actor=actor
            )
        except InvalidRequest as error:
            form.add_error("name", sentence(error))
        else:
            messages.success(request, _say(f"The environment {environment.name} is deleted", deleted))
            return redirect(_settings_beside(request, environment.id, actor))
    facts = {"environment": environment, "form": form, **_facts([environment.id])}
    return render(request, "memoryhub/delete_environment.html", facts, status=form_status(request))


def _settings_beside(request: PageRequest, gone: UUID, actor: Actor) -> str:
    """The settings, seen from an environment that is still there: one always is."""
    here = request.place.environment
    left = [one.name for one in environments.list_environments(actor=actor)]
    name = here.name if here.id != gone else left[0]
    return reverse(
        "project-settings", kwargs={"project_id": request.place.project.wire_id, "environment": name}
    )


@page("projects.delete")
def delete_project(request: PageRequest, *, actor: Actor) -> HttpResponse:
    project = tenancy.get_project(actor)
    form = DeletionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            deleted = deletions.delete_project(
                project.wire_id, expected_name=form.cleaned_data["name"], actor=actor
            )
        except InvalidRequest as error:
            form.add_error("name", sentence(error))
        else:
            messages.success(request, _say(f"The project {project.name} is deleted", deleted))
            return redirect(reverse("home"))
    held = environments.list_environments(actor=actor)
    facts = {"environments": held, "form": form, **_facts([one.id for one in held])}
    return render(request, "memoryhub/delete_project.html", facts, status=form_status(request))


def _facts(environment_ids: list[UUID]) -> dict[str, Any]:
    """What other services keep, the first of it."""
    remaining = deletions.list_remaining(environment_ids)
    return {"remaining": remaining[:REMAINING_SHOWN_MAX], "remaining_count": len(remaining)}


def _say(done: str, deleted: Deleted) -> str:
    count = len(deleted.remaining)
    elsewhere = f" Other services keep {count} namespace{'' if count == 1 else 's'} of it." if count else ""
    return f"{done}, with everything in it.{elsewhere}"
