"""The shape of calls to other services: how each went, without what was said."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.clock import optional_to_wire, to_wire
from providers.models import HttpAttempt, HttpOperation


class HttpAttemptShape(serializers.Serializer[Any]):
    """`event`: what came of it. `delay_seconds`: until the next attempt, null when there is none."""

    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField()
    event = serializers.CharField()
    status = serializers.IntegerField(allow_null=True)
    answer_bytes = serializers.IntegerField(allow_null=True)
    address = serializers.CharField(allow_null=True)
    delay_seconds = serializers.FloatField(allow_null=True)


class HttpOperationShape(serializers.Serializer[Any]):
    """`code`: ok, uncertain, rejected or that of its error; null until it is done."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["http_operation"])
    operation_id = serializers.CharField()
    model_request_id = serializers.CharField()
    tool_call_id = serializers.CharField(allow_null=True)
    resource = serializers.CharField()
    kind = serializers.ChoiceField(choices=["recall", "read", "write"])
    tool = serializers.CharField(allow_null=True)
    idempotent = serializers.BooleanField()
    origin = serializers.CharField()
    state = serializers.ChoiceField(choices=["ready", "sending", "waiting", "done"])
    code = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancelled_at = serializers.DateTimeField(allow_null=True)
    attempts = HttpAttemptShape(many=True)


def http_operation_wire(operation: HttpOperation) -> dict[str, Any]:
    call_id = operation.tool_call_id
    return {
        "id": operation.wire_id,
        "type": "http_operation",
        "operation_id": operation.operation_id,
        "model_request_id": ids.to_wire(ids.MODEL_REQUEST, operation.model_request_id),
        "tool_call_id": None if call_id is None else ids.to_wire(ids.TOOL_CALL, call_id),
        "resource": operation.resource_id,
        "kind": operation.kind,
        "tool": operation.tool or None,
        "idempotent": operation.is_idempotent,
        "origin": operation.origin,
        "state": operation.shown_state,
        "code": operation.code,
        "created_at": to_wire(operation.created_at),
        "started_at": None if operation.is_untaken else optional_to_wire(operation.started_at),
        "deadline_at": None if operation.is_untaken else optional_to_wire(operation.deadline_at),
        "finished_at": optional_to_wire(operation.finished_at),
        "cancelled_at": optional_to_wire(operation.cancelled_at),
        "attempts": [
            _attempt_wire(one) for one in sorted(operation.attempts.all(), key=lambda one: one.number)
        ],
    }


def _attempt_wire(attempt: HttpAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": to_wire(attempt.started_at),
        "finished_at": to_wire(attempt.finished_at),
        "event": attempt.event,
        "status": attempt.status,
        "answer_bytes": attempt.answer_bytes,
        "address": attempt.address,
        "delay_seconds": attempt.delay_seconds,
    }
