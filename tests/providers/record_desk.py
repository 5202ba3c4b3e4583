"""Records of one tenant's agents, arranged with domain functions, and providers that misbehave on order."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from memoryhub.actors import Actor, RecordScope
from providers import records
from providers.contract import (
    BoundProvider,
    Err,
    MemoryHit,
    MemoryRecord,
    Ok,
    ProviderError,
    RecordRef,
    Scope,
    bind_provider,
    scope_of,
)
from providers.guard import Recalled, ScopedMemory, Written
from providers.limits import RECALL_HITS_MAX
from providers.models import RecordScope as ScopeRow
from providers.record_access import WantedScope
from providers.record_scopes import tenant_of
from tests.world import Tenant

ALICE = RecordScope("support", "api", "alice")
BOB = RecordScope("support", "api", "bob")


class RecordDesk:
    """In the tenant's development environment; everything is done by its owner, or by another actor there."""

    def __init__(self, tenant: Tenant, actor: Actor | None = None) -> None:
        self.tenant = tenant
        self.actor: Actor = actor or tenant.actor
        self.saves = 0

    def wanted(self, of: RecordScope = ALICE) -> WantedScope:
        named = None if self.actor.environment_id else self.tenant.development.wire_id
        return WantedScope(named, of)

    def scope(self, of: RecordScope = ALICE) -> Scope:
        tenant = tenant_of(self.tenant.project.id, self.tenant.development.id)
        return Scope(tenant, of.agent, scope_of(of.issuer, of.subject))

    def save(self, text: str, *, of: RecordScope = ALICE, key: str | None = None, **fields: Any) -> str:
        """The record's id."""
        self.saves += 1
        key = key or f"key-{self.saves}"
        saved = records.save_record(self.wanted(of), {"text": text, **fields}, key=key, actor=self.actor)
        assert saved.ref is not None
        return saved.ref.id

    def recall(self, query: str, *, of: RecordScope = ALICE, k: int = RECALL_HITS_MAX) -> Recalled:
        return records.search_records(self.wanted(of), query, k=k, actor=self.actor)

    def find(self, query: str, *, of: RecordScope = ALICE, k: int = RECALL_HITS_MAX) -> list[str]:
        """The texts that a recall gives."""
        return [hit.text for hit in self.recall(query, of=of, k=k).hits]

    def forget(self, record_id: str, *, of: RecordScope = ALICE, key: str = "forget") -> None:
        records.forget_record(self.wanted(of), record_id, key=key, actor=self.actor)

    def memory(self, provider: Any, of: RecordScope = ALICE) -> ScopedMemory:
        """The guard around a provider that is elsewhere."""
        return ScopedMemory(bind(provider), self.scope(of), self.actor)

    def row(self, of: RecordScope = ALICE) -> ScopeRow:
        scope = self.scope(of)
        return ScopeRow.objects.get(environment=self.tenant.development, agent=scope.agent, scope=scope.scope)


def bind(provider: Any) -> BoundProvider:
    return bind_provider("scripted", provider)


NEW: dict[str, Any] = {
    "text": "Tea at four.",
    "origin": "host",
    "provenance": {"thread_id": "api", "event_ids": ["k1"]},
}


def remember(memory: ScopedMemory, key: str = "k1", **fields: Any) -> Written:
    return memory.remember(NEW | fields, key)


def unavailable(message: str = "reset", *, sent: bool = True) -> Err:
    return Err(ProviderError("unavailable", message, sent))


class Scripted:
    """A provider elsewhere. It answers what `answers` holds, in turn, and then well; `sent` is what it was asked to write."""

    def __init__(self, *answers: Any, effect: str | None = None, window_ms: int | None = None) -> None:
        if effect is not None:
            self.write_effect = effect
        if window_ms is not None:
            self.dedup_window_ms = window_ms
        self.answers = list(answers)
        self.sent: list[tuple[str, str]] = []
        self.records: list[MemoryRecord] = []
        self.hits: Callable[[int], Any] = lambda k: []

    def _next(self, well: Any) -> Any:
        answer = self.answers.pop(0) if self.answers else well
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Any:
        self.sent.append(("remember", key))
        self.records.append(record)
        return self._next(Ok(RecordRef("r1", "1")))

    async def recall(self, scope: Scope, query: str, *, k: int = 5) -> Any:
        return self._next(Ok(self.hits(k)))

    async def forget(self, scope: Scope, id: str, key: str) -> Any:
        self.sent.append(("forget", key))
        return self._next(Ok(None))


class LookingUp(Scripted):
    def __init__(self, *answers: Any, found: Sequence[Any] = ()) -> None:
        super().__init__(*answers, effect="guarded")
        self.found = list(found)

    async def lookup(self, scope: Scope, key: str) -> Any:
        return self.found.pop(0)


def blocking(seconds: float) -> Callable[[], Any]:
    """An answer that blocks its thread first."""

    def answer() -> Any:
        time.sleep(seconds)
        return Ok(RecordRef("late", "1"))

    return answer


def hits_of(memory: ScopedMemory, provider: Scripted, *texts: str) -> list[MemoryHit]:
    """Hits with bindings that the host issued, one for each text."""
    made = []
    for number, text in enumerate(texts):
        remember(memory, f"hit-{number}", text="x")
        binding = provider.records[-1].binding
        made.append(MemoryHit(f"h{number}", "1", text, 1.0 - number / 1_000, "user", binding))
    return made
