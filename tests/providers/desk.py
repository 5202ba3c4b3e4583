"""A resource with documents and sessions on it, arranged with domain functions."""

from typing import Any

from providers import declared, documents, model_requests, sessions, tool_calls
from providers.bindings import parse_bindings
from providers.documents import Document
from providers.model_requests import Accepted
from providers.models import ToolCall
from providers.sessions import WantedSession
from tests.world import Tenant


class Desk:
    """In the tenant's development environment; everything is done by its owner."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.actor = tenant.actor
        self.environment = tenant.development.wire_id

    def declare(self, resource_id: str = "playbook", **provider: Any) -> None:
        declared.declare_resource(
            environment=self.environment,
            resource={
                "id": resource_id,
                "description": "How we work.",
                "provider": {"kind": "document"} | provider,
            },
            connection=None,
            acknowledge_endpoint_change=False,
            actor=self.actor,
        )

    def put(self, document_id: str = "team-a", text: str = "Deploy before noon.", **more: Any) -> Document:
        card = {"title": "Team A", "summary": "", "agent_writes": True} | more
        resource_id = card.pop("resource_id", "playbook")
        return documents.create_document(
            self.environment, resource_id, document_id, text=text, **card, actor=self.actor
        )

    def get(self, document_id: str = "team-a", resource_id: str = "playbook") -> Document:
        return documents.get_document(self.environment, resource_id, document_id, actor=self.actor)

    def replace(self, text: str, document_id: str = "team-a") -> Document:
        return documents.replace_document(
            self.environment,
            "playbook",
            document_id,
            text=text,
            summary=None,
            expected_revision=self.get(document_id).revision,
            actor=self.actor,
        )

    def freeze(self, document_id: str = "team-a", *, frozen: bool = True) -> Document:
        return documents.change_card(
            self.environment,
            "playbook",
            document_id,
            title=None,
            agent_writes=not frozen,
            expected_revision=self.get(document_id).revision,
            actor=self.actor,
        )

    def open(self, memory: dict[str, Any] | None = None, **more: Any) -> str:
        """A session's id; on `team-a` of `playbook` to read and write unless said otherwise."""
        bound = {"playbook": {"scope": "document", "id": "team-a", "access": "read-write"}}
        wanted = WantedSession(
            environment=self.environment,
            agent=None,
            deployment_id=None,
            bindings=parse_bindings(bound if memory is None else memory),
            stores=more.pop("stores", []),
            title="",
        )
        key = more.pop("idempotency_key", None)
        return sessions.create_session(wanted, idempotency_key=key, actor=self.actor).session.wire_id

    def recall(self, session_id: str, client_request_id: str = "r1") -> Accepted:
        return model_requests.open_request(
            session_id,
            client_request_id=client_request_id,
            input_text=None,
            waits=True,
            actor=self.actor,
        )

    def begin(self, session_id: str, client_request_id: str = "r1", use: list[str] | None = None) -> str:
        """The id of a request that is recalled and has selected."""
        request_id = self.recall(session_id, client_request_id).request.wire_id
        used = ["playbook"] if use is None else use
        model_requests.select_memory(session_id, request_id, use=used, actor=self.actor)
        return request_id

    def call(
        self, session_id: str, request_id: str, name: str, call_id: str = "c1", **arguments: Any
    ) -> ToolCall:
        return tool_calls.call_tool(
            session_id,
            request_id,
            call_id=call_id,
            name=name,
            arguments=arguments,
            waits=True,
            actor=self.actor,
        )

    def save(self, session_id: str, request_id: str, text: str, call_id: str = "c1", **more: Any) -> Any:
        """What the model is told."""
        return self.call(session_id, request_id, "memory_save", call_id, text=text, **more).output
