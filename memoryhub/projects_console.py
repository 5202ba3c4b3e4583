"""The pages of projects and their environments."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from memoryhub import environments, projects, tenancy
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, HubError, InvalidRequest, PermissionRefused
from memoryhub.pages import FIRST_ENVIRONMENT, PageRequest, go_to, page, person, sentence, signed_in
from memoryhub.problems import answer_page
from memoryhub.project_forms import NameForm


@signed_in
def create_project(request: HttpRequest) -> HttpResponse:
    """Of operators; the project is theirs."""
    user = person(request)
    form = NameForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            created = projects.create_project(name=form.cleaned_data["name"], owner=user)
        except PermissionRefused as error:
            return answer_page(request, error)
        except InvalidRequest as error:
            form.add_error("name", sentence(error))
        else:
            messages.success(request, "The project is created, with two environments.")
            where = {"project_id": created.wire_id, "environment": FIRST_ENVIRONMENT}
            return redirect(reverse("overview", kwargs=where))
    if not user.is_operator:
        return answer_page(request, PermissionRefused("Only an operator of this hub may create projects."))
    if form.errors:
        status = 400
    return render(request, "memoryhub/create_project.html", {"form": form}, status=status)


@page("projects.get", of_project=True)
@require_safe
def project_settings(request: PageRequest, *, actor: Actor) -> HttpResponse:
    facts = {"environments": environments.list_environments(actor=actor)}
    return render(request, "memoryhub/project_settings.html", facts)


@page("projects.update")
def rename_project(request: PageRequest, *, actor: Actor) -> HttpResponse:
    project = tenancy.get_project(actor)
    facts = {"heading": f"Rename {project.name}", "shown": project.name, "change": "Rename the project"}
    form = NameForm(request.POST or None, initial={"name": project.name})
    if request.method == "POST" and form.is_valid():
        try:
            projects.update_project(
                project.wire_id,
                name=form.cleaned_data["name"],
                expected_name=request.POST.get("shown"),
                actor=actor,
            )
        except (InvalidRequest, Conflict) as error:
            return _refuse(request, form, error, facts)
        messages.success(request, "The project is renamed.")
        return go_to(request, "project-settings")
    return _show(request, form, facts, 400 if form.errors else 200)


@page("environments.create")
def create_environment(request: PageRequest, *, actor: Actor) -> HttpResponse:
    facts = {"heading": "New environment", "shown": "", "change": "Create the environment"}
    form = NameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            environments.create_environment(name=form.cleaned_data["name"], actor=actor)
        except (InvalidRequest, Conflict) as error:
            return _refuse(request, form, error, facts)
        messages.success(request, "The environment is created.")
        return go_to(request, "project-settings")
    return _show(request, form, facts, 400 if form.errors else 200)


@page("environments.update")
def rename_environment(request: PageRequest, other_id: str, *, actor: Actor) -> HttpResponse:
    """Its pages get other addresses, so one may land on the new address of this very page."""
    environment = tenancy.get_environment(other_id, actor=actor)
    facts = {
        "heading": f"Rename {environment.name}",
        "shown": environment.name,
        "change": "Rename the environment",
        "hint": "The addresses of its pages change. Keys go on working; requests that name the environment by its name must be changed.",
    }
    form = NameForm(request.POST or None, initial={"name": environment.name})
    if request.method == "POST" and form.is_valid():
        try:
            renamed = environments.rename_environment(
                other_id,
                name=form.cleaned_data["name"],
                expected_name=request.POST.get("shown"),
                actor=actor,
            )
        except (InvalidRequest, Conflict) as error:
            return _refuse(request, form, error, facts)
        messages.success(request, "The environment is renamed.")
        is_here = renamed.id == request.place.environment.id
        where = {
            "project_id": request.place.project.wire_id,
            "environment": renamed.name if is_here else request.place.environment.name,
        }
        return redirect(reverse("project-settings", kwargs=where))
    return _show(request, form, facts, 400 if form.errors else 200)


def _refuse(request: PageRequest, form: NameForm, error: HubError, facts: dict[str, Any]) -> HttpResponse:
    form.add_error("name", sentence(error))
    return _show(request, form, facts, 409 if isinstance(error, Conflict) else 400)


def _show(request: PageRequest, form: NameForm, facts: dict[str, Any], status: int) -> HttpResponse:
    return render(request, "memoryhub/name.html", {**facts, "form": form}, status=status)
