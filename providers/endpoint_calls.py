"""An endpoint answers a host: the checks in the contract's order, and each write at most once.

Source: contract of document and HTTP memory, sections 13.1 to 13.5. A write in a partition here, its record of having been done and its
answer are one transaction; writes of one partition pass its lock, so the same operation sent twenty times at once is done once. Of an
endpoint whose records a memory provider keeps `endpoint_records` says how.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import ids, jobs
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import are_equal
from memoryhub.errors import RateLimited, Unavailable
from memoryhub.rows import find_row
from memoryhub.throttles import count_request
from memoryhub.tokens import token_sha256
from providers import endpoint_erasures, endpoint_records
from providers.endpoint_models import (
    Endpoint,
    EndpointCredential,
    EndpointOperation,
    ExternalItem,
    ExternalPartition,
)
from providers.endpoint_operations import (
    answer_again,
    bound_statements,
    find_operation,
    find_partition,
    lock_partition,
    refusing_late,
    require_writable,
)
from providers.endpoint_tools import TOOLS, OwnTool, Tool, recall
from providers.endpoint_wire import Answer, Refusal, WireRequest, encode, read_request, refused
from providers.limits import BODY_BYTES_MAX, REPLAY_HOURS
from providers.schemas import find_argument_problems

_CREDENTIAL = re.compile(r"mhe_([0-9a-f]{32})_([A-Za-z0-9_-]{43})", re.ASCII)
_USED_GRAIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A POST as it came. `body` may be one byte longer than is allowed."""

    authorization: str
    content_type: str
    body: bytes = field(repr=False)


def answer_call(endpoint_id: str, incoming: Incoming) -> Answer:
    """One operation of the memory protocol."""
    try:
        credential = admit(endpoint_id, incoming, scope="memory")
        request = read_request(incoming.body)
        if credential.endpoint.has_provider:
            return _answer_by_provider(credential, request)
        if request.tool is None:
            return _answer_recall(credential.endpoint, request)
        return _answer_tool(credential.endpoint, request, _check_tool(request, TOOLS))
    except Refusal as refusal:
        return refused(refusal)


def admit(endpoint_id: str, incoming: Incoming, *, scope: str) -> EndpointCredential:
    """Checks 2 to 4: whose credential it is stands before anything that the body says. Raises: Refusal."""
    if len(incoming.body) > BODY_BYTES_MAX:
        raise Refusal(413, "request_too_large", f"The body has more than {BODY_BYTES_MAX} bytes.")
    credential = _find_credential(endpoint_id, incoming.authorization, scope)
    if credential is None:
        raise Refusal(
            401,
            "unauthorized",
            "This endpoint does not know the credential.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    _count(credential)
    if incoming.content_type.partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "unsupported_media_type", "Send application/json.")
    return credential


def _find_credential(endpoint_id: str, authorization: str, scope: str) -> EndpointCredential | None:
    """Unknown, revoked, of another endpoint or for something else: all the same."""
    scheme, _, token = authorization.partition(" ")
    match = _CREDENTIAL.fullmatch(token.strip())
    if scheme.lower() != "bearer" or match is None:
        return None
    held = EndpointCredential.objects.select_related("endpoint").filter(id=UUID(hex=match[1]))
    credential = find_row(held)
    if credential is None or not are_equal(bytes(credential.token_sha256), token_sha256(match[2])):
        return None
    if credential.revoked_at is not None or credential.scope != scope:
        return None
    return credential if credential.endpoint_id == ids.from_wire(ids.ENDPOINT, endpoint_id) else None


def _count(credential: EndpointCredential) -> None:
    try:
        count_request(credential.wire_id, requests_max=settings.KEY_REQUESTS_PER_MINUTE_MAX)
    except RateLimited as error:
        wait = {"Retry-After": str(error.retry_after_seconds)}
        raise Refusal(429, "rate_limited", error.message, headers=wait) from error
    now = timezone.now()
    if credential.last_used_at is None or now - credential.last_used_at > _USED_GRAIN:
        EndpointCredential.objects.filter(id=credential.id).update(last_used_at=now)


