"""Who waits for whom: updates of different memories do not, an archive waits for all of them."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub import audit
from memoryhub.audit import AuditAction
from tests.concurrency.clients import created, make_memory, make_store
from tests.concurrency.holding import Asked, held
from tests.live import LiveHub
from tests.noise import NOISE_SECONDS
from tests.world import Caller, Tenant


@pytest.fixture
def store_and_memories(live: LiveHub, live_tenant: Tenant) -> tuple[str, str, str]:
    """(store, memory, another memory), committed."""
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    return store_id, make_memory(call, store_id, "/one"), make_memory(call, store_id, "/two")


def test_updates_of_other_memories_do_not_wait(
    live: LiveHub, live_tenant: Tenant, store_and_memories: tuple[str, str, str]
) -> None:
    store_id, one, two = store_and_memories
    call = live.caller(live_tenant.key)
    base = f"/v1/memory_stores/{store_id}/memories"
    with held(one):
        began = time.monotonic()
        created(call("POST", f"{base}/{two}", {"content": "changed"}))
        created(call("GET", f"{base}/{one}"))
        assert time.monotonic() - began < 2 + NOISE_SECONDS, "they waited for the memory that is held"
        same = Asked(lambda: call("POST", f"{base}/{one}", {"content": "changed"}))
        assert same.wait(0.3) is None, "an update of the held memory did not wait"
    answer = same.wait(10)
    assert answer is not None and answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/archive", None),
        ("POST", "/memories", {"path": "/new", "content": "x"}),
        ("DELETE", "", None),
    ],
)
def test_what_changes_the_store_waits_for_updates_under_way(
    live: LiveHub,
    live_tenant: Tenant,
    store_and_memories: tuple[str, str, str],
    method: str,
    path: str,
    body: Any,
) -> None:
    store_id, one, _ = store_and_memories
    call = live.caller(live_tenant.key)
    with held(one):
        asked = Asked(lambda: call(method, f"/v1/memory_stores/{store_id}{path}", body))
        assert asked.wait(0.3) is None, "it did not wait"
    answer = asked.wait(10)
    assert answer is not None and answer.status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/api_keys", {"name": "new", "scopes": ["read"], "environment": "development"}),
        ("/v1/environments", {"name": "staging"}),
        ("/v1/invitations", {"email": "new@example.com", "role": "viewer"}),
    ],
)
def test_what_counts_the_projects_rows_does_not_wait_for_writes_under_way(
    live: LiveHub, live_tenant: Tenant, path: str, body: dict[str, Any]
) -> None:
    """Every write's audit row names the project, which keeps the project's row from changing its key."""
    call = live.caller(live_tenant.new_key("admin", whole=True))
    with atomic():
        audit.record(AuditAction.MEMORY_UPDATED, "mem_x", environment_id=None, actor=live_tenant.actor)
        asked = Asked(lambda: call("POST", path, body))
        answer = asked.wait(3)
    assert answer is not None, "it waited for the write"
    assert answer.status == 200, answer.body


LOCK = re.compile(
    r"\b(?:FROM|UPDATE|INTO)\s+\"?(\w+)\"?.*?\bFOR (?:NO KEY )?(?:UPDATE|SHARE)|^UPDATE \"?(\w+)", re.S
)
ORDER = [
    "memoryhub_project",
    "memoryhub_environment",
    "stores_memorystore",
    "stores_memory",
    "stores_memoryversion",
]


@contextmanager
def noting_locks(noted: list[str]) -> Iterator[None]:
    """Note the tables whose rows are locked, in order: by FOR UPDATE or FOR SHARE, or by an UPDATE."""

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if found := LOCK.search(sql):
            noted.append(found[1] or found[2])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield


def test_locks_are_taken_in_one_order(call: Caller, store_id: str) -> None:
    base = f"/v1/memory_stores/{store_id}"
    memory_id = make_memory(call, store_id, "/one")
    first_version = call("GET", f"{base}/memory_versions").body["data"][0]["id"]
    for method, path, body, wanted in [
        ("POST", f"{base}/memories/{memory_id}", {"content": "2"}, ["stores_memorystore", "stores_memory"]),
        ("POST", f"{base}/memories/{memory_id}", {"path": "/2"}, ["stores_memorystore", "stores_memory"]),
        (
            "POST",
            f"{base}/memory_versions/{first_version}/redact",
            None,
            ["stores_memorystore", "stores_memory"],
        ),
        ("POST", f"{base}/memories", {"path": "/3", "content": "3"}, ["stores_memorystore"]),
        ("DELETE", f"{base}/memories/{memory_id}", None, ["stores_memorystore", "stores_memory"]),
        ("POST", base, {"name": "Other"}, ["stores_memorystore"]),
        ("POST", f"{base}/archive", None, ["stores_memorystore"]),
    ]:
        noted: list[str] = []
        with noting_locks(noted):
            created(call(method, path, body))
        locked = [table for table in noted if table in ORDER]
        assert locked[: len(wanted)] == wanted, (method, path, noted)
        assert [ORDER.index(table) for table in locked] == sorted(ORDER.index(table) for table in locked)
