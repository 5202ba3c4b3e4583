"""The console as one person sees it: signed in, in one environment of one project."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

from django.http import HttpResponse
from django.test import Client

from memoryhub import projects
from memoryhub.models import Membership, Project, User
from tests.world import Tenant

# What differs between two answers to the same question: the request's id, and the mask of the form's token.
_OF_THIS_ANSWER = re.compile(rb'req_[0-9a-f]{32}|name="csrfmiddlewaretoken" value="[^"]+"')

_INPUT = re.compile(r'<input type="(?:hidden|text|number)" name="(\w+)"(?: value="([^"]*)")?')
_AREA = re.compile(r'<textarea name="(\w+)"[^>]*>\r?\n?(.*?)</textarea>', re.DOTALL)


@dataclass(frozen=True)
class Site:
    client: Client
    base: str
    project: Project

    def get(self, path: str = "", **query: str) -> Any:
        return self.client.get(self.base + path, query_params=query)

    def post(self, path: str, form: dict[str, str] | None = None) -> Any:
        return self.client.post(self.base + path, form or {})


def sign_in(user: User, project: Project, environment: str = "development") -> Site:
    client = Client()
    client.force_login(user)
    return Site(client, f"/p/{project.wire_id}/{environment}", project)


def add_person(tenant: Tenant, role: str) -> User:
    email = f"{role}@{tenant.project.name}.example.com"
    user = projects.create_operator(email=email, name=role.capitalize(), password="correct horse battery")
    Membership.objects.create(project=tenant.project, user=user, role=role)
    return user


def lasting(response: HttpResponse) -> bytes:
    """The body without what is of this one answer."""
    return _OF_THIS_ANSWER.sub(b"", response.content)


def words_of(answer: Any) -> str:
    """The body without ids, digests and the tokens of forms, in which a short word may stand by chance."""
    return re.sub(r"[0-9a-f]{32,}", "", lasting(answer).decode())


def form_of(answer: Any) -> dict[str, str]:
    """The fields of the page's form as a browser sends them."""
    shown = answer.content.decode().partition("<main")[2]
    fields = {name: unescape(value) for name, value in _INPUT.findall(shown)}
    areas = {name: re.sub(r"\r\n|\r|\n", "\r\n", unescape(text)) for name, text in _AREA.findall(shown)}
    return {name: value for name, value in (fields | areas).items() if name != "csrfmiddlewaretoken"}
