from memoryhub.audit import AuditAction
from stores.models import Memory, MemoryIndex, MemoryStore, MemoryVersion
from tests.plants import run_sql
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id


def test_everything_of_the_store_goes_and_nothing_else(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    other = Shelf(call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"], tenant.actor)
    kept = other.put("/kept", "kept")
    shelf.update(shelf.put("/a", "1"), content="2")
    shelf.delete(shelf.put("/gone", "x"))
    redacted = shelf.versions()[-1]
    call("POST", f"{shelf.version_url(redacted)}/redact")
    store_key = shelf.store.id
    deleted = call("DELETE", shelf.url())
    assert (deleted.status, deleted.body) == (200, {"id": shelf.store_id, "type": "memory_store_deleted"})
    assert list(deleted.body) == ["id", "type"]
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    assert not MemoryStore.objects.filter(id=store_key).exists()
    for rows in (Memory, MemoryVersion, MemoryIndex):
        assert not rows.objects.filter(store_id=store_key).exists()  # type: ignore[attr-defined]
    assert call("GET", other.memory_url(kept)).body["content"] == "kept"
    assert [version.memory_id for version in other.versions()] == [kept.id]


def test_deleting_is_audited_and_the_trail_stays(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    memory = shelf.put()
    call("DELETE", shelf.url())
    trail = Shelf(shelf.store_id, tenant.actor).audit()
    assert trail[-2:] == [
        (AuditAction.MEMORY_CREATED, memory.wire_id),
        (AuditAction.MEMORY_STORE_DELETED, shelf.store_id),
    ]


def test_a_deleted_store_is_gone_for_every_operation(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    version = shelf.versions()[0]
    urls = [shelf.url(), shelf.memories_url, shelf.memory_url(memory), shelf.version_url(version)]
    call("DELETE", shelf.url())
    assert [call("GET", url).status for url in urls] == [404] * 4
    assert [call("POST", url, {"unknown": 1}).status for url in urls[:3]] == [404] * 3
    assert call("DELETE", shelf.url()).refusal == (404, "not_found_error", None)
    listed = call("GET", "/v1/memory_stores", query={"include_archived": "true"}).body["data"]
    assert shelf.store_id not in [store["id"] for store in listed]


def test_an_archived_store_may_be_deleted(call: Caller, shelf: Shelf) -> None:
    shelf.archive()
    assert call("DELETE", shelf.url()).status == 200


def test_a_missing_store_is_not_found(call: Caller) -> None:
    refused = call("DELETE", f"/v1/memory_stores/{unused_id('memstore')}")
    assert refused.refusal == (404, "not_found_error", None)


def test_a_body_with_a_field_is_refused(call: Caller, shelf: Shelf) -> None:
    assert call("DELETE", shelf.url(), {"force": True}).refusal == (400, "invalid_request_error", None)
    assert shelf.store


def test_a_long_history_takes_its_time_to_go(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    copies = (
        "INSERT INTO stores_memoryversion (id, project_id, store_id, memory_id, operation, path, content, "
        "created_by_type, created_by_id) SELECT uuidv7(), %s, %s, %s, 'modified', '/a.md', 'x', 'user_actor', 'x' "
        "FROM generate_series(1, 20000)"
    )
    run_sql(copies, [shelf.actor.project_id, shelf.store.id, memory.id])
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    run_sql("SET LOCAL statement_timeout = '200ms'")  # far less than it takes
    assert call("DELETE", shelf.url()).status == 200
