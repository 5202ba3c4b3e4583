"""Old versions removed while others write, restore and redact in the same store: each change is whole, and none is lost."""

import os
from typing import Any

import pytest

from memoryhub import integrity
from stores import retention
from stores.integrity import INVARIANTS
from stores.models import Memory, MemoryVersion
from tests.concurrency.clients import in_rounds
from tests.live import LiveHub
from tests.stores.aged import age_memory
from tests.stores.shelf import Shelf
from tests.world import Tenant

ROUNDS = int(os.environ.get("MEMORYHUB_RETENTION_ROUNDS", "8"))
OLD_VERSIONS = 6


def find_faults() -> set[str]:
    """What breaks an invariant of stores, in what other tests left too."""
    return {
        f"{found.invariant.name}: {fault}"
        for found in map(integrity.check_invariant, INVARIANTS)
        for fault in found.faults
    }


def test_a_removal_beside_a_writer_a_restore_a_redaction_and_another_removal(
    live: LiveHub, live_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "FAULTS_SHOWN_MAX", 100_000)
    call = live.caller(live_tenant.key)
    shelf = Shelf(call("POST", "/v1/memory_stores", {"name": "old"}).body["id"], live_tenant.actor)
    assert call("PUT", shelf.url("retention"), {"days": 30}).status == 200
    memories = [
        age_memory(shelf, f"/{number}", [90.0 - age for age in range(OLD_VERSIONS)])
        for number in range(ROUNDS)
    ]
    feeds: list[dict[str, str]] = []
    removed = [0, 0]
    faults_before = find_faults()

    def write(number: int) -> None:
        answer = call("POST", shelf.memory_url_of(memories[number][0].memory_wire_id), {"content": "new"})
        assert answer.status == 200, answer.body

    def restore(number: int) -> None:
        answer = call("POST", shelf.version_url(memories[number][2]) + "/restore")
        assert answer.status in (200, 404), answer.body

    def redact(number: int) -> None:
        answer = call("POST", shelf.version_url(memories[number][3]) + "/redact")
        assert answer.status in (200, 404), answer.body

    def remove(place: int) -> Any:
        def work(number: int) -> None:
            answer = call("POST", shelf.url("retention", "run"))
            assert answer.status == 200, answer.body
            removed[place] += answer.body["memory_versions"]

        return work

    def read(number: int) -> None:
        page = call("GET", shelf.url("changes"), query={"after": 0, "limit": 100}).body
        feeds.append({item["memory_id"]: item["operation"] for item in page["data"]})

    in_rounds(ROUNDS, write, restore, redact, remove(0), remove(1), read)
    while not (last := call("POST", shelf.url("retention", "run")).body)["complete"]:
        removed[0] += last["memory_versions"]
    removed[0] += last["memory_versions"]
    left = MemoryVersion.objects.filter(store_id=shelf.store.id)
    written = left.exclude(id__in=[version.id for versions in memories for version in versions]).count()
    assert written >= ROUNDS, "a write that was answered is gone"
    assert sum(removed) == ROUNDS * (OLD_VERSIONS - 1) - (left.count() - written - ROUNDS)
    assert all(len(feed) == ROUNDS for feed in feeds), "a list of changes misses a memory"
    assert find_faults() <= faults_before
    heads = set(Memory.objects.filter(store_id=shelf.store.id).values_list("head_id", flat=True))
    assert heads <= set(left.values_list("id", flat=True))


def test_nothing_goes_after_a_longer_retention_or_an_archive_was_answered(
    live: LiveHub, live_tenant: Tenant
) -> None:
    call = live.caller(live_tenant.key)
    shelves = [
        Shelf(call("POST", "/v1/memory_stores", {"name": f"{number}"}).body["id"], live_tenant.actor)
        for number in range(ROUNDS)
    ]
    for shelf in shelves:
        call("PUT", shelf.url("retention"), {"days": 30})
        age_memory(shelf, "/a", [90.0 - age for age in range(OLD_VERSIONS)])
    left: dict[int, int] = {}

    def end(number: int) -> None:
        shelf = shelves[number]
        if number % 2:
            assert call("POST", shelf.url("archive")).status == 200
        else:
            assert call("PUT", shelf.url("retention"), {"days": 3_650}).status == 200
        left[number] = len(shelf.versions())

    def remove(number: int) -> None:
        answer = call("POST", shelves[number].url("retention", "run"))
        assert answer.status in (200, 400, 409), answer.body

    in_rounds(ROUNDS, end, remove, remove)
    assert {number: len(shelf.versions()) for number, shelf in enumerate(shelves)} == left
    assert set(left.values()) <= {1, OLD_VERSIONS}
    assert retention.RETENTION_BATCH_VERSIONS >= OLD_VERSIONS