def _check_tool[Run](request: WireRequest, tools: Mapping[str, Tool[Run]]) -> Tool[Run]:
    """Checks 9 to 11. Raises: Refusal."""
    tool = tools.get(request.tool or "")
    if tool is None:
        raise Refusal(404, "unknown_tool", "This endpoint has no such tool.")
    if tool.is_write and not request.may_write:
        raise Refusal(403, "read_only", "The binding of this session may only read.")
    problems = find_argument_problems(tool.input, request.arguments)
    if problems:
        raise Refusal(
            400, "invalid_arguments", "The arguments do not fit the tool's schema.", problems=problems
        )
    return tool


# --- records of a memory provider ---


def _answer_by_provider(credential: EndpointCredential, request: WireRequest) -> Answer:
    """Each write and what became of it stand in the ledger of effects as the credential's. Raises: Refusal."""
    endpoint = credential.endpoint
    actor = Actor(
        "service_account_actor",
        credential.wire_id,
        endpoint.project_id,
        endpoint.environment_id,
        frozenset(),
    )
    try:
        asked = endpoint_records.ask(endpoint, request, actor=actor)
        if request.tool is None:
            return Answer(200, encode(endpoint_records.recall(asked)))
        tool = _check_tool(request, endpoint_records.TOOLS)
        if tool.is_write:
            return endpoint_records.write_once(asked, tool)
        return Answer(200, encode({"result": tool.run(asked)}))
    except Unavailable as error:
        raise Refusal(503, "unavailable", error.message) from error


# --- records of its own ---


def _answer_recall(endpoint: Endpoint, request: WireRequest) -> Answer:
    with atomic():
        bound_statements(request)
        return Answer(200, encode(recall(endpoint, find_partition(endpoint, request.partition), request)))


def _answer_tool(endpoint: Endpoint, request: WireRequest, tool: OwnTool) -> Answer:
    if tool.is_write:
        with refusing_late():
            return _write(endpoint, request, tool)
    with atomic():
        bound_statements(request)
        result = tool.run(endpoint, find_partition(endpoint, request.partition), request)
        return Answer(200, encode({"result": result}))


@atomic
def _write(endpoint: Endpoint, request: WireRequest, tool: OwnTool) -> Answer:
    bound_statements(request)
    partition = lock_partition(endpoint, request.partition)
    known = find_operation(partition, request)
    if known is not None:
        return answer_again(known)
    require_writable(partition)
    answer, record_id = _run(endpoint, partition, request, tool)
    EndpointOperation.objects.create(
        project_id=endpoint.project_id,
        partition=partition,
        operation_id=request.operation_id,
        fingerprint=request.fingerprint(),
        status=answer.status,
        body=answer.body,
        record_id=record_id,
    )
    return answer


def _run(
    endpoint: Endpoint, partition: ExternalPartition, request: WireRequest, tool: OwnTool
) -> tuple[Answer, UUID | None]:
    """With the record that it wrote. What the tool refuses for a reason of its own is kept and replayed like a result."""
    try:
        with atomic():
            result = tool.run(endpoint, partition, request)
    except Refusal as refusal:
        return refused(refusal), None
    return Answer(200, encode({"result": result})), ids.from_wire(ids.EXTERNAL_RECORD, result.get("id", ""))


@atomic
def ingest(endpoint: Endpoint, partition: str, items: list[tuple[str, str]]) -> int:
    """Keep items of a conversation for later extraction; how many. Raises: Refusal for a frozen partition."""
    held = lock_partition(endpoint, partition)
    require_writable(held)
    ExternalItem.objects.bulk_create(
        ExternalItem(project_id=endpoint.project_id, partition=held, role=role, text=text)
        for role, text in items
    )
    return len(items)


def clear_expired() -> None:
    """Answers that nobody can ask for again, and records past their endpoint's retention."""
    old = ClockTimestamp() - timedelta(hours=REPLAY_HOURS)
    EndpointOperation.objects.filter(created_at__lt=old).delete()
    for endpoint in Endpoint.objects.exclude(retention_days=None):
        since = timezone.now() - timedelta(days=endpoint.retention_days or 0)
        for partition in ExternalPartition.objects.filter(endpoint=endpoint):
            partition.records.filter(changed_at__lt=since).delete()
            partition.items.filter(created_at__lt=since).delete()
            if endpoint.has_provider:
                jobs.enqueue(endpoint_erasures.FORGET_AGED, partition.id.hex)
