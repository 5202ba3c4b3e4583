"""Updates with a precondition: nobody overwrites what he has not seen, and no deadlock answers 503."""

import random

import pytest

from stores import memories
from stores.models import Memory, MemoryStore
from tests.answers import Call
from tests.concurrency.clients import (
    created,
    digest,
    in_rounds,
    list_versions,
    make_memory,
    make_store,
    race_updates,
)
from tests.live import LiveHub
from tests.world import Tenant


def test_no_update_is_lost_among_sixteen_clients(live: LiveHub, live_tenant: Tenant) -> None:
    calls: list[Call] = [live.caller(live_tenant.key) for _ in range(16)]
    race = race_updates(calls, paths=3, calls=2_000, seed=random.randrange(10**9))
    assert race.faults == [], f"seed {race.seed}"
    assert race.lost == 0, race.statuses
    assert race.refused_share >= 0.25, f"no race: {race.refused} of {race.acknowledged} were refused"
    assert min(live.connections_by_worker().values()) > 0, "one web process alone answered: no race"


def test_the_race_finds_a_server_that_compares_without_the_lock(
    live: LiveHub, live_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_memory(store: MemoryStore, memory_id: str) -> Memory:
        return Memory.objects.get(store_id=store.id, id=memories._key(memory_id))

    monkeypatch.setattr(memories, "lock_memory", read_memory)
    race = race_updates([live_tenant.call() for _ in range(8)], paths=1, calls=600, seed=1)
    assert any(fault.startswith("LOST UPDATE") for fault in race.faults), race
    assert any("no order explains" in fault for fault in race.faults), race


def test_two_writers_of_the_same_text_both_succeed_and_write_one_version(
    live: LiveHub, live_tenant: Tenant
) -> None:
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    memory_id = make_memory(call, store_id, "/same", "text 0")
    pairs = 500

    def write(number: int) -> None:
        precondition = {"type": "content_sha256", "content_sha256": digest(f"text {number}")}
        body = {"content": f"text {number + 1}", "precondition": precondition}
        created(call("POST", f"/v1/memory_stores/{store_id}/memories/{memory_id}", body))

    in_rounds(pairs, write, write)
    versions = list_versions(call, store_id)
    assert [version["content_sha256"] for version in versions] == [
        digest(f"text {n}") for n in range(pairs + 1)
    ]
