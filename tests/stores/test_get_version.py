import re

import pytest

from memoryhub import ids, keys
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id

VERSION_KEYS = [
    "id", "type", "memory_store_id", "memory_id", "operation", "path", "content", "content_size_bytes",
    "content_sha256", "created_at", "created_by", "redacted_at", "redacted_by",
]  # fmt: skip
TEXT = "Always use two spaces.\n"


def test_a_version_answers_every_key_in_the_contracts_order(
    call: Caller, tenant: Tenant, shelf: Shelf
) -> None:
    memory = shelf.put("/preferences/formatting.md")
    updated = call("POST", shelf.memory_url(memory), {"content": TEXT}).body
    got = call("GET", shelf.url("memory_versions", updated["memory_version_id"]))
    assert got.status == 200
    assert list(got.body) == VERSION_KEYS
    assert re.fullmatch(r"memver_[0-9a-f]{32}", got.body["id"])
    assert got.body == {
        "id": updated["memory_version_id"],
        "type": "memory_version",
        "memory_store_id": shelf.store_id,
        "memory_id": memory.wire_id,
        "operation": "modified",
        "path": "/preferences/formatting.md",
        "content": TEXT,
        "content_size_bytes": 23,
        "content_sha256": "8f7e924878243f1f6e4b8acf66cd4a68bd31c3ce492ff83528997ce6f572808d",
        "created_at": updated["updated_at"],
        "created_by": {"type": "api_actor", "api_key_id": keys.authenticate_key(tenant.key).actor_id},
        "redacted_at": None,
        "redacted_by": None,
    }


@pytest.mark.parametrize(("view", "shown"), [("full", TEXT), ("", TEXT), ("basic", None)])
def test_the_view_decides_whether_the_content_is_shown(
    call: Caller, shelf: Shelf, view: str, shown: str | None
) -> None:
    shelf.put(content=TEXT)
    url = shelf.version_url(shelf.versions()[0])
    got = call("GET", url, query={"view": view}).body
    assert got == call("GET", url).body | {"content": shown}
    assert (got["content_size_bytes"], got["content_sha256"]) == (23, sha256_hex(TEXT))


def test_an_unknown_view_is_refused(call: Caller, shelf: Shelf) -> None:
    shelf.put()
    refused = call("GET", shelf.version_url(shelf.versions()[0]), query={"view": "x"})
    assert refused.refusal == (400, "invalid_request_error", None)


def test_a_deleted_version_keeps_its_path_and_nothing_of_the_text(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/a", TEXT))
    got = call("GET", shelf.version_url(shelf.versions()[0]), query={"view": "full"}).body
    assert list(got) == VERSION_KEYS
    assert (got["operation"], got["path"], got["redacted_at"]) == ("deleted", "/a", None)
    assert (got["content"], got["content_size_bytes"], got["content_sha256"]) == (None, None, None)


def test_each_kind_of_actor_is_one_type_and_one_id(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    session = ids.to_wire(ids.SESSION, ids.new_id())
    agent = Actor("session_actor", session, tenant.project.id, tenant.development.id, frozenset({"agent"}))
    shelf.put("/user")
    shelf.put("/session", actor=agent)
    call("POST", shelf.memories_url, {"path": "/key", "content": ""})
    shown = [call("GET", shelf.version_url(version)).body["created_by"] for version in shelf.versions()]
    assert shown == [
        {"type": "api_actor", "api_key_id": keys.authenticate_key(tenant.key).actor_id},
        {"type": "session_actor", "session_id": session},
        {"type": "user_actor", "user_id": tenant.actor.actor_id},
    ]
    assert tenant.key not in str(shown)


def test_an_actor_stays_after_its_key_is_revoked(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    secret = tenant.new_key("host")
    Caller(secret)("POST", shelf.memories_url, {"path": "/a", "content": ""})
    key_id = keys.authenticate_key(secret).actor_id
    keys.revoke_key(key_id, actor=tenant.actor)
    got = call("GET", shelf.version_url(shelf.versions()[0])).body
    assert got["created_by"] == {"type": "api_actor", "api_key_id": key_id}


@pytest.mark.parametrize(
    "version_id",
    [unused_id("memver"), unused_id("mem"), "memver_", "x", "%00", "%ff", "memver_" + "0" * 5_000],
)
def test_an_id_that_is_not_a_version_is_not_found(call: Caller, shelf: Shelf, version_id: str) -> None:
    for query in ({}, {"view": "x"}):
        refused = call("GET", shelf.url("memory_versions", version_id), query=query)
        assert refused.refusal == (404, "not_found_error", None)


def test_a_version_of_another_store_is_not_found(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put())
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    for version in shelf.versions():
        url = f"/v1/memory_stores/{other}/memory_versions/{version.wire_id}"
        assert call("GET", url).refusal == (404, "not_found_error", None)
        assert call("POST", f"{url}/redact").refusal == (404, "not_found_error", None)
