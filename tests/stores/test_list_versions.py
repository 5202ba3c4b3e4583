from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub import ids, keys
from memoryhub.actors import Actor
from memoryhub.pagination import LIST_LIMIT_MAX
from stores.models import MemoryVersion
from tests.stores.shelf import Shelf
from tests.stores.test_get_version import VERSION_KEYS
from tests.world import Caller, Tenant, unused_id

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def listed(call: Caller, shelf: Shelf, **query: Any) -> list[str]:
    answer = call("GET", shelf.url("memory_versions"), query=query)
    assert answer.status == 200, answer.body
    return [version["id"] for version in answer.body["data"]]


def wire_ids(versions: list[MemoryVersion]) -> list[str]:
    return [version.wire_id for version in versions]


def session_actor(tenant: Tenant, session_id: str) -> Actor:
    scopes = frozenset({"agent"})
    return Actor("session_actor", session_id, tenant.project.id, tenant.development.id, scopes)


def test_an_empty_store_lists_nothing(call: Caller, shelf: Shelf) -> None:
    answer = call("GET", shelf.url("memory_versions"))
    assert answer.content == b'{"data":[],"has_more":false,"next_page":null}'


def test_every_change_is_listed_newest_first(call: Caller, shelf: Shelf) -> None:
    a = shelf.put("/a", "1")
    b = shelf.put("/b", "1")
    shelf.update(a, content="2")
    shelf.update(a, path="/c")
    shelf.update(a, path="/c", content="2")  # nothing changes
    shelf.delete(b)
    data = call("GET", shelf.url("memory_versions")).body["data"]
    assert [(v["operation"], v["path"], v["memory_id"]) for v in data] == [
        ("deleted", "/b", b.wire_id),
        ("modified", "/c", a.wire_id),
        ("modified", "/a", a.wire_id),
        ("created", "/b", b.wire_id),
        ("created", "/a", a.wire_id),
    ]
    assert [list(version) for version in data] == [VERSION_KEYS] * 5
    assert [v["content_size_bytes"] for v in data] == [None, 1, 1, 1, 1]
    assert {v["content"] for v in data} == {None}


