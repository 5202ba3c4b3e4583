"""The published suite: the built-in provider passes it, and each of a set of faulty ones fails the check that is meant for it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from providers.conformance import CHECKS, memory_suite
from providers.contract import (
    Err,
    MemoryHit,
    MemoryProvider,
    MemoryRecord,
    Ok,
    ProviderError,
    RecordRef,
    Result,
    Scope,
    is_positive_integer,
    refuse,
)
from providers.local import local_memory
from providers.record_scopes import tenant_of
from tests.world import Tenant


def run_suite(make: Callable[[], MemoryProvider], **options: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = async_to_sync(memory_suite)(make, **options)
    return found


def test_the_built_in_provider_passes(tenant: Tenant, stranger: Tenant) -> None:
    tenants = (
        tenant_of(tenant.project.id, tenant.development.id),
        tenant_of(stranger.project.id, stranger.development.id),
    )
    assert run_suite(local_memory, tenants=tenants) == ()


def test_two_environments_of_one_project_are_two_tenants(tenant: Tenant) -> None:
    tenants = [tenant_of(tenant.project.id, one.id) for one in (tenant.development, tenant.production)]
    assert run_suite(local_memory, tenants=tuple(tenants)) == ()


def test_a_tenant_that_is_none_is_told_as_unavailable(db: None) -> None:
    faults = run_suite(local_memory)
    assert any(
        fault.startswith("a_save_is_found: a save under 'k1' answered unavailable") for fault in faults
    )


class InMemory:
    """A provider that keeps the contract, and that each of the faulty ones below spoils in one place."""

    write_effect = "idempotent"
    dedup_window_ms = 60_000

    def __init__(self) -> None:
        self.kept: dict[tuple[Scope, str], MemoryRecord] = {}
        self.forgotten: set[tuple[Scope, str]] = set()

    def id_of(self, scope: Scope, key: str) -> str:
        return f"r-{scope.tenant_id}-{scope.agent}-{scope.scope}-{key}-0001"

    def place(self, scope: Scope, key: str) -> tuple[Scope, str]:
        return scope, self.id_of(scope, key)

    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        known = self.kept.setdefault(self.place(scope, key), record)
        if not self.are_same(known, record):
            return refuse("used")
        return Ok(RecordRef(self.id_of(scope, key), "1"))

    def are_same(self, known: MemoryRecord, record: MemoryRecord) -> bool:
        return known == record

    async def recall(self, scope: Scope, query: str, *, k: int = 5) -> Result[Sequence[MemoryHit]]:
        if not is_positive_integer(k):
            return refuse("k")
        words = {word.strip("?.,") for word in query.lower().split()} - {""}
        hits = [self.hit(record_id, record, words) for (of, record_id), record in self.seen(scope)]
        found = sorted((hit for hit in hits if hit.score > 0), key=lambda hit: -hit.score)
        return Ok(self.cut(found, k))

    def cut(self, found: list[MemoryHit], k: int) -> list[MemoryHit]:
        return found[:k]

    def seen(self, scope: Scope) -> list[tuple[tuple[Scope, str], MemoryRecord]]:
        return [
            (place, record)
            for place, record in self.kept.items()
            if place[0] == scope and place not in self.forgotten
        ]

    def hit(self, record_id: str, record: MemoryRecord, words: set[str]) -> MemoryHit:
        held = {word.strip("?.,") for word in record.text.lower().split()}
        return MemoryHit(record_id, "1", record.text, float(len(held & words)), record.origin, record.binding)

    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        if (scope, id) not in self.kept:
            return refuse("unknown")
        self.forgotten.add((scope, id))
        return Ok(None)


def test_a_provider_that_keeps_the_contract_passes() -> None:
    assert run_suite(InMemory) == ()


class LosesSaves(InMemory):
    def seen(self, scope: Scope) -> Any:
        return []


class SavesTwice(InMemory):
    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        return await super().remember(scope, record, f"{key}-{len(self.kept)}")


class TakesUsedKeys(InMemory):
    def are_same(self, known: MemoryRecord, record: MemoryRecord) -> bool:
        return True


class ForgetsTheBindingInItsDigest(InMemory):
    def are_same(self, known: MemoryRecord, record: MemoryRecord) -> bool:
        return known == replace(record, binding=known.binding)


class KnowsNoScopes(InMemory):
    def seen(self, scope: Scope) -> Any:
        return [(place, record) for place, record in self.kept.items() if place not in self.forgotten]


class KnowsNoTenants(InMemory):
    def seen(self, scope: Scope) -> Any:
        return [
            (place, record)
            for place, record in self.kept.items()
            if replace(place[0], tenant_id="x") == replace(scope, tenant_id="x")
            and place not in self.forgotten
        ]


class OneKeyForAll(InMemory):
    def id_of(self, scope: Scope, key: str) -> str:
        return f"r-{key}-0001"


class WorstFirst(InMemory):
    def cut(self, found: list[MemoryHit], k: int) -> list[MemoryHit]:
        return found[::-1][:k]


class GivesMore(InMemory):
    def cut(self, found: list[MemoryHit], k: int) -> list[MemoryHit]:
        return found[: k + 1]


class TakesAnyK(InMemory):
    async def recall(self, scope: Scope, query: str, *, k: int = 5) -> Result[Sequence[MemoryHit]]:
        return await super().recall(scope, query, k=max(1, int(k)))


class FindsByNothing(InMemory):
    def hit(self, record_id: str, record: MemoryRecord, words: set[str]) -> MemoryHit:
        return replace(super().hit(record_id, record, words), score=1.0)


class PretendsToForget(InMemory):
    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        return Ok(None)


class ForgetsOnce(InMemory):
    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        if (scope, id) in self.forgotten:
            return refuse("gone")
        return await super().forget(scope, id, key)


class BringsBack(InMemory):
    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        self.forgotten.discard(self.place(scope, key))
        return await super().remember(scope, record, key)


class TellsOfOthers(InMemory):
    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        if (scope, id) not in self.kept and any(of == id for _, of in self.kept):
            return Err(ProviderError("scope_violation", "of another"))
        return await super().forget(scope, id, key)


class MakesBindings(InMemory):
    def hit(self, record_id: str, record: MemoryRecord, words: set[str]) -> MemoryHit:
        binding = replace(record.binding, namespace=record.binding.namespace.replace("%2F", "/"))
        return replace(super().hit(record_id, record, words), binding=binding)


class RacesWithItself(InMemory):
    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        if self.place(scope, key) in self.kept:
            return await super().remember(scope, record, key)
        count = len(self.kept)
        await asyncio.sleep(0)
        return await super().remember(
            scope, record, key if count == len(self.kept) else f"{key}-{len(self.kept)}"
        )


class CutsTexts(InMemory):
    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        return await super().remember(scope, replace(record, text=record.text[:4_000]), key)


class GivesWrongHits(InMemory):
    async def recall(self, scope: Scope, query: str, *, k: int = 5) -> Any:
        return Ok([{"id": "x", "version": "1", "text": "t", "score": "high", "origin": "user"}])


class Raises(InMemory):
    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        raise RuntimeError("broken")


class DeclaresNoWindow(InMemory):
    dedup_window_ms = None  # type: ignore[assignment]


FAULTY: list[tuple[type[InMemory], str]] = [
    (LosesSaves, "a_save_is_found"),
    (SavesTwice, "the_same_save_again_is_one_record"),
    (TakesUsedKeys, "a_key_is_of_one_record"),
    (ForgetsTheBindingInItsDigest, "a_key_is_of_one_record"),
    (KnowsNoScopes, "no_other_scope_finds_it"),
    (KnowsNoTenants, "no_other_scope_finds_it"),
    (OneKeyForAll, "a_key_is_of_one_scope"),
    (WorstFirst, "the_best_come_first"),
    (GivesMore, "k_bounds_the_hits"),
    (TakesAnyK, "k_bounds_the_hits"),
    (FindsByNothing, "a_query_without_words_finds_nothing"),
    (PretendsToForget, "what_is_forgotten_is_gone"),
    (ForgetsOnce, "what_is_forgotten_is_gone"),
    (BringsBack, "what_is_forgotten_is_gone"),
    (TellsOfOthers, "only_what_is_in_the_scope_can_be_forgotten"),
    (MakesBindings, "bindings_come_back_as_given"),
    (RacesWithItself, "parallel_saves_of_one_key_are_one_record"),
    (CutsTexts, "texts_come_back_whole"),
    (GivesWrongHits, "a_save_is_found"),
    (Raises, "what_is_forgotten_is_gone"),
    (DeclaresNoWindow, "declaration"),
]


@pytest.mark.parametrize(("faulty", "check"), FAULTY, ids=[kind.__name__ for kind, _ in FAULTY])
def test_a_faulty_provider_is_found(faulty: type[InMemory], check: str) -> None:
    assert check in {fault.partition(":")[0] for fault in run_suite(faulty)}


def test_every_check_finds_a_fault() -> None:
    assert {check for _, check in FAULTY} - {"declaration"} == {
        check.__name__.removeprefix("_") for check in CHECKS
    }
