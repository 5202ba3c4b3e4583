import pytest

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, unused_id


def test_deleting_appends_a_version_without_content_and_frees_the_path(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", "text")
    deleted = call("DELETE", shelf.memory_url(memory))
    assert (deleted.status, deleted.body) == (200, {"id": memory.wire_id, "type": "memory_deleted"})
    last, first = shelf.versions()
    assert (last.operation, last.path, last.memory_id) == ("deleted", "/a", memory.id)
    assert (last.content, last.content_size_bytes, last.content_sha256) == (None, None, None)
    assert (first.operation, first.content) == ("created", "text")
    assert shelf.paths() == []
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_DELETED, memory.wire_id)
    assert call("POST", shelf.memories_url, {"path": "/a", "content": ""}).body["id"] > memory.wire_id


def test_deleting_again_is_not_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", "text")
    call("DELETE", shelf.memory_url(memory))
    state = shelf.state()
    for query in ({}, {"expected_content_sha256": sha256_hex("text")}, {"expected_content_sha256": ""}):
        assert call("DELETE", shelf.memory_url(memory), query=query).refusal == (404, "not_found_error", None)
    assert shelf.state() == state


def test_its_versions_stay_listed(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    call("DELETE", shelf.memory_url(memory))
    listed = call("GET", shelf.url("memory_versions"), query={"memory_id": memory.wire_id}).body["data"]
    assert [version["operation"] for version in listed] == ["deleted", "created"]


def test_a_fitting_digest_deletes(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put(content="text")
    query = {"expected_content_sha256": sha256_hex("text")}
    assert call("DELETE", shelf.memory_url(memory), query=query).status == 200


def test_a_stale_digest_is_refused_and_deletes_nothing(call: Caller, shelf: Shelf) -> None:
    memory = shelf.update(shelf.put(content="old"), content="new")
    state = shelf.state()
    refused = call("DELETE", shelf.memory_url(memory), query={"expected_content_sha256": sha256_hex("old")})
    assert refused.refusal == (409, "memory_precondition_failed_error", None)
    assert refused.headers["x-should-retry"] == "false"
    assert shelf.state() == state


@pytest.mark.parametrize(
    "digest", ["", "x", "0" * 63, "0" * 65, sha256_hex("one\n").upper(), " " + sha256_hex("one\n")]
)
def test_a_malformed_digest_never_means_unconditional(call: Caller, shelf: Shelf, digest: str) -> None:
    memory = shelf.put()
    refused = call("DELETE", shelf.memory_url(memory), query={"expected_content_sha256": digest})
    assert refused.refusal == (400, "invalid_request_error", None)
    assert refused.message.startswith("expected_content_sha256: ")
    assert shelf.paths() == ["/a.md"]


def test_a_repeated_digest_that_ends_empty_never_means_unconditional(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    query = f"expected_content_sha256={sha256_hex('one')}&expected_content_sha256="
    assert call("DELETE", f"{shelf.memory_url(memory)}?{query}").status == 400
    assert shelf.paths() == ["/a.md"]


def test_a_body_with_a_field_is_refused(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    body = {"expected_content_sha256": sha256_hex("stale")}
    assert call("DELETE", shelf.memory_url(memory), body).refusal == (400, "invalid_request_error", None)
    assert shelf.paths() == ["/a.md"]


def test_a_missing_memory_or_store_is_not_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    assert call("DELETE", shelf.memory_url_of(unused_id("mem"))).status == 404
    elsewhere = f"/v1/memory_stores/{unused_id('memstore')}/memories/{memory.wire_id}"
    assert call("DELETE", elsewhere).refusal == (404, "not_found_error", None)
