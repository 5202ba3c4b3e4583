"""An endpoint whose records a memory provider keeps: recall, search, remember and forget in the scope of a partition.

Source: contract of the memory provider, section 9.7; of document and HTTP memory, sections 13.2 to 13.6. Every call passes the guard.
A write begins with the row by which its operation is known again, in the transaction that begins its effect; what became of it
is the ledger's to say, so the same operation sent again is the same record, and what nobody knows is answered 503 until
somebody does. A provider can neither change a record nor say how new one is: there is no `replace`, and no cursor.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub.actors import Actor
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.erasure import hold_copies
from providers.adapters.remote import RemoteMemory
from providers.contract import BoundProvider, Err, MemoryHit, Ok, Provenance, Result
from providers.endpoint_models import UNDER_WAY, Endpoint, EndpointOperation
from providers.endpoint_operations import (
    answer_again,
    bound_statements,
    erased,
    find_operation,
    find_partition,
    in_progress,
    lock_partition,
    mismatch,
    refusing_late,
    require_writable,
)
from providers.endpoint_scopes import scope_of_partition
from providers.endpoint_tools import TEXT, Tool, advance, fit, input_of, partition_full
from providers.endpoint_wire import Answer, Refusal, WireRequest, encode, invalid_cursor, refused
from providers.guard import Recalled, ScopedMemory, Written, check_record
from providers.ledger import Tool as Effect
from providers.limits import (
    BUDGET_SECONDS,
    PARTITION_RECORDS_MAX,
    RECALL_HITS_MAX,
    RECORD_ID_BYTES_MAX,
    RECORD_KEY_BYTES_MAX,
    RECORD_QUERY_LENGTH_MAX,
    SEARCH_HITS_DEFAULT,
    SEARCH_HITS_MAX,
)
from providers.provider_choice import provider_of
from providers.record_models import MemoryEffect, MemoryRecord, RecordScope
from providers.record_names import seal_digest
from providers.record_scopes import WritesHere, find_scope
from providers.remote_models import RemoteRecord

_LOOK_SECONDS = 0.1  # between two looks how far another run of the same operation has come
_MILLISECONDS = 1_000


class _AnsweredBefore(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in the scope of its partition. `memory`: the guard around the provider of the environment."""

    endpoint: Endpoint
    request: WireRequest
    memory: ScopedMemory

    @property
    def key(self) -> str:
        """Of a write. No partition begins with `#`, so no two operations of a scope have the same."""
        plain = f"{self.request.partition}:{self.request.operation_id}"
        return plain if len(plain.encode()) <= RECORD_KEY_BYTES_MAX else f"#{sha256_hex(plain)}"

    @property
    def effect(self) -> Effect:
        return "save_memory" if self.request.tool == "remember" else "forget_memory"

    @property
    def fields(self) -> dict[str, Any]:
        """Of the record that is remembered. A host's model wrote it, and what that had read is not known here."""
        return {
            "text": self.request.arguments["fact"],
            "origin": "model",
            "provenance": Provenance("http", (self.key,)),
        }


def ask(endpoint: Endpoint, request: WireRequest, *, actor: Actor) -> Asked:
    bound = provider_of(endpoint.environment_id)
    return Asked(
        endpoint, request, ScopedMemory(bound, scope_of_partition(endpoint, request.partition), actor)
    )


def repeats_safely(bound: BoundProvider) -> bool:
    """Whether the calling side may declare writes idempotent. Source: section 13.4."""
    window = bound.dedup_window_ms or 0
    return bound.write_effect == "idempotent" and window >= BUDGET_SECONDS * _MILLISECONDS


# --- recall and search ---


def recall(asked: Asked) -> dict[str, Any]:
    """Whole records that fit the input, the best first, as many as there is room for. A provider only searches: without a text
    nothing is recalled, and of a long one the beginning is searched for."""
    request = asked.request
    query = (request.input_text or "")[:RECORD_QUERY_LENGTH_MAX]
    chosen: list[MemoryHit] = []
    room = min(request.bytes_max, asked.endpoint.bytes_max)
    for hit in _find(asked, query, RECALL_HITS_MAX):
        size = len(hit.text.encode()) + (1 if chosen else 0)
        if size <= room:
            chosen.append(hit)
            room -= size
    return fit(chosen, _recalled)


def _recalled(hits: list[MemoryHit]) -> dict[str, Any]:
    return {
        "text": "\n".join(hit.text for hit in hits),
        "sources": [{"id": hit.id, "revision": hit.version} for hit in hits],
    }


