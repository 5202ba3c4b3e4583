"""A test world of three people: the owner, a colleague in another environment, and a stranger with another project.

Arranged with domain functions; the doors are for acting.
"""

import json
import uuid
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.test import Client

from memoryhub import environments, keys, projects
from memoryhub.actors import Actor, RecordScope
from memoryhub.models import Environment, Project, User
from tests.answers import Answer


class Caller:
    """Calls the API in this process with one key."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Answer:
        sent = (
            raw if raw is not None else b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        )
        response = self.client.generic(
            method,
            path,
            sent,
            content_type=content_type,
            headers={"Authorization": f"Bearer {self.key}", **(headers or {})},
            query_params=query,
        )
        content = b"".join(response.streaming_content) if response.streaming else response.content
        return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, content)


@dataclass(frozen=True)
class Tenant:
    """One project with two environments, its owner, and an admin key in each environment."""

    project: Project
    owner: User
    development: Environment
    production: Environment
    key: str
    production_key: str
    actor: Actor

    def new_key(
        self,
        *scopes: str,
        environment: Environment | None = None,
        stores: Any = None,
        record_scope: RecordScope | None = None,
        whole: bool = False,
    ) -> str:
        named = None if whole else (environment or self.development).wire_id
        return keys.create_key(
            environment=named,
            name="test",
            scopes=list(scopes),
            stores=stores,
            record_scope=record_scope,
            actor=self.actor,
        ).secret

    def call(self) -> Caller:
        return Caller(self.key)

    def caller(self, *scopes: str, **options: Any) -> Caller:
        return Caller(self.new_key(*scopes, **options))


def make_tenant(name: str | None = None) -> Tenant:
    name = name or f"test-{uuid.uuid4().hex[:12]}"
    owner = projects.create_operator(
        email=f"{name}@example.com", name="Owner", password="correct horse battery"
    )
    project = projects.create_project(name=name, owner=owner)
    actor = projects.owner_actor(project, owner)
    by_name = {environment.name: environment for environment in environments.list_environments(actor=actor)}
    development, production = by_name["development"], by_name["production"]
    issued = [
        keys.create_key(environment=environment.name, name="admin", scopes=["admin"], actor=actor).secret
        for environment in (development, production)
    ]
    return Tenant(project, owner, development, production, issued[0], issued[1], actor)


def unused_id(prefix: str) -> str:
    return f"{prefix}_{UUID(int=0x0192F00000007000800000000000BEEF).hex}"
