"""Limits and states hold while many write: the last room, taken paths, and the moment of an archive or a freeze."""

import random
import threading
import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub import ids
from stores import freezes, memories, memory_stores
from stores.limits import MEMORIES_PER_STORE_MAX
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.answers import Answer, Call
from tests.concurrency.clients import (
    created,
    digest,
    in_rounds,
    list_all,
    make_memory,
    make_store,
    run_together,
    write_until_refused,
)
from tests.live import LiveHub
from tests.world import Tenant

ROUNDS = 200
WRITES_BEFORE_END_MAX = 2


@atomic
def add_stores(tenant: Tenant, count: int) -> list[tuple[str, str]]:
    """(store id, memory id) of new stores with one memory each."""
    added = []
    for number in range(count):
        store = memory_stores.add_store(
            tenant.development.id, name=f"Round {number}", description="", metadata={}, actor=tenant.actor
        )
        memory = memories.add_memory(store, path="/kept", content="first", actor=tenant.actor)
        added.append((store.wire_id, memory.wire_id))
    return added


def fill_store(store_id: str, count: int) -> None:
    """Memories without a search row, quicker than by their verb."""
    store = MemoryStore.objects.get(id=ids.from_wire(ids.MEMORY_STORE, store_id))
    text = {"content_size_bytes": 1, "content_sha256": digest("x")}
    maker = {"created_by_type": "api_actor", "created_by_id": "apikey_test"}
    owner = {"project_id": store.project_id, "store_id": store.id}
    versions = MemoryVersion.objects.bulk_create(
        MemoryVersion(
            **owner,
            **text,
            **maker,
            memory_id=uuid.uuid4(),
            operation="created",
            content="x",
            path=f"/filled/{number}",
        )
        for number in range(count)
    )
    Memory.objects.bulk_create(
        Memory(
            **owner,
            id=version.memory_id,
            head=version,
            path=version.path,
            path_key=(version.path or "").encode(),
            content_size_bytes=1,
            content_sha256=digest("x"),
            created_at=version.created_at,
            updated_at=version.created_at,
        )
        for version in versions
    )


def count_versions(store_id: str) -> int:
    return MemoryVersion.objects.filter(store_id=ids.from_wire(ids.MEMORY_STORE, store_id)).count()


