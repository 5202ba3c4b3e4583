"""What is asked of endpoints: the rows of operations, made in the transaction that needs them, and their bytes.

Source: contract of document and HTTP memory, sections 10.1 to 10.3. The ten seconds begin when a worker takes an operation, so
its bytes, which name the deadline, are made then, once, and are the same in every attempt.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from memoryhub import jobs
from memoryhub.clock import to_wire_milliseconds
from memoryhub.columns import ClockTimestamp
from memoryhub.kept_queries import insert_row, together
from memoryhub.models import Session
from providers.declarations import HttpProvider, HttpTool, Manifest
from providers.handovers import hand_over
from providers.limits import BODY_BYTES_MAX, BUDGET_SECONDS
from providers.models import Binding, HttpOperation, ModelRequest, Projection, ToolCall
from providers.places import DONE, READY, ask_place
from providers.retries import Kind
from providers.schemas import RESERVED_ARGUMENT

RUN, SEND_RECALL = "providers.run_http_operation", "providers.send_recall"


def add_recalls(
    session: Session, request: ModelRequest, bindings: Iterable[Binding], manifest: Manifest
) -> list[HttpOperation]:
    """A step: one operation for each binding of a namespace, handed over to a worker where there is a place in the air."""
    operations = [
        _operation(
            session,
            request,
            binding,
            manifest,
            operation_id=f"{request.wire_id}:{binding.resource.resource_id}",
            round=request.round,
            kind=Kind.RECALL,
            is_idempotent=True,
        )
        for binding in bindings
        if binding.scope == "namespace"
    ]
    for operation in sorted(operations, key=lambda one: (one.origin, one.resource_id)):
        with together():
            place = ask_place(operation.origin, session.id)
        here = place()
        if here.is_free and begin(operation, manifest, now=here.now):
            hand_over(operation)
        insert_row(operation)
        jobs.enqueue_or_run(SEND_RECALL if operation.is_untaken else RUN, operation.wire_id)
    return operations


def add_tool_call(
    session: Session, call: ToolCall, binding: Binding, manifest: Manifest, tool: str
) -> HttpOperation:
    """A step: the call's row is there."""
    declared = find_tool(http_provider(manifest, binding.resource.resource_id), tool)
    operation = _operation(
        session,
        call.model_request,
        binding,
        manifest,
        operation_id=f"{call.wire_id}:{binding.resource.resource_id}",
        round=1,
        kind=Kind.READ if declared.access == "read" else Kind.WRITE,
        is_idempotent=declared.idempotent,
        tool=declared.name,
        tool_call=call,
    )
    insert_row(operation)
    jobs.enqueue_or_run(RUN, operation.wire_id)
    return operation


def _operation(
    session: Session, request: ModelRequest, binding: Binding, manifest: Manifest, **facts: Any
) -> HttpOperation:
    connection = manifest.connections[http_provider(manifest, binding.resource.resource_id).connection]
    return HttpOperation(
        project_id=session.project_id,
        environment_id=session.environment_id,
        session=session,
        model_request=request,
        binding=binding,
        resource_id=binding.resource.resource_id,
        origin=connection.origin,
        state=READY,
        **facts,
    )


def http_provider(manifest: Manifest, resource_id: str) -> HttpProvider:
    provider = manifest.resources[resource_id].provider
    assert isinstance(provider, HttpProvider)
    return provider


def find_tool(provider: HttpProvider, name: str) -> HttpTool:
    return next(tool for tool in provider.tools if tool.name == name)


def begin(operation: HttpOperation, manifest: Manifest, *, now: datetime) -> bool:
    """A step, before the row is written: its ten seconds begin, and its bytes are made once; False when there are too many."""
    provider = http_provider(manifest, operation.resource_id)
    deadline_at = now + timedelta(seconds=BUDGET_SECONDS)
    body = build_body(operation, provider, deadline_at=deadline_at)
    if len(body) > BODY_BYTES_MAX:
        return False
    operation.started_at, operation.deadline_at, operation.body = now, deadline_at, body
    return True


def build_body(operation: HttpOperation, provider: HttpProvider, *, deadline_at: datetime) -> bytes:
    """Compact UTF-8 JSON."""
    binding = operation.binding
    assert binding.namespace is not None
    request: dict[str, Any] = {
        "version": 1,
        "operation": "recall" if operation.kind == Kind.RECALL else "tool",
        "operationId": operation.operation_id,
        "partition": binding.namespace.partition,
        "access": binding.access,
        "deadlineAt": to_wire_milliseconds(deadline_at),
    }
    if operation.kind == Kind.RECALL:
        request |= {
            "input": {"text": operation.model_request.input_text},
            "maxBytes": provider.bytes_max,
        }
    else:
        request |= _tool_fields(operation)
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def _tool_fields(operation: HttpOperation) -> dict[str, Any]:
    """Every call of a model request carries the cursor of its recall; without one the field is left out."""
    assert operation.tool_call is not None
    arguments = operation.tool_call.arguments or {}
    fields: dict[str, Any] = {
        "tool": operation.tool,
        "arguments": {key: value for key, value in arguments.items() if key != RESERVED_ARGUMENT},
    }
    projection = Projection.objects.get(
        model_request_id=operation.model_request_id, resource_id=operation.resource_id
    )
    return fields if projection.cursor is None else fields | {"cursor": projection.cursor}


def clear_expired(*, bodies_hours: int, operations_days: int) -> None:
    """Bodies hold what people wrote, so they go first; then the operations with their attempts."""
    done = HttpOperation.objects.filter(state=DONE)
    now = ClockTimestamp()
    done.exclude(body=None).filter(finished_at__lt=now - timedelta(hours=bodies_hours)).update(body=None)
    done.filter(finished_at__lt=now - timedelta(days=operations_days)).delete()
