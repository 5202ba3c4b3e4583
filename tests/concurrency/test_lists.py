"""Lists page without a skipped or a repeated row while others write, and never order by time alone."""

import itertools
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub import ids
from stores.models import MemoryStore, MemoryVersion
from tests.answers import Call
from tests.concurrency.clients import created, list_all, make_memory, make_store, run_together
from tests.live import LiveHub
from tests.world import Caller, Tenant

STABLE = 40
PASSES, WRITES = 6, 4
WRITES_SECONDS_MAX = 60.0


def read_while_writing(read: Callable[[], None], write: Callable[[int], None]) -> None:
    """Read while another thread writes: at least so many passes, and until so many writes were made beside them."""
    done = threading.Event()
    enough = threading.Event()

    def read_passes() -> None:
        ends_at = time.monotonic() + WRITES_SECONDS_MAX
        passes = 0
        try:
            while passes < PASSES or not enough.is_set():
                assert time.monotonic() < ends_at, "the writer does not come forward beside the reader"
                read()
                passes += 1
        finally:
            done.set()

    def write_until_done() -> None:
        for number in itertools.count():
            if done.is_set():
                break
            write(number)
            if number + 1 >= WRITES:
                enough.set()

    run_together([read_passes, write_until_done])


@pytest.fixture
def filled(live: LiveHub, live_tenant: Tenant) -> tuple[Call, str, list[str]]:
    """(caller, store, paths of memories that stay)."""
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    paths = [f"/stays/{number:03}" for number in range(STABLE)]
    for path in paths:
        make_memory(call, store_id, path)
    return call, store_id, paths


def test_memories_that_stay_are_listed_once_each(filled: tuple[Call, str, list[str]]) -> None:
    call, store_id, paths = filled
    base = f"/v1/memory_stores/{store_id}/memories"
    rng = random.Random(7)
    ids_by_path = {item["path"]: item["id"] for item in list_all(call, base)}

    def read() -> None:
        listed = [item["path"] for item in list_all(call, base, limit=7)]
        assert [path for path in listed if path.startswith("/stays/")] == paths
        assert len(set(listed)) == len(listed)

    def write(number: int) -> None:
        made = make_memory(call, store_id, f"/stays{rng.randrange(10**6):06}/{number}")
        created(call("POST", f"{base}/{ids_by_path[rng.choice(paths)]}", {"content": str(number)}))
        created(call("DELETE", f"{base}/{made}"))

    read_while_writing(read, write)


def test_versions_are_listed_once_each_and_in_order(filled: tuple[Call, str, list[str]]) -> None:
    call, store_id, _ = filled
    base = f"/v1/memory_stores/{store_id}"
    before = [version["id"] for version in list_all(call, f"{base}/memory_versions")]
    memory_id = list_all(call, f"{base}/memories")[0]["id"]

    def read() -> None:
        listed = [version["id"] for version in list_all(call, f"{base}/memory_versions", limit=9)]
        assert len(set(listed)) == len(listed)
        assert [version for version in listed if version in set(before)] == before

    def write(number: int) -> None:
        created(call("POST", f"{base}/memories/{memory_id}", {"content": str(number)}))

    read_while_writing(read, write)


def test_stores_are_listed_once_each(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    before = [make_store(call, str(number)) for number in range(STABLE)][::-1]

    def read() -> None:
        listed = [store["id"] for store in list_all(call, "/v1/memory_stores", limit=7)]
        assert len(set(listed)) == len(listed)
        assert [store for store in listed if store in set(before)] == before

    def write(number: int) -> None:
        store_id = make_store(call, "Passing")
        created(call("DELETE", f"/v1/memory_stores/{store_id}"))

    read_while_writing(read, write)


TIMES: dict[str, Callable[[int], timedelta]] = {
    "equal": lambda number: timedelta(0),
    "backwards": lambda number: timedelta(seconds=-number),
}


@pytest.mark.parametrize("times", TIMES)
def test_versions_keep_their_order_whatever_their_times(call: Caller, store_id: str, times: str) -> None:
    """The database's clock may stand still or be set back: the number decides."""
    memory_id = make_memory(call, store_id, "/one")
    store = MemoryStore.objects.get(id=ids.from_wire(ids.MEMORY_STORE, store_id))
    start = datetime(2030, 1, 1, tzinfo=UTC)
    versions = [
        MemoryVersion.objects.create(
            project_id=store.project_id,
            store_id=store.id,
            memory_id=ids.from_wire(ids.MEMORY, memory_id),
            operation="modified",
            path="/one",
            content=str(number),
            content_size_bytes=1,
            content_sha256="0" * 64,
            created_by_type="api_actor",
            created_by_id="apikey_test",
            created_at=start + TIMES[times](number),
        )
        for number in range(12)
    ]
    wanted = [version.wire_id for version in versions][::-1]
    for limit in (1, 5, 100):
        path = f"/v1/memory_stores/{store_id}/memory_versions"
        listed = [item["id"] for item in list_all(call, path, limit=limit, memory_id=memory_id)]
        assert listed[:-1] == wanted, limit  # the last is the one that was created


def test_stores_of_one_instant_are_listed_once_each(call: Caller, tenant: Tenant) -> None:
    made = [make_store(call, str(number)) for number in range(12)]
    instant = datetime(2030, 1, 1, tzinfo=UTC)
    MemoryStore.objects.filter(project_id=tenant.project.id).update(created_at=instant)
    for limit in (1, 5, 100):
        listed: list[Any] = [store["id"] for store in list_all(call, "/v1/memory_stores", limit=limit)]
        assert listed == made[::-1], limit