def test_one_of_many_creates_takes_the_last_room(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    fill_store(store_id, MEMORIES_PER_STORE_MAX - 1)
    answers: list[Answer] = []

    def create(number: int) -> None:
        body = {"path": f"/new/{number}", "content": "x"}
        answers.append(call("POST", f"/v1/memory_stores/{store_id}/memories", body))

    run_together([lambda number=number: create(number) for number in range(32)])  # type: ignore[misc]
    assert sorted(answer.status for answer in answers) == [200] + [400] * 31
    assert {answer.error_code for answer in answers if answer.status == 400} == {"memory_store_full"}
    assert Memory.objects.filter(store_id=ids.from_wire(ids.MEMORY_STORE, store_id)).count() == 2_000


def test_a_path_and_one_below_it_never_both_exist(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    answers: dict[str, Answer] = {}

    def create(path: str) -> None:
        body = {"path": path, "content": "x"}
        answers[path] = call("POST", f"/v1/memory_stores/{store_id}/memories", body)

    in_rounds(ROUNDS, lambda n: create(f"/r{n}"), lambda n: create(f"/r{n}/b"))
    for number in range(ROUNDS):
        pair = [answers[f"/r{number}"], answers[f"/r{number}/b"]]
        assert sorted(answer.status for answer in pair) == [200, 409]
        winner, loser = sorted(pair, key=lambda answer: answer.status)
        assert loser.body["error"]["conflicting_memory_id"] == winner.body["id"]
    assert len(list_all(call, f"/v1/memory_stores/{store_id}/memories")) == ROUNDS
    assert len({answers[f"/r{number}"].status for number in range(ROUNDS)}) == 2, (
        "one side always won: no race"
    )


class Ending:
    """Rounds in which clients write to a store until its writing is ended, by one call after a few writes."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.refusals: list[Answer] = []
        self.written = threading.Semaphore(0)
        self.counted: tuple[str, int] | None = None

    def writers(self, call: Call, store_of: Callable[[int], tuple[str, str]]) -> list[Callable[[int], None]]:
        """One that updates, and one that creates and deletes."""

        def write_in(number: int, write: Callable[[str, int], Answer]) -> None:
            base = f"/v1/memory_stores/{store_of(number)[0]}/memories"

            def write_and_tell(again: int) -> Answer:
                answer = write(base, again)
                if answer.status == 200:
                    self.written.release()
                return answer

            self.refusals.append(write_until_refused(write_and_tell))

        def update(number: int) -> None:
            memory_id = store_of(number)[1]
            write_in(
                number, lambda base, n: call("POST", f"{base}/{memory_id}", {"content": f"{number} {n}"})
            )

        def create_and_delete(number: int) -> None:
            def write(base: str, again: int) -> Answer:
                made = call("POST", base, {"path": f"/d{number}/{again}", "content": "x"})
                return made if made.status != 200 else call("DELETE", f"{base}/{made.body['id']}")

            write_in(number, write)

        return [update, create_and_delete]

    def end(self, store_id: str, act: Callable[[], object]) -> None:
        """End the writing after a few writes, and count the versions as soon as that is answered."""
        for _ in range(self.rng.randint(1, WRITES_BEFORE_END_MAX)):
            assert self.written.acquire(timeout=10), "nobody writes"
        act()
        self.counted = (store_id, count_versions(store_id))

    def check(self) -> None:
        """Nothing was committed since."""
        if self.counted is not None:
            store_id, count = self.counted
            assert count_versions(store_id) == count, f"{store_id}: committed after the answer"
        self.counted = None
        self.written = threading.Semaphore(0)
        connection.close()


@pytest.fixture
def seed() -> int:
    return random.randrange(10**9)


def test_nothing_commits_after_an_archive_has_answered(live: LiveHub, live_tenant: Tenant, seed: int) -> None:
    call = live.caller(live_tenant.key)
    stores = add_stores(live_tenant, ROUNDS)
    ending = Ending(seed)

    def archive(number: int) -> None:
        store_id = stores[number][0]
        ending.end(store_id, lambda: created(call("POST", f"/v1/memory_stores/{store_id}/archive")))

    in_rounds(ROUNDS, archive, *ending.writers(call, stores.__getitem__), between=ending.check)
    assert {answer.error_code for answer in ending.refusals} == {"memory_store_archived"}, f"seed {seed}"
    late = MemoryVersion.objects.raw(
        "SELECT v.* FROM stores_memoryversion v JOIN stores_memorystore s ON s.id = v.store_id"
        " WHERE s.project_id = %s AND v.created_at > s.archived_at",
        [live_tenant.project.id],
    )
    assert list(late) == [], f"seed {seed}"


def test_nothing_commits_after_a_store_is_deleted(live: LiveHub, live_tenant: Tenant, seed: int) -> None:
    call = live.caller(live_tenant.key)
    stores = add_stores(live_tenant, ROUNDS // 4)
    ending = Ending(seed)

    def delete(number: int) -> None:
        store_id = stores[number][0]
        ending.end(store_id, lambda: created(call("DELETE", f"/v1/memory_stores/{store_id}")))

    in_rounds(ROUNDS // 4, delete, *ending.writers(call, stores.__getitem__), between=ending.check)
    assert {answer.status for answer in ending.refusals} == {404}, f"seed {seed}"


def test_no_agent_writes_after_a_store_is_frozen(live: LiveHub, live_tenant: Tenant, seed: int) -> None:
    owner = live.caller(live_tenant.key)
    store_id = make_store(owner)
    memory_id = make_memory(owner, store_id, "/kept")
    key = ids.from_wire(ids.MEMORY_STORE, store_id)
    agent = live.caller(live_tenant.new_key("agent", stores={key: "read_write"}))
    ending = Ending(seed)

    def freeze(number: int) -> None:
        ending.end(store_id, lambda: memory_stores.freeze_store(store_id, actor=live_tenant.actor))

    def check_and_thaw() -> None:
        ending.check()
        memory_stores.unfreeze_store(store_id, actor=live_tenant.actor)
        connection.close()

    writers = ending.writers(agent, lambda number: (store_id, memory_id))
    in_rounds(ROUNDS, freeze, *writers, between=check_and_thaw)
    assert {answer.error_code for answer in ending.refusals} == {"store_frozen"}, f"seed {seed}"


def test_no_agent_changes_a_memory_after_it_is_frozen(live: LiveHub, live_tenant: Tenant, seed: int) -> None:
    owner = live.caller(live_tenant.key)
    store_id = make_store(owner)
    memory_id = make_memory(owner, store_id, "/kept")
    key = ids.from_wire(ids.MEMORY_STORE, store_id)
    agent = live.caller(live_tenant.new_key("agent", stores={key: "read_write"}))
    ending = Ending(seed)

    def set_frozen(frozen: bool) -> None:
        change = freezes.freeze_memory if frozen else freezes.unfreeze_memory
        change(store_id, memory_id, actor=live_tenant.actor)

    def check_and_thaw() -> None:
        ending.check()
        set_frozen(False)
        connection.close()

    update, _ = ending.writers(agent, lambda number: (store_id, memory_id))
    in_rounds(
        ROUNDS,
        lambda number: ending.end(store_id, lambda: set_frozen(True)),
        update,
        between=check_and_thaw,
    )
    assert {answer.error_code for answer in ending.refusals} == {"memory_frozen"}, f"seed {seed}"
