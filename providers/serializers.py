"""The shapes of declared memory, documents and sessions: what a request may hold, and each answer as one dict."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Flag, Integer, JsonObject, StrictSerializer, Text
from memoryhub.models import NAME_LENGTH_MAX, Session, SessionEvent
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.shapes import PageQuery
from providers.deployments import Promoted, endpoint_change_facts
from providers.documents import Document
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.model_requests import Accepted, projection_facts
from providers.models import Deployment, ModelRequest, Namespace, Resource, ToolCall
from providers.offers import OfferedTool
from providers.sessions import BindingState, SessionDetails
from stores.attachments import attachment_facts, system_context
from stores.limits import INSTRUCTIONS_LENGTH_MAX

ENVIRONMENT_LENGTH_MAX = 64


def _environment(**options: Any) -> Text:
    return Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, **options)


def list_request(kind: str, query: dict[str, Any], filters: dict[str, Any]) -> ListRequest:
    return ListRequest(kind, filters, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page"))


class EnvironmentQuery(StrictSerializer):
    environment = _environment()


class EnvironmentPageQuery(PageQuery):
    environment = _environment()


class CreateDeploymentBody(StrictSerializer):
    agent_id = serializers.RegexField(r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z", max_length=RESOURCE_ID_LENGTH_MAX)
    manifest = JsonObject()


class ListDeploymentsQuery(PageQuery):
    agent_id = Text(required=False, length_max=RESOURCE_ID_LENGTH_MAX)


class PromoteBody(StrictSerializer):
    may_be_absent = True
    environment = _environment(required=False)
    acknowledge_endpoint_change = serializers.ListField(
        child=Text(length_max=RESOURCE_ID_LENGTH_MAX), max_length=256, required=False
    )


class DeploymentShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["deployment"])
    agent_id = serializers.CharField()
    manifest = serializers.DictField()
    manifest_sha256 = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())


def deployment_wire(deployment: Deployment) -> dict[str, Any]:
    return {
        "id": deployment.wire_id,
        "type": "deployment",
        "agent_id": deployment.agent_id,
        "manifest": deployment.manifest,
        "manifest_sha256": deployment.manifest_sha256,
        "warnings": deployment.warnings,
        "created_at": to_wire(deployment.created_at),
        "created_by": actor_wire(deployment.created_by_type, deployment.created_by_id),
    }


class PromotionShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["promotion"])
    deployment_id = serializers.CharField()
    agent_id = serializers.CharField()
    environment_id = serializers.CharField()
    changed_endpoints = serializers.ListField(child=serializers.DictField())
    created_at = serializers.DateTimeField()


def promotion_wire(promoted: Promoted) -> dict[str, Any]:
    return {
        "type": "promotion",
        "deployment_id": promoted.deployment.wire_id,
        "agent_id": promoted.deployment.agent_id,
        "environment_id": ids.to_wire(ids.ENVIRONMENT, promoted.environment_id),
        "changed_endpoints": [endpoint_change_facts(one) for one in promoted.changed_endpoints],
        "created_at": to_wire(promoted.promotion.created_at),
    }


class DeclareResourceBody(StrictSerializer):
    environment = _environment(required=False)
    resource = JsonObject()
    connection = JsonObject(required=False)
    acknowledge_endpoint_change = Flag(required=False)


class ResourceShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_resource"])
    environment_id = serializers.CharField()
    kind = serializers.ChoiceField(choices=["document", "http"])
    description = serializers.CharField()
    provider = serializers.DictField()
    declared = serializers.BooleanField()
    documents = serializers.IntegerField(allow_null=True)
    memory_store_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


def resource_wire(resource: Resource, *, is_declared: bool, documents: int | None) -> dict[str, Any]:
    """`documents`: how many are not deleted; None of a resource of another kind."""
    store_id = resource.store_id
    return {
        "id": resource.resource_id,
        "type": "memory_resource",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, resource.environment_id),
        "kind": resource.kind,
        "description": resource.description,
        "provider": _provider_wire(resource.provider),
        "declared": is_declared,
        "documents": documents,
        "memory_store_id": None if store_id is None else ids.to_wire(ids.MEMORY_STORE, store_id),
        "created_at": to_wire(resource.created_at),
        "updated_at": to_wire(resource.updated_at),
    }


def _provider_wire(provider: dict[str, Any]) -> dict[str, Any]:
    """Without the schemas and descriptions of its tools; headers are never kept here."""
    shown = {key: value for key, value in provider.items() if key != "tools"}
    if "tools" in provider:
        shown["tools"] = [
            {key: tool[key] for key in ("name", "access", "idempotent")} for tool in provider["tools"]
        ]
    return shown


class NamespaceShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["namespace"])
    resource = serializers.CharField()
    partition = serializers.CharField()
    created_at = serializers.DateTimeField()


def namespace_wire(namespace: Namespace, resource: Resource) -> dict[str, Any]:
    return {
        "id": namespace.namespace_id,
        "type": "namespace",
        "resource": resource.resource_id,
        "partition": namespace.partition,
        "created_at": to_wire(namespace.created_at),
    }


class PutDocumentBody(StrictSerializer):
    """`title` and `agent_writes` are of a new document; a replaced one keeps its own."""

    title = Text(required=False, length_min=1)
    text = Text(required=False)
    summary = Text(required=False)
    agent_writes = Choice(choices=["enabled", "disabled"], required=False)


class UpdateDocumentBody(StrictSerializer):
    title = Text(required=False, length_min=1)
    agent_writes = Choice(choices=["enabled", "disabled"], required=False)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values:
            raise serializers.ValidationError("Give title, agent_writes or both.")
        return values


class ExportQuery(EnvironmentQuery):
    resource = Text(required=False)


class DocumentItemShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_document"])
    title = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    agent_writes = serializers.ChoiceField(choices=["enabled", "disabled"])
    revision = serializers.CharField()
    bytes = serializers.IntegerField()
    max_bytes = serializers.IntegerField()
    updated_at = serializers.DateTimeField()
    writer = serializers.DictField(child=serializers.CharField())


class DocumentShape(DocumentItemShape):
    text = serializers.CharField(allow_blank=True)


def document_item_wire(document: Document) -> dict[str, Any]:
    card, head = document.card, document.memory.head
    return {
        "id": document.id,
        "type": "memory_document",
        "title": card.title,
        "summary": card.summary,
        "agent_writes": "enabled" if card.agent_writes else "disabled",
        "revision": document.revision,
        "bytes": document.memory.content_size_bytes,
        "max_bytes": document.bytes_max,
        "updated_at": to_wire(document.memory.updated_at),
        "writer": _writer_wire(head.created_by_type, head.created_by_id),
    }


def _writer_wire(actor_type: str, actor_id: str) -> dict[str, str]:
    if actor_type == "session_actor":
        return {"kind": "agent", "session_id": actor_id}
    return {"kind": "owner"}


def document_wire(document: Document) -> dict[str, Any]:
    item = document_item_wire(document)
    return {
        "id": item.pop("id"),
        "type": item.pop("type"),
        "title": item.pop("title"),
        "text": document.text,
    } | item


class AttachedStoreBody(StrictSerializer):
    type = Choice(choices=["memory_store"])
    memory_store_id = Text(length_max=64)
    access = Choice(choices=["read_only", "read_write"], required=False)
    instructions = Text(length_max=INSTRUCTIONS_LENGTH_MAX, required=False, allow_null=True)


class CreateSessionBody(StrictSerializer):
    environment = _environment(required=False)
    agent_id = Text(
        length_min=1, length_max=RESOURCE_ID_LENGTH_MAX + ENVIRONMENT_LENGTH_MAX + 1, required=False
    )
    deployment_id = Text(length_max=64, required=False)
    memory = JsonObject(required=False)
    resources = serializers.ListField(child=AttachedStoreBody(), max_length=64, required=False)
    title = Text(length_max=NAME_LENGTH_MAX, plain=True, required=False)


class StartOnDocumentBody(StrictSerializer):
    """A session on one document of one resource; the document is made when it is not there yet."""

    environment = _environment(required=False)
    resource = Text(length_min=1, length_max=RESOURCE_ID_LENGTH_MAX)
    document_id = Text(length_min=1, length_max=128)
    access = Choice(choices=["read", "read-write"], required=False)
    title = Text(length_min=1, required=False)
    text = Text(required=False)
    summary = Text(required=False)


class ListSessionsQuery(PageQuery):
    environment = _environment(required=False)
    state = Choice(choices=["live", "ended"], required=False)
    memory_store_id = Text(length_max=64, required=False)


class SessionItemShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["session"])
    environment_id = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=["live", "ended"])
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())
    ended_at = serializers.DateTimeField(allow_null=True)


def session_item_wire(session: Session) -> dict[str, Any]:
    return {
        "id": session.wire_id,
        "type": "session",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, session.environment_id),
        "title": session.title,
        "state": "live" if session.ended_at is None else "ended",
        "created_at": to_wire(session.created_at),
        "created_by": actor_wire(session.created_by_type, session.created_by_id),
        "ended_at": optional_to_wire(session.ended_at),
    }


class SessionShape(SessionItemShape):
    agent_id = serializers.CharField(allow_null=True)
    deployment_id = serializers.CharField(allow_null=True)
    memory = serializers.ListField(child=serializers.DictField())
    resources = serializers.ListField(child=serializers.DictField())
    system_context = serializers.CharField(allow_null=True)


def session_wire(details: SessionDetails) -> dict[str, Any]:
    deployment = details.deployment
    return session_item_wire(details.session) | {
        "agent_id": deployment.agent_id if deployment else None,
        "deployment_id": deployment.wire_id if deployment else None,
        "memory": [_binding_wire(one) for one in details.bindings],
        "resources": [attachment_facts(one) for one in details.attachments],
        "system_context": system_context(details.attachments),
    }


def _binding_wire(state: BindingState) -> dict[str, Any]:
    binding = state.binding
    shown: dict[str, Any] = {"resource": binding.resource.resource_id, "scope": binding.scope}
    if binding.target_id:
        shown["id"] = binding.target_id
    shown |= {"access": binding.access, "writable": state.is_writable}
    if binding.namespace is not None:
        shown |= {"namespace": binding.namespace.namespace_id, "partition": binding.namespace.partition}
    return shown | {"revoked_at": optional_to_wire(binding.revoked_at)}


class EventBody(StrictSerializer):
    type = serializers.RegexField(r"^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*\Z", max_length=64)
    data = JsonObject(required=False)


class ListEventsQuery(StrictSerializer):
    after = Integer(required=False, min_value=0)
    limit = Integer(required=False, min_value=1, max_value=100)


class StreamEventsQuery(StrictSerializer):
    after = Integer(required=False, min_value=0)


class EventShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["session_event"])
    number = serializers.IntegerField()
    event_type = serializers.CharField()
    data = serializers.DictField()
    created_at = serializers.DateTimeField()


def event_wire(event: SessionEvent) -> dict[str, Any]:
    return {
        "id": event.wire_id,
        "type": "session_event",
        "number": event.number,
        "event_type": event.type,
        "data": event.data,
        "created_at": to_wire(event.created_at),
    }


class ModelInput(StrictSerializer):
    text = Text(required=False, allow_null=True)


class OpenRequestBody(StrictSerializer):
    client_request_id = Text(length_min=1, length_max=256)
    input = ModelInput(required=False)


class ModelRequestShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["model_request"])
    client_request_id = serializers.CharField()
    state = serializers.ChoiceField(choices=["recalling", "accepted", "recall_failed"])
    memory = serializers.DictField(child=serializers.DictField())
    created_at = serializers.DateTimeField()
    accepted_at = serializers.DateTimeField(allow_null=True)


def model_request_wire(accepted: Accepted) -> dict[str, Any]:
    return request_facts(accepted.request) | {
        "memory": {one.resource_id: projection_facts(one) for one in accepted.projections}
    }


def request_facts(request: ModelRequest) -> dict[str, Any]:
    return {
        "id": request.wire_id,
        "type": "model_request",
        "client_request_id": request.client_request_id,
        "state": request.state,
        "selected": request.selected,
        "created_at": to_wire(request.created_at),
        "accepted_at": optional_to_wire(request.accepted_at),
    }


class SelectBody(StrictSerializer):
    use = serializers.ListField(child=Text(length_max=RESOURCE_ID_LENGTH_MAX), max_length=64)


class OfferedToolsShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["memory_selection"])
    use = serializers.ListField(child=serializers.CharField())
    tools = serializers.ListField(child=serializers.DictField())


def selection_wire(use: list[str], tools: dict[str, OfferedTool]) -> dict[str, Any]:
    return {
        "type": "memory_selection",
        "use": sorted(set(use)),
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in tools.values()
        ],
    }


class ToolCallBody(StrictSerializer):
    call_id = Text(length_min=1, length_max=256)
    name = Text(length_min=1, length_max=64)
    arguments = JsonObject()


class ToolCallShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["tool_call"])
    call_id = serializers.CharField()
    is_error = serializers.BooleanField()
    output = serializers.JSONField()


def tool_call_wire(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.wire_id,
        "type": "tool_call",
        "call_id": call.call_id,
        "is_error": call.is_error,
        "output": call.output,
    }
