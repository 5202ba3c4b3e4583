import pytest

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from stores import memories
from stores.limits import MEMORIES_PER_STORE_MAX
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, Tenant, unused_id


def restore_url(shelf: Shelf, version_id: str) -> str:
    return shelf.url("memory_versions", version_id, "restore")


def precondition(content: str) -> dict[str, object]:
    return {"precondition": {"type": "content_sha256", "content_sha256": sha256_hex(content)}}


def test_an_earlier_content_and_path_come_back_as_a_new_version(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\n")
    shelf.update(memory, path="/b.md", content="two\n")
    first = shelf.versions()[-1]
    answer = call("POST", restore_url(shelf, first.wire_id), query={"view": "full"})
    assert answer.status == 200
    shown = answer.body
    assert (shown["id"], shown["path"], shown["content"]) == (memory.wire_id, "/a.md", "one\n")
    assert (shown["restored_version_id"], shown["is_new_memory"]) == (first.wire_id, False)
    newest = shelf.versions()[0]
    assert (newest.operation, newest.path, newest.content) == ("modified", "/a.md", "one\n")
    assert shown["memory_version_id"] == newest.wire_id
    assert shelf.audit()[-2:] == [
        audited(AuditAction.MEMORY_UPDATED, memory.wire_id),
        audited(AuditAction.MEMORY_RESTORED, memory.wire_id),
    ]
    row = AuditEvent.objects.order_by("number").last()
    assert row is not None and row.details["restored_version_id"] == first.wire_id
    assert row.parent_id == shelf.store_id


def test_the_content_is_left_out_by_default(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    assert call("POST", restore_url(shelf, shelf.versions()[-1].wire_id)).body["content"] is None


@pytest.mark.parametrize("body", [None, {}, {"precondition": None}])
def test_a_body_may_be_absent(call: Caller, shelf: Shelf, body: object) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    assert call("POST", restore_url(shelf, shelf.versions()[-1].wire_id), body).status == 200


def test_restoring_again_changes_nothing_even_with_a_stale_precondition(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    url = restore_url(shelf, shelf.versions()[-1].wire_id)
    first = call("POST", url)
    before = shelf.state()
    again = call("POST", url, precondition("two"))
    assert again.status == 200 and again.body == first.body
    assert shelf.state() == before


def test_a_stale_precondition_is_refused(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    url = restore_url(shelf, shelf.versions()[-1].wire_id)
    before = shelf.state()
    assert call("POST", url, precondition("one")).refusal == (409, "memory_precondition_failed_error", None)
    assert shelf.state() == before
    assert call("POST", url, precondition("two")).status == 200


def test_a_deleted_memory_comes_back_as_a_new_one(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one")
    shelf.delete(memory)
    created = shelf.versions()[-1]
    answer = call("POST", restore_url(shelf, created.wire_id))
    assert answer.status == 200
    assert answer.body["id"] != memory.wire_id and answer.body["is_new_memory"] is True
    assert call("GET", shelf.url("memories", answer.body["id"])).body["content"] == "one"
    assert shelf.versions()[0].operation == "created"
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_RESTORED, answer.body["id"])


def test_a_restored_deletion_restored_again_finds_its_path_taken(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/a.md", "one"))
    url = restore_url(shelf, shelf.versions()[-1].wire_id)
    made = call("POST", url).body["id"]
    again = call("POST", url)
    assert again.refusal == (409, "memory_path_conflict_error", None)
    assert again.body["error"]["conflicting_memory_id"] == made


def test_a_deleted_memory_meets_no_precondition(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/a.md", "one"))
    answer = call("POST", restore_url(shelf, shelf.versions()[-1].wire_id), precondition("one"))
    assert answer.refusal == (409, "memory_precondition_failed_error", None)
    assert shelf.paths() == []


def test_a_path_that_another_memory_took_is_refused(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", "one")
    shelf.update(memory, path="/b")
    other = shelf.put("/a/below", "x")
    before = shelf.state()
    answer = call("POST", restore_url(shelf, shelf.versions()[-1].wire_id))
    assert answer.refusal == (409, "memory_path_conflict_error", None)
    assert answer.body["error"]["conflicting_memory_id"] == other.wire_id
    assert shelf.state() == before


def test_a_redacted_version_cannot_be_restored(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    first = shelf.versions()[-1]
    call("POST", f"{shelf.version_url(first)}/redact")
    answer = call("POST", restore_url(shelf, first.wire_id))
    assert answer.refusal == (400, "invalid_request_error", "memory_version_redacted")


def test_a_deletion_has_no_content_to_restore(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put())
    answer = call("POST", restore_url(shelf, shelf.versions()[0].wire_id))
    assert answer.refusal == (400, "invalid_request_error", "memory_version_has_no_content")


def test_an_archived_store_stays_as_it_is(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(content="one"), content="two")
    shelf.archive()
    answer = call("POST", restore_url(shelf, shelf.versions()[-1].wire_id))
    assert answer.refusal == (400, "invalid_request_error", "memory_store_archived")


def test_a_full_store_takes_no_deleted_memory_back(call: Caller, shelf: Shelf) -> None:
    shelf.fill([f"/filled/{number}" for number in range(MEMORIES_PER_STORE_MAX - 1)])
    shelf.delete(shelf.put("/a", "one"))
    deleted = next(version for version in shelf.versions() if version.path == "/a" and version.content)
    url = restore_url(shelf, deleted.wire_id)
    last = shelf.put("/last", "x")
    assert call("POST", url).refusal == (400, "invalid_request_error", "memory_store_full")
    memories.delete_memory(shelf.store_id, last.wire_id, actor=shelf.actor)
    assert call("POST", url).status == 200


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(
    call: Caller, shelf: Shelf, stranger: Tenant
) -> None:
    shelf.put()
    url = restore_url(shelf, shelf.versions()[0].wire_id)
    unknown = restore_url(Shelf(unused_id("memstore"), shelf.actor), shelf.versions()[0].wire_id)
    theirs = stranger.call()
    for body in (None, {"unknown": 1}, precondition("x")):
        foreign, absent = theirs("POST", url, body), theirs("POST", unknown, body)
        assert foreign.status == absent.status == 404
        assert foreign.body["error"] == absent.body["error"]


@pytest.mark.parametrize("version_id", [unused_id("memver"), "memver_x", "mem_1", "%00"])
def test_a_missing_version_is_not_found(call: Caller, shelf: Shelf, version_id: str) -> None:
    assert call("POST", restore_url(shelf, version_id)).refusal == (404, "not_found_error", None)


@pytest.mark.parametrize(
    "body",
    [
        {"content": "x"},
        {"precondition": {"type": "content_sha256"}},
        {"precondition": {"type": "other", "content_sha256": "0" * 64}},
        {"precondition": {"type": "content_sha256", "content_sha256": "0" * 63}},
    ],
)
def test_a_malformed_body_is_refused(call: Caller, shelf: Shelf, body: object) -> None:
    shelf.put()
    answer = call("POST", restore_url(shelf, shelf.versions()[0].wire_id), body)
    assert answer.refusal == (400, "invalid_request_error", None)


def test_an_agent_and_a_reader_may_not_restore(tenant: Tenant, shelf: Shelf) -> None:
    shelf.put()
    url = restore_url(shelf, shelf.versions()[0].wire_id)
    agent = tenant.caller("agent", stores={shelf.store.id: "read_write"})
    for caller in (agent, tenant.caller("read")):
        assert caller("POST", url).refusal == (403, "permission_error", "scope_missing")