def test_times_do_not_reorder_history(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/c", "/a", "/b"], at=[NOON, NOON + timedelta(hours=1), NOON])
    newest_first = wire_ids(shelf.versions())
    assert listed(call, shelf) == newest_first
    assert [page for n in range(3) for page in _page(call, shelf, n)] == newest_first


def _page(call: Caller, shelf: Shelf, number: int) -> list[str]:
    """The page of one item with this number."""
    query: dict[str, Any] = {"limit": 1}
    for _ in range(number):
        query["page"] = call("GET", shelf.url("memory_versions"), query=query).body["next_page"]
    return listed(call, shelf, **query)


@pytest.mark.parametrize("limit", range(1, 8))
def test_pages_join_to_the_whole_without_gaps_or_repeats(call: Caller, shelf: Shelf, limit: int) -> None:
    shelf.fill([f"/{n}" for n in range(7)])
    found: list[str] = []
    query: dict[str, Any] = {"limit": limit}
    while True:
        body = call("GET", shelf.url("memory_versions"), query=query).body
        found += [version["id"] for version in body["data"]]
        assert body["has_more"] is (body["next_page"] is not None)
        if not body["has_more"]:
            break
        assert len(body["data"]) == limit
        query["page"] = body["next_page"]
    assert found == wire_ids(shelf.versions())


def test_a_version_written_between_pages_is_not_shown(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a", "/b"])
    newest, oldest = wire_ids(shelf.versions())
    page = call("GET", shelf.url("memory_versions"), query={"limit": 1}).body
    assert [version["id"] for version in page["data"]] == [newest]
    shelf.put("/c")
    assert listed(call, shelf, page=page["next_page"]) == [oldest]


def test_full_view_carries_content_and_caps_a_page_at_twenty(call: Caller, shelf: Shelf) -> None:
    shelf.fill([f"/{n}" for n in range(LIST_LIMIT_MAX + 1)], content="text")
    for limit, shown in ((LIST_LIMIT_MAX, 20), (21, 20), (19, 19)):
        body = call("GET", shelf.url("memory_versions"), query={"view": "full", "limit": limit}).body
        assert (len(body["data"]), body["has_more"]) == (shown, True)
        assert {version["content"] for version in body["data"]} == {"text"}
    basic = call("GET", shelf.url("memory_versions"), query={"limit": LIST_LIMIT_MAX}).body
    assert len(basic["data"]) == LIST_LIMIT_MAX
    assert {version["content"] for version in basic["data"]} == {None}
    assert len(listed(call, shelf)) == 20


def test_filters_by_memory_and_operation_combine(call: Caller, shelf: Shelf) -> None:
    a, b = shelf.put("/a", "1"), shelf.put("/b", "1")
    shelf.update(a, content="2")
    shelf.delete(a)
    gone, changed, made_b, made_a = wire_ids(shelf.versions())
    assert listed(call, shelf, memory_id=a.wire_id) == [gone, changed, made_a]
    assert listed(call, shelf, operation="created") == [made_b, made_a]
    assert listed(call, shelf, operation="modified") == [changed]
    assert listed(call, shelf, operation="deleted") == [gone]
    assert listed(call, shelf, memory_id=b.wire_id, operation="created") == [made_b]
    assert listed(call, shelf, memory_id=b.wire_id, operation="deleted") == []


def test_filters_by_actor(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    key_id = keys.authenticate_key(tenant.key).actor_id
    session = ids.to_wire(ids.SESSION, ids.new_id())
    mine = call("POST", shelf.memories_url, {"path": "/key", "content": ""}).body["memory_version_id"]
    shelf.put("/user")
    shelf.put("/session", actor=session_actor(tenant, session))
    newest, by_user, _ = wire_ids(shelf.versions())
    assert listed(call, shelf, api_key_id=key_id) == [mine]
    assert listed(call, shelf, session_id=session) == [newest]
    assert listed(call, shelf, session_id=session, api_key_id=key_id) == []
    assert listed(call, shelf, session_id=session, operation="created") == [newest]
    assert by_user in listed(call, shelf)


@pytest.mark.parametrize("name", ["memory_id", "session_id", "api_key_id", "service_account_id"])
@pytest.mark.parametrize(
    "value", ["x", "mem_", unused_id("mem"), unused_id("sesn"), "é" * 500, "' OR 1=1 --"]
)
def test_an_unknown_value_gives_an_empty_page(call: Caller, shelf: Shelf, name: str, value: str) -> None:
    shelf.put()
    assert listed(call, shelf, **{name: value}) == []


def test_time_bounds_are_inclusive_to_the_microsecond(call: Caller, shelf: Shelf) -> None:
    tick = timedelta(microseconds=1)
    shelf.fill(["/a", "/b", "/c"], at=[NOON - tick, NOON, NOON + tick])
    after, at, before = wire_ids(shelf.versions())
    noon, late = "2026-11-30T12:00:00.000000", "2026-11-30T12:00:00.000001Z"
    assert listed(call, shelf, **{"created_at[gte]": noon, "created_at[lte]": late}) == [after, at]
    assert listed(call, shelf, **{"created_at[gte]": noon, "created_at[lte]": noon}) == [at]
    assert listed(call, shelf, **{"created_at[lte]": noon}) == [at, before]


BAD: list[dict[str, str]] = [
    *({"operation": operation} for operation in ("updated", "CREATED", "created,deleted")),
    *({"view": view} for view in ("FULL", "none")),
    *({"limit": limit} for limit in ("0", "101", "x")),
    {"created_at[gte]": "x"},
    {"created_at[lte]": "2026-11-30"},
    {"page": "page_x"},
    {"session_id": "a\0b"},
]


@pytest.mark.parametrize("query", BAD, ids=ascii)
def test_a_bad_value_is_refused(call: Caller, shelf: Shelf, query: dict[str, str]) -> None:
    refused = call("GET", shelf.url("memory_versions"), query=query)
    assert refused.refusal == (400, "invalid_request_error", None)
    assert refused.message.startswith("invalid page cursor" if "page" in query else f"{next(iter(query))}: ")


def test_a_cursor_belongs_to_its_store_and_filters(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", "1")
    shelf.update(memory, content="2")
    page = call("GET", shelf.url("memory_versions"), query={"limit": 1}).body["next_page"]
    assert listed(call, shelf, page=page, view="full", limit=2) == [shelf.versions()[-1].wire_id]
    others = [
        {"operation": "created"},
        {"memory_id": memory.wire_id},
        {"created_at[gte]": "2026-01-01T00:00:00Z"},
        {"api_key_id": "x"},
    ]
    for other in others:
        query = {"page": page} | other
        assert call("GET", shelf.url("memory_versions"), query=query).message == "invalid page cursor"


def test_a_missing_store_is_not_found_whatever_is_asked(call: Caller) -> None:
    url = f"/v1/memory_stores/{unused_id('memstore')}/memory_versions"
    for query in ({}, {"limit": "0"}, {"operation": "x"}, {"page": "x"}):
        assert call("GET", url, query=query).refusal == (404, "not_found_error", None)