def _search(asked: Asked) -> dict[str, Any]:
    arguments = asked.request.arguments
    return fit(_find(asked, arguments["query"], arguments.get("limit", SEARCH_HITS_DEFAULT)), _hits)


def _hits(hits: list[MemoryHit]) -> dict[str, Any]:
    return {"hits": [{"id": hit.id, "text": hit.text, "score": round(hit.score, 6)} for hit in hits]}


def _find(asked: Asked, query: str, k: int) -> list[MemoryHit]:
    """Raises: Refusal."""
    partition = find_partition(asked.endpoint, asked.request.partition)
    if not query or partition is None or partition.erasing_at is not None:
        return []
    result = _ask_provider(asked, query, k)
    if isinstance(result, Ok):
        return list(result.value.hits)
    if result.error.code in ("unavailable", "timeout"):
        raise _unavailable()
    raise Refusal(500, "provider_error", f"The memory provider refused: {result.error.message}")


def _ask_provider(asked: Asked, query: str, k: int) -> Result[Recalled]:
    """One in this database within the caller's time; another service outside of any transaction."""
    memory, provider = asked.memory, asked.memory.bound.provider
    if not isinstance(provider, WritesHere):
        return memory.recall(query, k=k, seconds=max(asked.request.seconds_left, _LOOK_SECONDS))
    vector = provider.find_query_vector(query)
    with refusing_late(), atomic():
        bound_statements(asked.request)
        return replace(memory, joins=True).recall(query, k=k, vector=vector)


def _unavailable() -> Refusal:
    return Refusal(
        503, "unavailable", "The memory provider does not answer now.", headers={"Retry-After": "1"}
    )


# --- remember and forget ---


def write_once(asked: Asked, tool: "ProviderTool") -> Answer:
    """Raises: Refusal for what is not kept, since the same operation may be answered otherwise later."""
    asked = replace(asked, memory=replace(asked.memory, before=partial(_begin, asked)))
    try:
        with refusing_late():
            written = _await_other(asked, tool.run(asked))
    except _AnsweredBefore as known:
        _require_kept(asked)
        return known.answer
    return _conclude(asked, written)


def _begin(asked: Asked) -> None:
    """A step, before the effect is begun. Raises: Refusal; _AnsweredBefore."""
    request = asked.request
    bound_statements(request)
    hold_copies(asked.endpoint.environment_id)  # before the partition, as an erasure does
    partition = lock_partition(asked.endpoint, request.partition)
    known = find_operation(partition, request)
    if known is not None and known.status != UNDER_WAY:
        raise _AnsweredBefore(answer_again(known))
    if known is None or not _may_have_begun(asked):
        require_writable(partition)
    if known is None:
        _require_room(asked)
        advance(partition)
        EndpointOperation.objects.create(
            project_id=asked.endpoint.project_id,
            partition=partition,
            operation_id=request.operation_id,
            fingerprint=request.fingerprint(),
            status=UNDER_WAY,
            body=b"",
        )


def _require_room(asked: Asked) -> None:
    """As many records as a partition here holds, of those that the hub knows. Raises: Refusal."""
    held = find_scope(asked.memory.scope)
    if held is None or asked.effect != "save_memory":
        return
    kept = {"scope_id": held.id, "forgotten_at": None}
    count = MemoryRecord.objects.filter(**kept).count() + RemoteRecord.objects.filter(**kept).count()
    if count >= PARTITION_RECORDS_MAX:
        raise partition_full()


def _may_have_begun(asked: Asked) -> bool:
    """Whether the ledger has the write, and it did not fail: it is not sent again from here, so no freeze concerns it."""
    before = asked.memory.find_written(asked.effect, asked.key)
    return before is not None and (before.is_uncertain or isinstance(before.result, Ok))


def _remember(asked: Asked) -> Written:
    return asked.memory.remember(asked.fields, asked.key)


def _forget(asked: Asked) -> Written:
    if asked.request.cursor is not None:
        raise invalid_cursor()  # none was ever given out
    return asked.memory.forget(asked.request.arguments["id"], asked.key)


def _await_other(asked: Asked, written: Written) -> Written:
    """How another run of the same operation went, which is sending just now, if it ends within the caller's time."""
    while written.is_uncertain and asked.request.seconds_left > _LOOK_SECONDS:
        is_being_sent = asked.memory.is_being_sent(asked.effect, asked.key)
        written = asked.memory.find_written(asked.effect, asked.key) or written
        if not is_being_sent:  # it was looked at after its end
            break
        time.sleep(_LOOK_SECONDS)
    return written


