"""Glue of the console: session -> person, URL -> project and environment, membership -> actor, error -> page.

A page is a function marked with `@page(...)`: its name in the table of rights. A project or an environment that the
person does not belong to answers as one that never was.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from memoryhub import ids
from memoryhub.accounts import member_actor
from memoryhub.actors import Actor
from memoryhub.errors import HubError, NotFound, PermissionRefused
from memoryhub.models import Environment, Membership, Project, User
from memoryhub.operations import OPERATIONS, Operation, allows
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.problems import answer_page, signed_out
from memoryhub.rooms import Room, list_rooms
from memoryhub.typed import list_typed

FIRST_ENVIRONMENT = "development"

type View = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page stands and who looks at it. `memberships`: of this person, all that there is to switch to."""

    membership: Membership
    environment: Environment
    memberships: list[Membership]
    actor: Actor

    @property
    def project(self) -> Project:
        return self.membership.project

    @property
    def rooms(self) -> list[Room]:
        return list_rooms(self.actor)

    def url(self, url_name: str, **ids_of: str) -> str:
        """Of another page of the same environment."""
        return self.url_in(None, url_name, **ids_of)

    def url_in(self, environment_id: UUID | None, url_name: str, **ids_of: str) -> str:
        """Of a page of another environment of the project; None: of this one."""
        environments = self.project.environments.all()
        named = next((one.name for one in environments if one.id == environment_id), self.environment.name)
        where = {"project_id": self.project.wire_id, "environment": named}
        return reverse(url_name, kwargs=where | ids_of)

    def may(self, operation: str) -> bool:
        return allows(self.actor.scopes, OPERATIONS[operation])


class PageRequest(HttpRequest):
    """What a page gets: templates read `request.place`."""

    place: Place


def person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def signed_in(view: View) -> View:
    """Only for people who are signed in; others sign in first and come back."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if isinstance(request.user, User):
            return answer_dialog(request, view(request, *args, **kwargs))
        if list_typed(request):
            return signed_out(request)
        response = redirect("sign-in")
        if request.method == "GET" and request.path != "/":
            response["Location"] += f"?next={request.path}"
        return answer_dialog(request, response)

    return guarded


def answer_dialog(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """A dialog's script cannot see where a redirect leads, so it is told, and goes there itself."""
    if "Hub-Dialog" not in request.headers or response.status_code != 302:
        return response
    told = HttpResponse(status=204, headers={"Hub-Location": response["Location"]})
    told.cookies = response.cookies
    return told


def page(name: str, *, of_project: bool = False) -> Callable[[View], View]:
    """A page of one environment, for those whose role allows the operation. The view gets `actor`.

    `of_project`: the page is about the whole project, as far as the person's role reaches.
    """
    operation = OPERATIONS[name]
    whole_project = of_project or operation.whole_project

    def decorate(view: View) -> View:
        @signed_in
        @wraps(view)
        def placed(
            request: HttpRequest, project_id: str, environment: str, **ids_of: str
        ) -> HttpResponseBase:
            request.hub_operation = f"console.{name}"  # type: ignore[attr-defined]  # for logs and metrics
            try:
                place = find_place(person(request), project_id, environment, whole_project)
                cast(PageRequest, request).place = place
                require_right(place, operation)
                return view(request, **ids_of, actor=place.actor)
            except HubError as error:
                return answer_page(request, error)

        placed.hub_page = operation  # type: ignore[attr-defined]  # for tests of the table of rights
        return placed

    return decorate


def find_place(user: User, project_id: str, environment: str, whole_project: bool) -> Place:
    """Raises: NotFound."""
    memberships = list_memberships(user)
    key = ids.from_wire(ids.PROJECT, project_id)
    for membership in memberships:
        for candidate in membership.project.environments.all():
            if membership.project_id == key and candidate.name == environment:
                limit = None if whole_project else candidate.id
                actor = replace(member_actor(membership), environment_id=limit)
                return Place(membership, candidate, memberships, actor)
    raise NotFound


def list_memberships(user: User) -> list[Membership]:
    """By the name of the project, with its environments."""
    memberships = Membership.objects.filter(user=user).select_related("project")
    return list(memberships.prefetch_related("project__environments").order_by("project__name", "id"))


def home_of(user: User) -> str:
    """The overview of the one project there is, in the environment that is begun with; else the list of projects."""
    memberships = list_memberships(user)
    if len(memberships) != 1:
        return reverse("home")
    names = sorted(one.name for one in memberships[0].project.environments.all())
    environment = FIRST_ENVIRONMENT if FIRST_ENVIRONMENT in names else names[0]
    where = {"project_id": memberships[0].project.wire_id, "environment": environment}
    return reverse("overview", kwargs=where)


def require_right(place: Place, operation: Operation) -> None:
    """Raises: PermissionRefused."""
    if not allows(place.actor.scopes, operation):
        role = place.membership.role
        raise PermissionRefused(f"Your role here, {role}, may not do this; an owner of the project can.")


def list_request(request: HttpRequest, kind: str, filters: dict[str, Any]) -> ListRequest:
    """The page of a list that the URL asks for."""
    return ListRequest(kind, filters, LIST_LIMIT_DEFAULT, request.GET.get("page") or None)


def form_status(request: HttpRequest) -> int:
    """Of a page with a form: one that is shown again was refused."""
    return 400 if request.method == "POST" else 200


def go_to(request: PageRequest, url_name: str, **ids_of: str) -> HttpResponse:
    """To another page of the same environment."""
    return redirect(request.place.url(url_name, **ids_of))


def sentence(error: HubError) -> str:
    """The message without the field's name, which stands beside it on a page."""
    return error.message.partition(": ")[2] or error.message
