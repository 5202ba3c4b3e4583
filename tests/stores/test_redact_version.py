from typing import Any

import pytest

from memoryhub import keys
from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from tests.stores.shelf import Shelf, audited
from tests.stores.test_get_version import VERSION_KEYS
from tests.world import Caller, Tenant, unused_id

SECRET = "the password is hunter2\n"
ERASED = {"path": None, "content": None, "content_size_bytes": None, "content_sha256": None}


@pytest.mark.parametrize("body", [None, {}])
def test_redacting_erases_four_fields_and_keeps_the_rest(
    call: Caller, tenant: Tenant, shelf: Shelf, body: Any
) -> None:
    shelf.update(shelf.put("/secret.md", SECRET), content="clean")
    url = shelf.version_url(shelf.versions()[-1])
    before = call("GET", url).body
    redacted = call("POST", f"{url}/redact", body)
    assert redacted.status == 200
    assert list(redacted.body) == VERSION_KEYS
    by = {"type": "api_actor", "api_key_id": keys.authenticate_key(tenant.key).actor_id}
    assert redacted.body == before | ERASED | {
        "redacted_at": redacted.body["redacted_at"],
        "redacted_by": by,
    }
    assert redacted.body["redacted_at"] > before["created_at"]
    assert call("GET", url).body == redacted.body
    assert call("GET", url, query={"view": "basic"}).body == redacted.body
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_VERSION_REDACTED, before["id"])


def test_redacting_again_changes_nothing(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    shelf.update(shelf.put(), content="new")
    url = f"{shelf.version_url(shelf.versions()[-1])}/redact"
    colleague = tenant.caller("host")
    first, state = call("POST", url).body, shelf.state()
    again = colleague("POST", url)
    assert (again.status, again.body) == (200, first)
    assert shelf.state() == state


def test_the_head_of_a_live_memory_is_refused_and_kept(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put(content=SECRET)
    state = shelf.state()
    refused = call("POST", f"{shelf.version_url(shelf.versions()[0])}/redact")
    assert refused.refusal == (400, "invalid_request_error", "memory_version_is_head")
    assert shelf.state() == state
    assert call("GET", shelf.memory_url(memory)).body["content"] == SECRET


def test_a_former_head_and_the_deletion_itself_may_be_redacted(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/secret.md", SECRET))
    for version in shelf.versions():
        redacted = call("POST", f"{shelf.version_url(version)}/redact")
        assert redacted.status == 200
        assert {name: redacted.body[name] for name in ERASED} == ERASED
        assert redacted.body["operation"] == version.operation
    listed = call("GET", shelf.url("memory_versions"), query={"view": "full"}).body["data"]
    assert [version["path"] for version in listed] == [None, None]


def test_each_version_is_redacted_on_its_own(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", SECRET)
    shelf.update(memory, path="/b")
    shelf.update(memory, content="clean")
    _, renamed, first = shelf.versions()
    call("POST", f"{shelf.version_url(first)}/redact")
    assert call("GET", shelf.version_url(renamed)).body["content_sha256"] == sha256_hex(SECRET)


def test_a_redacted_version_is_still_found_by_its_filters(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put(content=SECRET)
    shelf.update(memory, content="clean")
    first = shelf.versions()[-1]
    call("POST", f"{shelf.version_url(first)}/redact")
    query = {"memory_id": memory.wire_id, "operation": "created"}
    (listed,) = call("GET", shelf.url("memory_versions"), query=query).body["data"]
    assert listed["id"] == first.wire_id


def test_a_field_in_the_body_is_refused(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put())
    state = shelf.state()
    refused = call("POST", f"{shelf.version_url(shelf.versions()[-1])}/redact", {"reason": "leak"})
    assert refused.refusal == (400, "invalid_request_error", None)
    assert shelf.state() == state


def test_a_missing_version_or_store_is_not_found(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put())
    version = shelf.versions()[0].wire_id
    for store_id, version_id in ((shelf.store_id, unused_id("memver")), (unused_id("memstore"), version)):
        url = f"/v1/memory_stores/{store_id}/memory_versions/{version_id}/redact"
        for body in (None, {"unknown": 1}):
            assert call("POST", url, body).refusal == (404, "not_found_error", None)