def _conclude(asked: Asked, written: Written) -> Answer:
    """Raises: Refusal."""
    if written.is_uncertain:
        raise _uncertain(asked)
    if isinstance(written.result, Err):
        return _failed(asked, written.result)
    if not written.is_new:
        _require_kept(asked)
    ref = written.result.value
    result = {"status": _status_of(asked.memory.bound)} | ({} if ref is None else {"id": ref.id})
    return _keep(asked, Answer(200, encode({"result": result})))


def _uncertain(asked: Asked) -> Refusal:
    """A host that may repeat it does; the ledger sees to it that it is not done twice."""
    held = find_scope(asked.memory.scope)
    waits = MemoryEffect.objects.filter(
        scope=held, tool=asked.effect, key_sha256=sha256_hex(asked.key), state="unknown"
    )
    if not waits.exists():
        return in_progress()
    message = "It is not known whether the write was done; whoever runs this endpoint decides."
    return Refusal(503, "uncertain", message, headers={"Retry-After": "1"}, mayHaveCommitted=True)


def _failed(asked: Asked, result: Err) -> Answer:
    """What the provider refuses for a reason of its own is kept and replayed like a result. Raises: Refusal."""
    if result.error.code in ("unavailable", "timeout"):  # it was certainly not done, and may be yet
        _release(asked)
        raise _unavailable()
    if asked.effect == "forget_memory":
        return _keep(asked, refused(Refusal(404, "not_found", "There is no such record in this partition.")))
    record = check_record(asked.fields)
    if asked.memory.foresee([(asked.key, record)]) == [
        "other"
    ]:  # it wrote another fact before its answer was forgotten
        _release(asked)
        raise mismatch()
    message = f"The memory provider refused: {result.error.message}"
    return _keep(asked, refused(Refusal(422, "invalid", message)))


def _operations(asked: Asked) -> QuerySet[EndpointOperation]:
    return EndpointOperation.objects.filter(
        partition__endpoint_id=asked.endpoint.id,
        partition__partition=asked.request.partition,
        operation_id=asked.request.operation_id,
        status=UNDER_WAY,
    )


@atomic
def _keep(asked: Asked, answer: Answer) -> Answer:
    _operations(asked).update(status=answer.status, body=answer.body)
    return answer


@atomic
def _release(asked: Asked) -> None:
    _operations(asked).delete()


def _require_kept(asked: Asked) -> None:
    """That what the operation saved, if it did, was not forgotten since: its answer would say that it is stored. Raises: Refusal."""
    held = find_scope(asked.memory.scope)
    saved = asked.memory.find_written("save_memory", asked.key)
    ref = saved.result.value if saved is not None and isinstance(saved.result, Ok) else None
    if held is not None and ref is not None and _is_forgotten(held, ref.id):
        raise erased()


def _is_forgotten(held: RecordScope, record_id: str) -> bool:
    """As the hub knows it: by the records here, what it noted of those elsewhere, or what it sent."""
    gone = {"scope_id": held.id, "record_id": record_id, "forgotten_at__isnull": False}
    if MemoryRecord.objects.filter(**gone).exists() or RemoteRecord.objects.filter(**gone).exists():
        return True
    sealed = seal_digest(canonical_json({"id": record_id}))
    forgets = MemoryEffect.objects.filter(scope_id=held.id, tool="forget_memory", digest=sealed)
    return forgets.filter(state__in=("done", "resolved")).exists()


def _status_of(bound: BoundProvider) -> str:
    """`stored` only where the next recall shows it for certain. Source: section 13.6."""
    provider = bound.provider
    if isinstance(provider, WritesHere):
        return "stored"
    if not isinstance(provider, RemoteMemory) or not provider.answers_when_done:
        return "accepted"
    return "accepted" if provider.lag_seconds else "stored"


type ProviderTool = Tool[Callable[[Asked], Any]]
_ID = {"type": "string", "minLength": 1, "maxLength": RECORD_ID_BYTES_MAX}
TOOLS: dict[str, ProviderTool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search what is known, best first.",
            "read",
            input_of(
                ["query"],
                query=TEXT,
                limit={"type": "integer", "minimum": 1, "maximum": SEARCH_HITS_MAX},
            ),
            _search,
        ),
        Tool(
            "remember",
            "Keep a fact. Stored, the next recall can show it; accepted, a later one.",
            "write",
            input_of(["fact"], fact=TEXT),
            _remember,
        ),
        Tool(
            "forget",
            "Forget a record that was recalled or found, by its id.",
            "write",
            input_of(["id"], id=_ID),
            _forget,
        ),
    )
}
