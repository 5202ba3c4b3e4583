"""Sessions on the memory of a service that misbehaves, over real sockets, with workers that are threads."""

import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from memoryhub import secrets
from providers import declared, model_requests
from providers.models import HttpAttempt, HttpOperation, ModelRequest, ToolCall
from tests.providers.desk import Desk
from tests.providers.manifests import tool
from tests.providers.misbehaving import Endpoint
from tests.world import Tenant

SECRET = "tok-4f1d9c"
TOOLS = [
    tool("remember"),
    tool("note", idempotent=True),
    tool("search", access="read", description="Search."),
]


class Service(Desk):
    """The resource `knowledge` at an endpoint; `remember` may not be repeated, `note` may, `search` reads."""

    def __init__(self, tenant: Tenant, endpoint: Endpoint) -> None:
        super().__init__(tenant)
        self.endpoint = endpoint
        self.calls = 0
        self.put_secret()
        self.add()

    def put_secret(self, value: str = SECRET, *, origins: list[str] | None = None) -> None:
        secrets.put_secret(
            environment=self.environment,
            name="MEMORY_TOKEN",
            agent_id="",
            value=value,
            allowed_origins=[self.endpoint.origin] if origins is None else origins,
            actor=self.actor,
        )

    def add(self, resource_id: str = "knowledge", endpoint: Endpoint | None = None, **provider: Any) -> None:
        connection = {
            "id": f"to-{resource_id}",
            "origin": (endpoint or self.endpoint).origin,
            "methods": ["POST"],
            "headers": {"Authorization": {"secret": "MEMORY_TOKEN", "prefix": "Bearer "}},
        }
        declared.declare_resource(
            environment=self.environment,
            resource={
                "id": resource_id,
                "description": "What is known.",
                "provider": {"kind": "http", "connection": connection["id"], "tools": TOOLS} | provider,
            },
            connection=connection,
            acknowledge_endpoint_change=True,
            actor=self.actor,
        )

    def open(self, memory: dict[str, Any] | None = None, **more: Any) -> str:
        bound = {"knowledge": {"scope": "namespace", "id": "tenant-17", "access": "read-write"}}
        return super().open(bound if memory is None else memory, **more)

    def begin(self, session_id: str, client_request_id: str = "r1", use: list[str] | None = None) -> str:
        return super().begin(session_id, client_request_id, ["knowledge"] if use is None else use)

    def use(self, tool_name: str, *, session_id: str | None = None, fact: str = "It rains.") -> ToolCall:
        """A call of a tool in a request of its own; what stood in the script meets the call, not the recall."""
        script, self.endpoint.script = self.endpoint.script, []
        session_id = session_id or self.open()
        self.calls += 1
        request_id = self.begin(session_id, f"r{self.calls}")
        self.endpoint.exchanges.clear()
        self.endpoint.script = script
        return self.call(session_id, request_id, f"memory_{tool_name}", fact=fact)

    def operations(self) -> list[HttpOperation]:
        """Newest first."""
        return list(HttpOperation.objects.filter(project_id=self.actor.project_id).order_by("-id"))

    def attempts(self) -> list[HttpAttempt]:
        """Of the newest operation."""
        return list(self.operations()[0].attempts.order_by("number"))


def open_unwaited(service: Service, session_id: str, name: str = "r1") -> ModelRequest:
    return model_requests.open_request(
        session_id, client_request_id=name, input_text=None, waits=False, actor=service.actor
    ).request


def in_thread[T](work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connection.close()


def wait_until(is_true: Callable[[], bool], *, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)
