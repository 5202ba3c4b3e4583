"""ScopedMemory: the only way to a memory provider. Scope, bindings, bounds, ledger and log are the host's, whichever provider it is.

Source: contract of the memory provider, section 5. A provider that writes in this database is called in the one transaction that
also holds its ledger row, its log row and the trail; every other is called between short transactions, and never in one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard
from uuid import UUID

import structlog
from django.db.transaction import atomic

from memoryhub import audit
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.digests import are_equal, canonical_json, sha256_hex
from memoryhub.erasure import hold_copies
from providers import ledger
from providers.contract import (
    Binding,
    BoundProvider,
    Err,
    MemoryHit,
    MemoryRecord,
    Ok,
    Result,
    Scope,
    check_key,
    check_text,
    is_positive_integer,
    refuse,
)
from providers.embedding import Vector
from providers.ledger import Tool, Write
from providers.limits import (
    PROVIDER_SECONDS_MAX,
    RECALL_HITS_DEFAULT,
    RECALLED_BYTES_MAX,
    RECORD_ID_BYTES_MAX,
    RECORD_QUERY_LENGTH_MAX,
)
from providers.provider_calls import call_provider, read_answer, read_hits, read_nothing, read_ref
from providers.provider_log import Clock, end_call, log_call, start_clock
from providers.record_models import MemoryEffect, ProviderCall, RecordScope, ScopeViolation
from providers.record_names import seal_digest
from providers.record_scopes import (
    WritesHere,
    binding_of,
    ensure_scope,
    find_scope,
    issue_binding,
    owned_bindings,
)

log = structlog.get_logger("memoryhub.guard")

# Of a save before it is made: nothing stands under its key, the same record does, another, or nobody knows.
type Standing = Literal["new", "same", "other", "uncertain"]

_METHODS: dict[Tool, str] = {"save_memory": "remember", "forget_memory": "forget"}
_ACTIONS: dict[Tool, AuditAction] = {
    "save_memory": AuditAction.RECORD_SAVED,
    "forget_memory": AuditAction.RECORD_FORGOTTEN,
}
_UNISSUED = Binding("ns", "rec")  # in place of one, while a record's other fields are checked


@dataclass(frozen=True, slots=True)
class Recalled:
    """`hits`: best first. `cut_by_k`, `cut_by_bytes`, `dropped`: how many more the provider gave."""

    hits: Sequence[MemoryHit] = ()
    returned: int = 0
    dropped: Sequence[MemoryHit] = ()
    cut_by_k: int = 0
    cut_by_bytes: int = 0

    @property
    def kept_bytes(self) -> int:
        return sum(len(hit.text.encode()) for hit in self.hits)


@dataclass(frozen=True, slots=True)
class Written:
    """`is_new` False: the same write was made before."""

    result: Result[Any]
    is_new: bool

    @property
    def is_uncertain(self) -> bool:
        return isinstance(self.result, Err) and self.result.error.is_uncertain


@dataclass(frozen=True, slots=True)
class ScopedMemory:
    """One provider in one scope, for one actor. The scope's tenant is the actor's.

    `joins`: a call is a step of the caller's transaction; for a provider in this database alone. `before`: else the first step of the
    transaction that begins a write; by what it raises nothing is begun.
    """

    bound: BoundProvider
    scope: Scope
    actor: Actor
    joins: bool = False
    before: Callable[[], None] | None = None

    @property
    def is_here(self) -> bool:
        """Whether the provider is in this database, and a call of it may be a step of a transaction."""
        return isinstance(self.bound.provider, WritesHere)

    def find_written(self, tool: Tool, key: str) -> Written | None:
        """How a write of this key went, as far as the ledger knows; None when it was never begun."""
        held = find_scope(self.scope)
        effect = None if held is None else ledger.find_effect(held, tool, key)
        return None if effect is None else Written(ledger.read_outcome(effect), is_new=False)

    def is_being_sent(self, tool: Tool, key: str) -> bool:
        """Whether somebody sends the write of this key just now."""
        held = find_scope(self.scope)
        effect = None if held is None else ledger.find_effect(held, tool, key)
        return effect is not None and ledger.is_being_sent(effect)

    def recall(
        self,
        query: str,
        *,
        k: int = RECALL_HITS_DEFAULT,
        vector: Vector | None = None,
        seconds: float = PROVIDER_SECONDS_MAX,
    ) -> Result[Recalled]:
        """At most `k` hits and RECALLED_BYTES_MAX bytes of text, none with a binding of another scope.

        `vector`: of the query, for one that joins, since it is found before a transaction. Every other finds it here.
        `seconds`: that another service is waited for, where the caller has less than it may take.
        """
        if not is_positive_integer(k):
            return refuse("k must be a positive integer.")
        if not is_query(query):
            return refuse(f"query must have 1 to {RECORD_QUERY_LENGTH_MAX} characters, none of them NUL.")
        held = find_scope(self.scope)
        if held is None:  # nothing was ever written in it, so nothing in it can be owned
            return Ok(Recalled())
        if isinstance(self.bound.provider, WritesHere):
            if not self.joins:
                vector = self.bound.provider.find_query_vector(query)
            return self._recall_here(held, self.bound.provider, query, k, vector)
        return self._recall_there(held, query, k, min(seconds, PROVIDER_SECONDS_MAX))

    def remember(self, fields: Mapping[str, Any], key: str) -> Written:
        """`fields`: of a MemoryRecord, all but its binding, which is issued here."""
        try:
            check_key(key)
            record = check_record(fields)
        except (TypeError, ValueError) as error:
            return Written(refuse(str(error)), is_new=False)
        return self._write("save_memory", key, record)

    def foresee(self, asked: Sequence[tuple[str, MemoryRecord]]) -> list[Standing]:
        """What a save of each record under its key would find, in their order; nothing is written. The keys differ."""
        held = find_scope(self.scope)
        if held is None:
            return ["new"] * len(asked)
        known = ledger.find_effects(held, "save_memory", [key for key, _ in asked])
        return [self._standing(held, known.get(sha256_hex(key)), key, record) for key, record in asked]

    def _standing(
        self, held: RecordScope, effect: MemoryEffect | None, key: str, record: MemoryRecord
    ) -> Standing:
        if effect is None:
            return "new"
        record = replace(record, binding=binding_of(held, key))
        if not are_equal(bytes(effect.digest), seal_digest(record.canonical())):
            return "other"
        standings: dict[str, Standing] = {"begun": "uncertain", "unknown": "uncertain", "failed": "new"}
        return standings.get(effect.state, "same")

    def forget(self, record_id: str, key: str) -> Written:
        try:
            check_key(key)
            check_text(record_id, "id", bytes_max=RECORD_ID_BYTES_MAX)
        except (TypeError, ValueError) as error:
            return Written(refuse(str(error)), is_new=False)
        return self._write("forget_memory", key, record_id)

    def _write(self, tool: Tool, key: str, what: MemoryRecord | str) -> Written:
        if not isinstance(self.bound.provider, WritesHere):
            return self._write_there(tool, key, what)
        if self.joins:
            return self._step_here(self.bound.provider, tool, key, what, self.actor)
        return self._write_here(self.bound.provider, tool, key, what, actor=self.actor)

    # A provider in this database.

    @atomic(durable=True)
    def _write_here(
        self, provider: WritesHere, tool: Tool, key: str, what: MemoryRecord | str, *, actor: Actor
    ) -> Written:
        if self.before is not None:
            self.before()
        return self._step_here(provider, tool, key, what, actor)

    def _step_here(
        self, provider: WritesHere, tool: Tool, key: str, what: MemoryRecord | str, actor: Actor
    ) -> Written:
        clock = start_clock()
        held, write = self._prepare(tool, key, what)
        if write.record is not None:
            answer: object = provider.remember_here(held, write.record, key)
            result = read_answer(answer, read_ref)
        else:
            result = read_answer(provider.forget_here(held, write.payload["id"], key), read_nothing)
        is_new = isinstance(result, Ok) and ledger.record_done(
            held, self.bound, write, result.value, actor=actor
        )
        if is_new and isinstance(result, Ok):
            self._note(tool, held, write.payload["id"] if result.value is None else result.value.id)
        log_call(held, self.bound.name, _METHODS[tool], clock, result, key=key)
        return Written(result, is_new)

    @atomic
    def _recall_here(
        self, held: RecordScope, provider: WritesHere, query: str, k: int, vector: Vector | None
    ) -> Result[Recalled]:
        clock = start_clock()
        result = read_answer(provider.recall_here(held, query, k=k, vector=vector), read_hits)
        return self._bound_answer(held, result, clock, k=k, query_length=len(query))

    # A provider elsewhere.

    def _write_there(self, tool: Tool, key: str, what: MemoryRecord | str) -> Written:
        clock = start_clock()
        begun, call = self._begin(tool, key, what, clock, actor=self.actor)
        if begun.settled is not None:
            return Written(begun.settled, is_new=False)
        result = ledger.send(begun.effect, self.bound)
        end_call(call, clock, result)
        return Written(result, is_new=True)

    @atomic(durable=True)
    def _begin(
        self, tool: Tool, key: str, what: MemoryRecord | str, clock: Clock, *, actor: Actor
    ) -> tuple[ledger.Begun, ProviderCall]:
        """Committed before anything is sent."""
        if self.before is not None:
            self.before()
        held, write = self._prepare(tool, key, what)
        begun = ledger.begin(held, self.bound, write, actor=actor)
        if begun.settled is None:
            self._note(tool, held, begun.effect.wire_id)
        return begun, log_call(held, self.bound.name, _METHODS[tool], clock, begun.settled, key=key)

    def _recall_there(self, held: RecordScope, query: str, k: int, seconds: float) -> Result[Recalled]:
        clock, provider, scope = start_clock(), self.bound.provider, self.scope
        result = call_provider(lambda: provider.recall(scope, query, k=k), read_hits, seconds=seconds)
        with atomic():
            return self._bound_answer(held, result, clock, k=k, query_length=len(query))

    # What both share.

    def _prepare(self, tool: Tool, key: str, what: MemoryRecord | str) -> tuple[RecordScope, Write]:
        """A step: the scope's row, the binding, and the write with its digest."""
        hold_copies(UUID(self.scope.tenant_id.partition(":")[2]))
        held = ensure_scope(self.scope)
        assert held is not None, "the scope's tenant was found through the actor"
        if isinstance(what, str):
            payload: dict[str, Any] = {"id": what}
            return held, Write(tool, key, seal_digest(canonical_json(payload)), payload)
        record = replace(what, binding=issue_binding(held, key))
        payload = {"record": record.to_wire()}
        return held, Write(tool, key, seal_digest(record.canonical()), payload, record)

    def _bound_answer(
        self, held: RecordScope, result: Result[list[MemoryHit]], clock: Clock, **facts: int
    ) -> Result[Recalled]:
        """A step: the hits as far as they are the scope's and fit, the violations, and the log row."""
        if isinstance(result, Err):
            log_call(held, self.bound.name, "recall", clock, result, **facts)
            return result
        owned = owned_bindings(held, {hit.binding for hit in result.value})
        recalled = bound_hits(result.value, owned, k=facts["k"])
        for hit in recalled.dropped:
            self._report(held, hit)
        facts |= {"returned": recalled.returned, "kept": len(recalled.hits)}
        facts |= {"dropped": len(recalled.dropped), "kept_bytes": recalled.kept_bytes}
        facts |= {"cut_by_k": recalled.cut_by_k, "cut_by_bytes": recalled.cut_by_bytes}
        log_call(held, self.bound.name, "recall", clock, result, **facts)
        return Ok(recalled)

    def _report(self, held: RecordScope, hit: MemoryHit) -> None:
        log.warning("scope_violation", provider=self.bound.name, scope=held.id.hex)
        ScopeViolation.objects.create(
            project_id=held.project_id,
            scope=held,
            provider=self.bound.name,
            namespace=hit.binding.namespace,
            record_id=hit.binding.record_id,
            hit_id=hit.id,
        )

    def _note(self, tool: Tool, held: RecordScope, subject_id: str) -> None:
        audit.record(_ACTIONS[tool], subject_id[:64], environment_id=held.environment_id, actor=self.actor)


def is_query(query: object) -> TypeGuard[str]:
    return type(query) is str and 1 <= len(query) <= RECORD_QUERY_LENGTH_MAX and "\0" not in query


def check_record(fields: Mapping[str, Any]) -> MemoryRecord:
    """The record that these fields make, but for its binding. Raises: TypeError, ValueError, which say what is wrong."""
    return MemoryRecord.read({**fields, "binding": _UNISSUED})


def bound_hits(hits: Sequence[MemoryHit], owned: set[Binding], *, k: int) -> Recalled:
    """In the provider's order; a hit that would pass the bytes ends the list. Pure."""
    kept: list[MemoryHit] = []
    dropped: list[MemoryHit] = []
    seen: set[str] = set()
    size = 0
    for place, hit in enumerate(hits):
        if hit.binding not in owned:
            dropped.append(hit)
            continue
        if hit.id in seen:
            continue
        size += len(hit.text.encode())
        if len(kept) == k or size > RECALLED_BYTES_MAX:
            by_k, more = len(kept) == k, len(hits) - place
            return Recalled(kept, len(hits), dropped, more if by_k else 0, 0 if by_k else more)
        seen.add(hit.id)
        kept.append(hit)
    return Recalled(kept, len(hits), dropped)
