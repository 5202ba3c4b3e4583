"""The shapes of sessions, their events, model requests and tool calls: what a request may hold, and each answer as one dict."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Integer, JsonObject, Pattern, StrictSerializer, Text
from memoryhub.models import NAME_LENGTH_MAX, Session, SessionEvent
from memoryhub.shapes import PageQuery
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.model_requests import Accepted, projection_facts
from providers.models import ModelRequest, ToolCall
from providers.offers import OfferedTool
from providers.serializers import (
    ENVIRONMENT_LENGTH_MAX,
    environment_name,
)
from providers.sessions import BindingState, SessionDetails
from stores.attachments import attachment_facts, system_context
from stores.limits import INSTRUCTIONS_LENGTH_MAX


class AttachedStoreBody(StrictSerializer):
    type = Choice(choices=["memory_store"])
    memory_store_id = Text(length_max=64)
    access = Choice(choices=["read_only", "read_write"], required=False)
    instructions = Text(length_max=INSTRUCTIONS_LENGTH_MAX, required=False, allow_null=True)


class CreateSessionBody(StrictSerializer):
    environment = environment_name(required=False)
    agent_id = Text(
        length_min=1, length_max=RESOURCE_ID_LENGTH_MAX + ENVIRONMENT_LENGTH_MAX + 1, required=False
    )
    deployment_id = Text(length_max=64, required=False)
    memory = JsonObject(required=False)
    resources = serializers.ListField(child=AttachedStoreBody(), max_length=64, required=False)
    title = Text(length_max=NAME_LENGTH_MAX, plain=True, required=False)


class StartOnDocumentBody(StrictSerializer):
    """A session on one document of one resource; the document is made when it is not there yet."""

    environment = environment_name(required=False)
    resource = Text(length_min=1, length_max=RESOURCE_ID_LENGTH_MAX)
    document_id = Text(length_min=1, length_max=128)
    access = Choice(choices=["read", "read-write"], required=False)
    title = Text(length_min=1, required=False)
    text = Text(required=False)
    summary = Text(required=False)


class ListSessionsQuery(PageQuery):
    environment = environment_name(required=False)
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


class CreatedShape(serializers.Serializer[Any]):
    created = serializers.BooleanField()


class StartedSessionShape(SessionShape):
    document = CreatedShape()
    session = CreatedShape()


def _binding_wire(state: BindingState) -> dict[str, Any]:
    binding = state.binding
    shown: dict[str, Any] = {"resource": binding.resource.resource_id, "scope": binding.scope}
    if binding.target_id:
        shown["id"] = binding.target_id
    shown |= {"access": binding.access, "writable": state.is_writable}
    if binding.namespace is not None:
        shown |= {"namespace": binding.namespace.namespace_id, "partition": binding.namespace.partition}
    return shown | {"revoked_at": optional_to_wire(binding.revoked_at)}


class SessionEventBody(StrictSerializer):
    type = Pattern(r"^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*\Z", length_max=64)
    data = JsonObject(required=False)  # type: ignore[assignment]


class ListEventsQuery(StrictSerializer):
    after = Integer(required=False, min_value=0)
    limit = Integer(required=False, min_value=1, max_value=100)


class StreamEventsQuery(StrictSerializer):
    after = Integer(required=False, min_value=0)


class SessionEventShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["session_event"])
    number = serializers.IntegerField()
    event_type = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    created_at = serializers.DateTimeField()


class SessionEventsShape(serializers.Serializer[Any]):
    """`next_after`: the `after` of the next call, also when there is nothing more yet."""

    data = SessionEventShape(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_after = serializers.IntegerField()


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


class ModelRequestItemShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["model_request"])
    client_request_id = serializers.CharField()
    state = serializers.ChoiceField(choices=["recalling", "accepted", "recall_failed"])
    selected = serializers.ListField(child=serializers.CharField(), allow_null=True)
    failure = serializers.DictField(allow_null=True)
    created_at = serializers.DateTimeField()
    accepted_at = serializers.DateTimeField(allow_null=True)


class ProjectionShape(serializers.Serializer[Any]):
    text = serializers.CharField(allow_blank=True)
    sources = serializers.ListField(child=serializers.DictField())
    writable = serializers.BooleanField()


class ModelRequestShape(ModelRequestItemShape):
    memory = serializers.DictField(child=ProjectionShape())


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
        "failure": request.cause,
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
    """`is_error` and `output` are null while the call is started, and not done."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["tool_call"])
    call_id = serializers.CharField()
    state = serializers.ChoiceField(choices=["started", "done"])
    is_error = serializers.BooleanField(allow_null=True)
    output = serializers.JSONField(allow_null=True)


def tool_call_wire(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.wire_id,
        "type": "tool_call",
        "call_id": call.call_id,
        "state": call.state,
        "is_error": call.is_error,
        "output": call.output,
    }
