"""The shapes of sessions, their events, model requests and tool calls: what a request may hold, and each answer as one dict."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Flag, Integer, JsonObject, Pattern, StrictSerializer, Text
from memoryhub.ground_shapes import PrincipalBody, PrincipalShape
from memoryhub.models import NAME_LENGTH_MAX, Session, SessionEvent
from memoryhub.session_events import EVENTS_AT_ONCE_MAX
from memoryhub.shapes import PageQuery
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.managed_forms import EVENT_TYPE, EVENT_TYPE_LENGTH_MAX, status_of
from providers.model_requests import Accepted, projection_facts
from providers.models import ModelRequest, ToolCall
from providers.offers import SEARCH_MEMORY, OfferedTool
from providers.record_session_models import RecalledItem
from providers.references import item_wire, render_references
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
    principal = PrincipalBody(required=False)


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
    status = serializers.ChoiceField(choices=["running", "terminated"])
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
        "status": status_of(session),
        "created_at": to_wire(session.created_at),
        "created_by": actor_wire(session.created_by_type, session.created_by_id),
        "ended_at": optional_to_wire(session.ended_at),
    }


class SessionAgentShape(serializers.Serializer[Any]):
    """What a worker asks of the agent that it runs tools for; the hub keeps no skills and no tools of one."""

    type = serializers.ChoiceField(choices=["agent"])
    id = serializers.CharField(allow_null=True)
    skills = serializers.ListField(child=serializers.DictField())
    tools = serializers.ListField(child=serializers.DictField())


class SessionShape(SessionItemShape):
    agent_id = serializers.CharField(allow_null=True)
    agent = SessionAgentShape()
    deployment_id = serializers.CharField(allow_null=True)
    principal = PrincipalShape(allow_null=True)
    memory = serializers.ListField(child=serializers.DictField())
    resources = serializers.ListField(child=serializers.DictField())
    system_context = serializers.CharField(allow_null=True)


def session_wire(details: SessionDetails) -> dict[str, Any]:
    deployment = details.deployment
    return session_item_wire(details.session) | {
        "agent_id": deployment.agent_id if deployment else None,
        "agent": {
            "type": "agent",
            "id": deployment.agent_id if deployment else None,
            "skills": [],
            "tools": [],
        },
        "deployment_id": deployment.wire_id if deployment else None,
        "principal": details.principal.to_wire() if details.principal else None,
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
    """One event, or `events`: several, each in the form of Managed Agents."""

    type = Pattern(EVENT_TYPE, length_max=EVENT_TYPE_LENGTH_MAX, required=False)
    data = JsonObject(required=False)  # type: ignore[assignment]
    events = serializers.ListField(
        child=JsonObject(), min_length=1, max_length=EVENTS_AT_ONCE_MAX, required=False
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if ("events" in values) == ("type" in values):
            raise serializers.ValidationError({"type": "Send either a type, or events."})
        if "events" in values and "data" in values:
            raise serializers.ValidationError({"data": "Each of the events brings its own."})
        return values


class ListEventsQuery(StrictSerializer):
    """`page` and `order`: in the form of Managed Agents, where `limit` may be larger than a page is."""

    after = Integer(required=False, min_value=0)
    limit = Integer(required=False, min_value=1, max_value=1_000)
    page = Text(length_max=4_096, required=False)
    order = Choice(choices=["asc", "desc"], required=False)


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
    """`untrusted`: what the model is given holds what others said, such as the result of a tool of the application."""

    text = Text(required=False, allow_null=True)
    untrusted = Flag(required=False)


class OpenRequestBody(StrictSerializer):
    """`principal`: whose input it is, where that is not the session's."""

    client_request_id = Text(length_min=1, length_max=256)
    input = ModelInput(required=False)
    principal = PrincipalBody(required=False)


class ModelRequestItemShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["model_request"])
    client_request_id = serializers.CharField()
    principal = PrincipalShape(allow_null=True)
    state = serializers.ChoiceField(choices=["recalling", "accepted", "recall_failed", "token"])
    selected = serializers.ListField(child=serializers.CharField(), allow_null=True)
    failure = serializers.DictField(allow_null=True)
    created_at = serializers.DateTimeField()
    accepted_at = serializers.DateTimeField(allow_null=True)


class ProjectionShape(serializers.Serializer[Any]):
    text = serializers.CharField(allow_blank=True)
    sources = serializers.ListField(child=serializers.DictField())
    writable = serializers.BooleanField()


class ItemOriginShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    version = serializers.CharField()


class RecalledItemShape(serializers.Serializer[Any]):
    """What belongs into the conversation, untrusted: see `references` beside it."""

    source = serializers.ChoiceField(choices=["memory"])  # type: ignore[assignment]
    trust = serializers.ChoiceField(choices=["untrusted_reference"])
    origin = ItemOriginShape()
    text = serializers.CharField()


class ModelRequestShape(ModelRequestItemShape):
    memory = serializers.DictField(child=ProjectionShape())
    items = RecalledItemShape(many=True)
    references = serializers.CharField(allow_blank=True)


def model_request_wire(accepted: Accepted) -> dict[str, Any]:
    memory = {one.resource_id: projection_facts(one) for one in accepted.projections}
    return request_facts(accepted.request) | {"memory": memory} | _items_wire(accepted.items)


def _items_wire(items: Iterable[RecalledItem]) -> dict[str, Any]:
    """What was forgotten since is not shown."""
    shown = [(one.record_id, one.version, one.text) for one in items if one.text is not None]
    return {
        "items": [item_wire(*one) for one in shown],
        "references": render_references((id_, text) for id_, _, text in shown),
    }


def request_facts(request: ModelRequest) -> dict[str, Any]:
    return {
        "id": request.wire_id,
        "type": "model_request",
        "client_request_id": request.client_request_id,
        "principal": request.principal,
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
    """`is_error` and `output` are null while the call is started, and not done. `items`: the records that a search gave."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["tool_call"])
    call_id = serializers.CharField()
    state = serializers.ChoiceField(choices=["started", "done"])
    is_error = serializers.BooleanField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    items = RecalledItemShape(many=True)
    references = serializers.CharField(allow_blank=True)


def tool_call_wire(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.wire_id,
        "type": "tool_call",
        "call_id": call.call_id,
        "state": call.state,
        "is_error": call.is_error,
        "output": call.output,
    } | _items_wire(_items_of(call))


def _items_of(call: ToolCall) -> list[RecalledItem]:
    """Best first; read with the call."""
    if call.name != SEARCH_MEMORY:
        return []
    return sorted(call.recalled_items.all(), key=lambda item: item.id)
