import pytest

from tests.stores.shelf import Shelf
from tests.stores.test_create_memory import MEMORY_KEYS
from tests.world import Caller, unused_id


def test_a_memory_is_shown_with_its_content(call: Caller, shelf: Shelf) -> None:
    memory = shelf.update(shelf.put("/a/b.md", "one"), content="twö")
    got = call("GET", shelf.memory_url(memory))
    assert got.status == 200
    assert list(got.body) == MEMORY_KEYS
    head = shelf.versions()[0]
    assert (got.body["content"], got.body["content_size_bytes"]) == ("twö", 4)
    assert (got.body["memory_version_id"], got.body["path"]) == (head.wire_id, "/a/b.md")
    assert got.body["updated_at"] > got.body["created_at"]
    version = call("GET", shelf.version_url(head)).body
    assert got.body["updated_at"] == version["created_at"]


@pytest.mark.parametrize(("view", "shown"), [("full", "text"), ("", "text"), ("basic", None)])
def test_the_view_decides_whether_the_content_is_shown(
    call: Caller, shelf: Shelf, view: str, shown: str | None
) -> None:
    url = shelf.memory_url(shelf.put(content="text"))
    got = call("GET", url, query={"view": view}).body
    assert got == call("GET", url).body | {"content": shown}


def test_an_unknown_view_is_refused(call: Caller, shelf: Shelf) -> None:
    refused = call("GET", shelf.memory_url(shelf.put()), query={"view": "some"})
    assert refused.refusal == (400, "invalid_request_error", None)


@pytest.mark.parametrize(
    "memory_id",
    [unused_id("mem"), unused_id("memver"), "mem_", "x", "%00", "%ff", "mem_" + "0" * 5_000, "mem_%0a"],
)
def test_an_id_that_is_not_a_memory_is_not_found(call: Caller, shelf: Shelf, memory_id: str) -> None:
    for query in ({}, {"view": "some"}):
        refused = call("GET", shelf.url("memories", memory_id), query=query)
        assert refused.refusal == (404, "not_found_error", None)


def test_a_memory_of_another_store_is_not_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    here, nowhere = f"/v1/memory_stores/{other}/memories", unused_id("mem")
    foreign, absent = (call("GET", f"{here}/{name}").body["error"] for name in (memory.wire_id, nowhere))
    assert foreign == absent == {"type": "not_found_error", "message": "The memory was not found."}
    assert call("POST", f"{here}/{memory.wire_id}", {"content": "x"}).status == 404
    assert call("DELETE", f"{here}/{memory.wire_id}").status == 404
    assert call("GET", shelf.memory_url(memory)).status == 200


def test_a_deleted_memory_is_not_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    shelf.delete(memory)
    assert call("GET", shelf.memory_url(memory)).refusal == (404, "not_found_error", None)
