"""Sessions that bind records, arranged with domain functions."""

from typing import Any

from memoryhub.actors import RecordScope
from providers import declared, model_requests, sessions, tool_calls
from providers.bindings import parse_bindings
from providers.models import ToolCall
from providers.principals import Principal
from providers.sessions import WantedSession
from tests.providers.record_desk import RecordDesk
from tests.world import Tenant

ALICE = Principal("idp", "alice")
BOB = Principal("idp", "bob")
READ_WRITE = {"notes": {"scope": "records", "access": "read-write"}}


class RecordSessions:
    """The resource `notes` in the tenant's development environment, and sessions of the agent `default` on it."""

    def __init__(self, tenant: Tenant, policy: str = "allow") -> None:
        self.tenant = tenant
        self.actor = tenant.actor
        self.environment = tenant.development.wire_id
        self.desk = RecordDesk(tenant)
        self.calls = 0
        self.declare(policy)

    def declare(self, policy: str) -> None:
        declared.declare_resource(
            environment=self.environment,
            resource={
                "id": "notes",
                "description": "What was learnt of the user.",
                "provider": {"kind": "records", "memoryWrite": policy},
            },
            connection=None,
            acknowledge_endpoint_change=False,
            actor=self.actor,
        )

    def tenant_scope(self, principal: Principal) -> RecordScope:
        return RecordScope("default", principal.issuer, principal.subject)

    def open(
        self,
        principal: Principal | None = ALICE,
        memory: dict[str, Any] | None = None,
        agent: str | None = None,
        **more: Any,
    ) -> str:
        """A session's id."""
        wanted = WantedSession(
            environment=self.environment,
            agent=agent,
            deployment_id=None,
            bindings=parse_bindings(READ_WRITE if memory is None else memory),
            stores=more.pop("stores", []),
            title="",
            principal=principal,
        )
        return sessions.create_session(wanted, idempotency_key=None, actor=self.actor).session.wire_id

    def recall(
        self, session_id: str, name: str = "r1", text: str | None = "Hello.", **more: Any
    ) -> model_requests.Accepted:
        return model_requests.open_request(
            session_id, client_request_id=name, input_text=text, waits=True, actor=self.actor, **more
        )

    def begin(self, session_id: str, name: str = "r1", text: str | None = "Hello.", **more: Any) -> str:
        """The id of a request that is recalled and has selected."""
        use = more.pop("use", ["notes"])
        request_id = self.recall(session_id, name, text, **more).request.wire_id
        model_requests.select_memory(session_id, request_id, use=use, actor=self.actor)
        return request_id

    def call(
        self, session_id: str, request_id: str, name: str, *, call_id: str | None = None, **arguments: Any
    ) -> ToolCall:
        self.calls += 1
        return tool_calls.call_tool(
            session_id,
            request_id,
            call_id=call_id or f"c{self.calls}",
            name=name,
            arguments=arguments,
            waits=True,
            actor=self.actor,
        )

    def save(self, session_id: str, request_id: str, text: str, **more: Any) -> Any:
        """What the model is told."""
        return self.call(session_id, request_id, "save_memory", text=text, **more).output

    def search(self, session_id: str, request_id: str, query: str, **more: Any) -> ToolCall:
        return self.call(session_id, request_id, "search_memory", query=query, **more)

    def forget(self, session_id: str, request_id: str, record_id: str, **more: Any) -> ToolCall:
        return self.call(session_id, request_id, "forget_memory", id=record_id, **more)
