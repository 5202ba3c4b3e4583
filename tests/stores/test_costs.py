"""No request costs more queries in a full store than in a small one, and none is without bounds."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.digests import sha256_hex
from memoryhub.operations import OPERATIONS
from memoryhub.pagination import FULL_VIEW_LIMIT_MAX, LIST_LIMIT_MAX
from stores import search
from stores.limits import MEMORIES_PER_STORE_MAX
from stores.models import Memory
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant

SMALL, LARGE = 10, MEMORIES_PER_STORE_MAX - 10
QUERIES_MAX = 30  # of one request
CONTENT = "Every memory holds these words."
ROOM = ("files.", "memories.", "memory_stores.", "memory_versions.", "redactions.", "retention.")
# It reads an archive, whose rows it writes in batches.
NOT_WALKED = {"memory_stores.import", "redactions.list"}  # the list is a page of the console


@dataclass(frozen=True)
class Request:
    operation: str
    method: str
    path: str
    body: Any = None


def filled(tenant: Tenant, count: int) -> tuple[Shelf, list[Memory]]:
    """A store of its own with `count` memories that can be found, three directories deep; by path."""
    store_id = tenant.call()("POST", "/v1/memory_stores", {"name": f"{count} memories"}).body["id"]
    shelf = Shelf(store_id, tenant.actor)
    shelf.fill([f"/{n % 7}/{n % 5}/{n:04}.md" for n in range(count)], CONTENT)
    memories = list(Memory.objects.filter(store_id=shelf.store.id).order_by("path_key"))
    for memory in memories:
        search.index_memory(memory, shelf.store, CONTENT)
    return shelf, memories


def lists_of(shelf: Shelf) -> list[Request]:
    """Every list below a store, without `limit`; a query in the body where it stands there."""
    found = {"contains": "words", "memory_store_id": shelf.store_id}
    return [
        Request("memory_stores.list", "GET", "/v1/memory_stores?"),
        Request("memories.list", "GET", shelf.url("memories?")),
        Request("memories.list", "GET", shelf.url("memories?depth=1")),
        Request("memories.list", "GET", shelf.url("memories?view=full")),
        Request("memory_versions.list", "GET", shelf.url("memory_versions?view=full")),
        Request("memory_versions.list", "GET", shelf.url("memory_versions?")),
        Request("memory_stores.snapshot", "GET", shelf.url("snapshot?at=2100-01-01T00:00:00Z")),
        Request("memory_stores.changes", "GET", shelf.url("changes?")),
        Request("memory_stores.search", "GET", shelf.url("memories/search?query=words")),
        Request("memories.search", "GET", "/v1/memories/search?query=words"),
        Request("memory_versions.search", "POST", "/v1/memory_versions/search", found),
    ]


def requests_of(shelf: Shelf, memories: list[Memory]) -> list[Request]:
    """Every operation below a store once, in an order that lets each succeed."""
    first, second, third, fourth = memories[:4]
    file, version = shelf.url("files") + first.path, shelf.url("memory_versions", first.head.wire_id)
    erased = {"content_sha256": sha256_hex("newest"), "memory_store_id": shelf.store_id}
    return [
        *lists_of(shelf),
        Request("memory_stores.create", "POST", "/v1/memory_stores", {"name": "one more"}),
        Request("memory_stores.get", "GET", shelf.url()),
        Request("memory_stores.update", "POST", shelf.url(), {"name": "renamed"}),
        Request("memory_stores.export", "GET", shelf.url("export")),
        Request("memories.get", "GET", shelf.memory_url(first)),
        Request("files.get", "GET", file),
        Request("memory_versions.get", "GET", version),
        Request("memories.create", "POST", shelf.memories_url, {"path": "/new.md", "content": "new"}),
        Request("memories.update", "POST", shelf.memory_url(first), {"content": "newer"}),
        Request("memories.update", "POST", shelf.memory_url(second), {"path": "/moved.md"}),
        Request("files.put", "PUT", file, {"content": "newest"}),
        Request("memory_versions.diff", "GET", f"{version}/diff"),
        Request("memory_versions.restore", "POST", f"{version}/restore"),
        Request(
            "memory_versions.redact", "POST", shelf.url("memory_versions", second.head.wire_id, "redact")
        ),
        Request("redactions.create", "POST", "/v1/redactions", erased),
        Request("memories.freeze", "POST", f"{shelf.memory_url(first)}/freeze"),
        Request("memories.unfreeze", "POST", f"{shelf.memory_url(first)}/unfreeze"),
        Request("files.delete", "DELETE", shelf.url("files") + third.path),
        Request("memories.delete", "DELETE", shelf.memory_url(fourth)),
        Request("retention.set", "PUT", shelf.url("retention"), {"days": 1}),
        Request("retention.get", "GET", shelf.url("retention")),
        Request("retention.plan", "POST", shelf.url("retention/plan"), {}),
        Request("retention.run", "POST", shelf.url("retention/run")),
        Request("memory_stores.freeze", "POST", shelf.url("freeze")),
        Request("memory_stores.unfreeze", "POST", shelf.url("unfreeze")),
        Request("memory_stores.archive", "POST", shelf.url("archive")),
        Request("memory_stores.delete", "DELETE", shelf.url()),
    ]


def queries_of(call: Caller, request: Request) -> int:
    with CaptureQueriesContext(connection) as queries:
        answer = call(request.method, request.path, request.body)
    assert answer.status == 200, (request, answer.content[:300])
    return len(queries)


def test_the_number_of_queries_does_not_depend_on_the_number_of_memories(committed: Tenant) -> None:
    call, small, large = committed.call(), filled(committed, SMALL), filled(committed, LARGE)
    counted = {}
    for few, many in zip(requests_of(*small), requests_of(*large), strict=True):
        counted[few.operation, few.path.partition("?")[2]] = queries_of(call, few), queries_of(call, many)
    assert {name: counts for name, counts in counted.items() if counts[0] != counts[1]} == {}
    assert max(few for few, _ in counted.values()) <= QUERIES_MAX


def test_every_operation_below_a_store_is_walked(tenant: Tenant) -> None:
    walked = {request.operation for request in requests_of(*filled(tenant, SMALL))}
    assert walked | NOT_WALKED == {name for name in OPERATIONS if name.startswith(ROOM)}


def test_every_list_holds_at_most_a_page(tenant: Tenant, call: Caller) -> None:
    shelf, _ = filled(tenant, LIST_LIMIT_MAX + 5)
    for request in lists_of(shelf):
        for limit, status in ((LIST_LIMIT_MAX, 200), (LIST_LIMIT_MAX + 1, 400)):
            answer = limited(call, request, limit)
            assert answer.status == status, (request, answer.content[:300])
        assert len(limited(call, request, LIST_LIMIT_MAX).body["data"]) <= LIST_LIMIT_MAX, request
        assert len(limited(call, request, 3).body["data"]) <= 3, request


def limited(call: Caller, request: Request, limit: int) -> Any:
    if request.body is None:
        return call(request.method, f"{request.path}&limit={limit}")
    return call(request.method, request.path, {**request.body, "limit": limit})


@pytest.mark.parametrize("path", ["memories?", "memory_versions?", "snapshot?at=2100-01-01T00:00:00Z&"])
def test_a_page_with_contents_is_shorter(tenant: Tenant, call: Caller, path: str) -> None:
    shelf, _ = filled(tenant, FULL_VIEW_LIMIT_MAX + 5)
    answer = call("GET", shelf.url(f"{path}view=full&limit=100"))
    assert len(answer.body["data"]) == FULL_VIEW_LIMIT_MAX


def test_the_database_ends_a_query_that_takes_too_long(tenant: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("5s",)
