"""Other services of the example project: calls in each state with their attempts, and an endpoint that other hosts write in."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.db.transaction import atomic
from django.test import override_settings
from django.utils import timezone

from memoryhub import ids
from memoryhub.actors import Actor
from providers import endpoint_calls, endpoints, model_requests, sessions, settlements, tool_calls
from providers.bindings import parse_bindings
from providers.endpoint_calls import Incoming
from providers.endpoint_models import ExternalItem, ExternalPartition
from providers.models import HttpAttempt, HttpOperation
from providers.retries import Event
from providers.sessions import WantedSession
from providers.settlements import UNCERTAIN, Settlement

type Attempted = tuple[
    Event, int | None, int, float | None
]  # (event, status, milliseconds, seconds of the pause after it)

NO_ANSWER: Attempted = (Event.TRANSPORT_FAILED, None, 340, None)
BUSY: list[Attempted] = [(Event.BUSY, 503, 61, 0.25), (Event.BUSY, 503, 58, 1.0), (Event.BUSY, 503, 66, None)]
RECOVERED: list[Attempted] = [(Event.BUSY, 503, 61, 0.25), (Event.SUCCEEDED, 200, 88, None)]
EXHAUSTED = {
    "error": {"code": "retries_exhausted", "message": "Every attempt failed.", "details": {"attempts": 3}}
}


def call_services(
    known: dict[str, list[str]],
    agent: str,
    resource_id: str,
    text: str,
    actor: Actor,
    *,
    code: str = "not_found",
) -> None:
    """`known`: ids of one example, to which these are added. A recall that recovered, a call in doubt, a refused one, a
    recall that failed, one that waits. `agent`: `agent_id@environment`. `text`, `code`: what the service gives, says and refuses with.
    """
    with override_settings(PARTITION_KEY=bytes(32)):
        session_id = _open(agent, resource_id, actor)
    request_id = _ask(session_id, "turn-1", actor)
    recalled = {"text": text, "sources": [{"id": text[:60], "title": text[:60]}], "cursor": "c-1"}
    recall = _finish(session_id, RECOVERED, Settlement("ok", recalled, is_error=False))
    model_requests.select_memory(session_id, request_id, use=[resource_id], actor=actor)
    _call(session_id, request_id, "call-1", text, actor)
    doubtful = _finish(session_id, [NO_ANSWER], Settlement("uncertain", UNCERTAIN, is_error=False))
    _call(session_id, request_id, "call-2", text, actor)
    refusal = {"error": {"code": code[:60], "message": text}}
    refused = _finish(
        session_id, [(Event.REFUSED, 404, 40, None)], Settlement(code[:60], refusal, is_error=True)
    )
    _ask(session_id, "turn-2", actor)
    failed = _finish(session_id, BUSY, Settlement("retries_exhausted", EXHAUSTED, is_error=True))
    _ask(session_id, "turn-3", actor)
    waiting = _unfinished(session_id)
    calls = [recall, doubtful, refused, failed, waiting]
    known.setdefault("operation_id", []).extend(one.wire_id for one in calls)
    known.setdefault("session_id", []).append(session_id)
    known |= {"calling session_id": [session_id], "calling request_id": [request_id]}


def _open(agent: str, resource_id: str, actor: Actor) -> str:
    bound = {resource_id: {"scope": "namespace", "id": "brandt-marine", "access": "read-write"}}
    wanted = WantedSession(None, agent, None, parse_bindings(bound), [], "Brandt Marine: engine parts")
    return sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id


def _ask(session_id: str, name: str, actor: Actor) -> str:
    asked = model_requests.open_request(
        session_id, client_request_id=name, input_text=None, waits=False, actor=actor
    )
    return asked.request.wire_id


def _call(session_id: str, request_id: str, call_id: str, text: str, actor: Actor) -> None:
    tool_calls.call_tool(
        session_id,
        request_id,
        call_id=call_id,
        name="memory_remember",
        arguments={"fact": text[:1_000]},
        waits=False,
        actor=actor,
    )


def _unfinished(session_id: str) -> HttpOperation:
    key = ids.from_wire(ids.SESSION, session_id)
    assert key is not None
    held = HttpOperation.objects.filter(session_id=key).exclude(state="done")
    return held.select_related("session", "model_request", "tool_call").get()


def _finish(session_id: str, attempts: list[Attempted], settlement: Settlement) -> HttpOperation:
    """As a worker would have."""
    operation = _unfinished(session_id)
    took = sum(milliseconds + (pause or 0) * 1_000 for _, _, milliseconds, pause in attempts)
    began = timezone.now() - timedelta(milliseconds=took)
    operation.started_at, operation.attempt = began, len(attempts)
    operation.save(update_fields=["started_at", "attempt"])
    for number, attempt in enumerate(attempts, start=1):
        began = _add_attempt(operation, number, began, attempt)
    with atomic():
        settlements.settle(operation, settlement)
    return operation


def _add_attempt(operation: HttpOperation, number: int, began: datetime, attempt: Attempted) -> datetime:
    """When the next one begins."""
    event, status, milliseconds, pause = attempt
    ended = began + timedelta(milliseconds=milliseconds)
    HttpAttempt.objects.create(
        project_id=operation.project_id,
        operation=operation,
        number=number,
        started_at=began,
        finished_at=ended,
        event=event,
        status=status,
        answer_bytes=None if status is None else 214,
        address="203.0.113.9",
        delay_seconds=pause,
    )
    return ended + timedelta(seconds=pause or 0)


def keep_for_hosts(known: dict[str, list[str]], environment: str, name: str, text: str, actor: Actor) -> None:
    """An endpoint with a live and a revoked credential, and a partition with records and conversations."""
    endpoint_id = endpoints.create_endpoint(
        environment=environment, name=name, bytes_max=8_192, retention_days=365, actor=actor
    ).wire_id
    old = endpoints.create_credential(endpoint_id, name=name, scope="memory", actor=actor).credential
    endpoints.revoke_credential(endpoint_id, old.wire_id, actor=actor)
    issued = endpoints.create_credential(endpoint_id, name=name, scope="memory", actor=actor)
    record_id = _remember(endpoint_id, issued.token, text)
    partition = ExternalPartition.objects.get(endpoint__id=issued.credential.endpoint_id)
    ExternalItem.objects.create(project_id=partition.project_id, partition=partition, role="user", text=text)
    known |= {
        "endpoint_id": [endpoint_id],
        "credential_id": [issued.credential.wire_id, old.wire_id],
        "partition_id": [partition.wire_id],
        "record_id": [record_id],
    }


def keep_at_provider(
    known: dict[str, list[str]], environment: str, name: str, text: str, actor: Actor
) -> None:
    """An endpoint over the memory provider, and a partition whose record stands among the records."""
    made = endpoints.create_endpoint(
        environment=environment,
        name=name,
        bytes_max=8_192,
        retention_days=365,
        backing="provider",
        actor=actor,
    )
    issued = endpoints.create_credential(made.wire_id, name=name, scope="memory", actor=actor)
    _remember(made.wire_id, issued.token, text)
    partition = ExternalPartition.objects.get(endpoint=made)
    known |= {
        "provider endpoint_id": [made.wire_id],
        "provider partition_id": [partition.wire_id],
    }


def _remember(endpoint_id: str, token: str, text: str) -> str:
    call: dict[str, Any] = {
        "version": 1,
        "operation": "tool",
        "operationId": "1",
        "partition": "k1.brandt-marine",
        "access": "read-write",
        "deadlineAt": "2126-01-01T00:00:00Z",
        "tool": "remember",
        "arguments": {"fact": text[:2_000]},
    }
    answer = endpoint_calls.answer_call(
        endpoint_id, Incoming(f"Bearer {token}", "application/json", json.dumps(call).encode())
    )
    return str(json.loads(answer.body)["result"]["id"])
