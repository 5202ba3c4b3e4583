"""The shape of a write that a person decides on."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice
from memoryhub.shapes import PageQuery
from providers.contract import ORIGINS
from providers.record_writes import STATES, ShownWrite
from providers.serializers import environment_name


class ListWritesQuery(PageQuery):
    environment = environment_name(required=False)
    state = Choice(choices=list(STATES), required=False)


class RecordWriteShape(serializers.Serializer[Any]):
    """`text`: what is to be remembered or forgotten, null once it is decided. `outcome`: of an approved one, null until it is known."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["record_write"])
    environment_id = serializers.CharField()
    session_id = serializers.CharField()
    tool_call_id = serializers.CharField()
    resource = serializers.CharField()
    agent = serializers.CharField()
    scope = serializers.CharField()
    tool = serializers.ChoiceField(choices=["save_memory", "forget_memory"])
    origin = serializers.ChoiceField(choices=list(ORIGINS), allow_null=True)
    text = serializers.CharField(allow_null=True)
    title = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    occurred_at = serializers.DateTimeField(allow_null=True)
    record_id = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=list(STATES))
    outcome = serializers.ChoiceField(choices=["done", "failed", "uncertain"], allow_null=True)
    error_code = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.DictField(child=serializers.CharField(), allow_null=True)
    created_at = serializers.DateTimeField()


def record_write_wire(shown: ShownWrite) -> dict[str, Any]:
    write = shown.write
    payload, outcome = write.payload or {}, write.outcome or {}
    record = payload.get("record") or {}
    return {
        "id": write.wire_id,
        "type": "record_write",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, write.scope.environment_id),
        "session_id": write.session.wire_id,
        "tool_call_id": write.tool_call.wire_id,
        "resource": write.tool_call.resource_id,
        "agent": write.scope.agent,
        "scope": write.scope.scope,
        "tool": write.tool,
        "origin": record.get("origin"),
        "text": shown.text,
        "title": record.get("title"),
        "tags": record.get("tags") or [],
        "occurred_at": record.get("occurred_at"),
        "record_id": payload.get("id") or outcome.get("id"),
        "state": write.state,
        "outcome": _outcome_word(write.outcome),
        "error_code": outcome.get("code"),
        "expires_at": to_wire(write.expires_at),
        "decided_at": optional_to_wire(write.decided_at),
        "decided_by": actor_wire(write.decided_by_type, write.decided_by_id),
        "created_at": to_wire(write.created_at),
    }


def _outcome_word(outcome: dict[str, Any] | None) -> str | None:
    if outcome is None:
        return None
    return "uncertain" if "status" in outcome else "failed" if "code" in outcome else "done"
