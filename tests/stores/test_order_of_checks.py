"""When a request is wrong in two ways, the earlier check answers. Source: contract stores 2.6; architecture 6, item 5."""

from collections.abc import Callable
from typing import Any

import pytest

from memoryhub.digests import sha256_hex
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from tests.answers import Answer
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id

STALE = {"type": "content_sha256", "content_sha256": sha256_hex("stale")}
TOO_LONG = "x" * (MEMORY_CONTENT_BYTES_MAX + 1)
TOO_LARGE = b'{"content":"' + b"x" * 1_048_576 + b'"}'
NOT_JSON = b'{"content"'
type Ask = Callable[..., Answer]


@pytest.fixture
def ask(call: Caller, shelf: Shelf) -> Ask:
    """Ask to update the memory at /a (content "text"), which is one of two."""
    memory = shelf.put("/a", "text")
    shelf.put("/taken")

    def update(
        body: Any = None, *, by: Caller = call, memory_id: str = memory.wire_id, **more: Any
    ) -> Answer:
        return by("POST", shelf.memory_url_of(memory_id), body, **more)

    return update


def test_authentication_comes_before_the_scope_and_the_body(ask: Ask, shelf: Shelf) -> None:
    nobody = Caller("mh_unknown")
    for raw in (NOT_JSON, TOO_LARGE):
        assert ask(raw=raw, by=nobody).refusal == (401, "authentication_error", None)
    assert ask({"content": "x"}, by=nobody, memory_id=unused_id("mem")).status == 401
    assert nobody("PUT", shelf.url()).status == 401  # and before the method


def test_what_the_url_names_comes_before_the_scope_and_all_that_is_sent(
    ask: Ask, call: Caller, tenant: Tenant
) -> None:
    for by in (call, tenant.caller("read")):
        for sent in (
            {"body": {"path": "bad"}},
            {"body": {"content": TOO_LONG}},
            {"raw": NOT_JSON},
            {"raw": TOO_LARGE},
            {"body": {"unknown": 1}},
            {"body": {"content": "x"}},
        ):
            answer = ask(by=by, memory_id=unused_id("mem"), **sent)
            assert answer.refusal == (404, "not_found_error", None)


def test_the_scope_comes_before_the_body(ask: Ask, tenant: Tenant) -> None:
    reader = tenant.caller("read")
    for raw in (NOT_JSON, TOO_LARGE):
        assert ask(raw=raw, by=reader).refusal == (403, "permission_error", "scope_missing")


def test_syntax_and_size_of_the_body_come_before_the_query(ask: Ask) -> None:
    bad_query = {"view": "x"}
    assert "JSON" in ask(raw=NOT_JSON, query=bad_query).message
    assert ask(raw=TOO_LARGE, query=bad_query).refusal == (413, "request_too_large", "body_too_large")
    assert "Content-Type" in ask({"content": "x"}, content_type="text/plain", query=bad_query).message


def test_the_query_comes_before_the_fields(ask: Ask) -> None:
    for body in ({"unknown": 1}, {}, {"path": "bad"}, {"content": TOO_LONG}):
        assert ask(body, query={"view": "x"}).message.startswith("view: ")


def test_fields_and_limits_come_before_the_archive(ask: Ask, shelf: Shelf, call: Caller) -> None:
    shelf.archive()
    assert ask({"unknown": 1}).message.startswith("unknown: ")
    assert ask({"path": "bad"}).error_code == "memory_path_invalid"
    assert ask({"content": TOO_LONG}).status == 413
    assert (
        call("POST", shelf.memories_url, {"path": "bad", "content": ""}).error_code == "memory_path_invalid"
    )
    assert call("POST", shelf.memories_url, {"path": "/b", "content": TOO_LONG}).status == 413
    assert call("POST", shelf.url(), {"name": ""}).error_code is None


def test_the_archive_comes_before_the_memory(ask: Ask, shelf: Shelf, call: Caller) -> None:
    shelf.archive()
    assert ask({"content": "new"}, memory_id=unused_id("mem")).error_code == "memory_store_archived"
    deleted = call("DELETE", shelf.memory_url_of(unused_id("mem")))
    assert deleted.error_code == "memory_store_archived"


def test_the_archive_comes_before_a_change_of_nothing_and_the_conflicts(
    ask: Ask, shelf: Shelf, call: Caller
) -> None:
    shelf.archive()
    for body in ({"content": "text"}, {"content": "new", "precondition": STALE}, {"path": "/taken"}):
        assert ask(body).error_code == "memory_store_archived"
    assert (
        call("POST", shelf.memories_url, {"path": "/a", "content": ""}).error_code == "memory_store_archived"
    )
    query = {"expected_content_sha256": STALE["content_sha256"]}
    memory_url = call("GET", shelf.memories_url).body["data"][0]["id"]
    assert call("DELETE", shelf.memory_url_of(memory_url), query=query).error_code == "memory_store_archived"


def test_the_memory_comes_before_the_precondition_and_the_path(ask: Ask) -> None:
    for body in ({"content": "new", "precondition": STALE}, {"path": "/taken"}):
        assert ask(body, memory_id=unused_id("mem")).refusal == (404, "not_found_error", None)


def test_a_change_of_nothing_comes_before_the_precondition(ask: Ask, shelf: Shelf) -> None:
    state = shelf.state()
    assert ask({"content": "text", "path": "/a", "precondition": STALE}).status == 200
    assert shelf.state() == state


def test_the_precondition_comes_before_the_path(ask: Ask) -> None:
    for path in ("/taken", "/taken/below"):
        refused = ask({"path": path, "precondition": STALE})
        assert refused.error_type == "memory_precondition_failed_error"


def test_the_path_comes_before_the_cap(ask: Ask, shelf: Shelf, call: Caller) -> None:
    shelf.fill([f"/{n:04}" for n in range(MEMORIES_PER_STORE_MAX - 2)])
    body = {"path": "/taken/below", "content": ""}
    assert call("POST", shelf.memories_url, body).error_type == "memory_path_conflict_error"
    assert call("POST", shelf.memories_url, body | {"path": "/free"}).error_code == "memory_store_full"
