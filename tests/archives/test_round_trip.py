"""A store goes out with its whole history and comes back equal: same bytes, same digest, same answers."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from memoryhub import ids
from memoryhub.models import AuditEvent
from stores import exports, imports
from stores.models import Memory, MemoryIndex, MemoryStore, MemoryVersion
from tests.archives.written import MANIFEST, VERSIONS, Parts, export, import_archive, members_of
from tests.plants import run_sql
from tests.world import Caller, Tenant, unused_id


def write(call: Caller, store_id: str, path: str, content: str) -> str:
    made = call("POST", f"/v1/memory_stores/{store_id}/memories", {"path": path, "content": content})
    assert made.status == 200, made.body
    return str(made.body["id"])


def change(call: Caller, store_id: str, memory_id: str, **body: Any) -> None:
    assert call("POST", f"/v1/memory_stores/{store_id}/memories/{memory_id}", body).status == 200


@pytest.fixture
def lived_in(call: Caller, store_id: str) -> str:
    """A store with every kind of version, frozen and archived."""
    url = f"/v1/memory_stores/{store_id}"
    call("POST", url, {"description": "What we know", "metadata": {"team": "é"}})
    kept = write(call, store_id, "/kept.md", "  one\r\n")
    change(call, store_id, kept, content="two\ufeff")
    change(call, store_id, kept, path="/a/kept.md")
    change(call, store_id, kept, content="  one\r\n")  # equal contents stand once
    gone = write(call, store_id, "/gone.md", "secret")
    write(call, store_id, "/empty", "")
    versions = call("GET", f"{url}/memory_versions", query={"memory_id": gone}).body["data"]
    assert call("DELETE", f"{url}/memories/{gone}").status == 200
    assert call("POST", f"{url}/memory_versions/{versions[0]['id']}/redact").status == 200
    Memory.objects.filter(id=ids.from_wire(ids.MEMORY, kept)).update(frozen_at="2100-01-01T00:00:00Z")
    assert call("POST", f"{url}/archive").status == 200
    return store_id


def everything(call: Caller, store_id: str) -> dict[str, Any]:
    """All that the API shows of a store."""
    url = f"/v1/memory_stores/{store_id}"
    lists = {
        name: call("GET", f"{url}/{name}", query={"view": "full"}).body["data"]
        for name in ("memories", "memory_versions")
    }
    return {"store": call("GET", url).body, **lists}


def test_an_archive_holds_manifest_versions_and_each_content_once(call: Caller, lived_in: str) -> None:
    members = members_of(export(call, lived_in))
    names = list(members)
    assert names[:2] == [MANIFEST, VERSIONS]
    assert names[2:] == sorted(names[2:])
    for name in names[2:]:
        assert name == f"blobs/{hashlib.sha256(members[name]).hexdigest()}"
    assert {members[name] for name in names[2:]} == {b"  one\r\n", "two\ufeff".encode(), b""}
    parts = Parts(export(call, lived_in))
    assert len(parts.versions) == 7
    assert [head["path"] for head in parts.manifest["heads"]] == ["/a/kept.md", "/empty"]


def test_a_redacted_text_is_in_no_archive(call: Caller, lived_in: str) -> None:
    archive = export(call, lived_in)
    assert b"secret" not in archive
    assert hashlib.sha256(b"secret").hexdigest().encode() not in archive


def test_the_same_store_gives_the_same_bytes(call: Caller, lived_in: str) -> None:
    first = call("GET", f"/v1/memory_stores/{lived_in}/export")
    assert first.content == export(call, lived_in)
    digest = hashlib.sha256(members_of(first.content)[MANIFEST]).hexdigest()
    assert first.headers["manifest-sha256"] == digest
    assert first.headers["content-type"] == "application/x-tar"
    assert first.headers["content-disposition"] == f'attachment; filename="{lived_in}.tar"'
    assert int(first.headers["content-length"]) == len(first.content)


def test_it_comes_back_as_it_was_where_its_ids_are_free(call: Caller, lived_in: str) -> None:
    before, archive = everything(call, lived_in), export(call, lived_in)
    assert call("DELETE", f"/v1/memory_stores/{lived_in}").status == 200
    answer = import_archive(call, archive)
    assert answer.status == 200, answer.body
    assert answer.body["memory_store"] == before["store"]
    assert answer.body["id_map"] == {
        "memory_stores": 0,
        "memories": 0,
        "memory_versions": 0,
        "mapped": [],
        "has_more": False,
    }
    assert everything(call, lived_in) == before
    assert export(call, lived_in) == archive
    assert answer.body["manifest_sha256"] == hashlib.sha256(members_of(archive)[MANIFEST]).hexdigest()


def test_taken_ids_are_mapped_and_all_else_is_equal(call: Caller, lived_in: str) -> None:
    archive = export(call, lived_in)
    answer = import_archive(call, archive)
    assert answer.status == 200, answer.body
    id_map = answer.body["id_map"]
    assert (id_map["memory_stores"], id_map["memories"], id_map["memory_versions"]) == (1, 3, 7)
    mapped = {pair["archived_id"]: pair["id"] for pair in id_map["mapped"]}
    assert mapped[lived_in] == answer.body["memory_store"]["id"] != lived_in
    copy = export(call, answer.body["memory_store"]["id"])
    renamed = archive
    for old, new in mapped.items():
        renamed = renamed.replace(old.encode(), new.encode())
    assert Parts(copy).versions == Parts(renamed).versions
    assert Parts(copy).blobs == Parts(archive).blobs
    ignored = {"versions": None}  # its digest covers the ids
    assert {**Parts(copy).manifest, **ignored} == {**Parts(renamed).manifest, **ignored}


def test_only_the_ids_that_are_taken_are_mapped(call: Caller, store_id: str) -> None:
    write(call, store_id, "/a", "a")
    parts = Parts(export(call, store_id))
    assert call("DELETE", f"/v1/memory_stores/{store_id}").status == 200
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    taken = write(call, other, "/b", "b")
    call("DELETE", f"/v1/memory_stores/{other}/memories/{taken}")  # its id lives on in the history
    parts.versions[0]["memory_id"] = parts.manifest["heads"][0]["memory_id"] = taken
    answer = import_archive(call, parts.write())
    assert answer.status == 200, answer.body
    assert answer.body["memory_store"]["id"] == store_id
    assert [pair["archived_id"] for pair in answer.body["id_map"]["mapped"]] == [taken]


def test_the_list_of_mapped_ids_is_bounded(
    call: Caller, lived_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = export(call, lived_in)
    for bound, has_more in ((11, False), (10, True)):
        monkeypatch.setattr("stores.archives_api.MAPPED_SHOWN_MAX", bound)
        id_map = import_archive(call, archive).body["id_map"]
        assert (len(id_map["mapped"]), id_map["has_more"]) == (bound, has_more)


def test_an_imported_store_is_found_changed_and_numbered_as_any_other(call: Caller, store_id: str) -> None:
    for number in range(3):
        write(call, store_id, f"/{number}", f"text {number}")
    imported = import_archive(call, export(call, store_id)).body["memory_store"]["id"]
    key = ids.from_wire(ids.MEMORY_STORE, imported)
    assert MemoryIndex.objects.filter(store_id=key).count() == 3
    versions = list(MemoryVersion.objects.filter(store_id=key).order_by("number"))
    assert [version.path for version in versions] == ["/0", "/1", "/2"]
    newest_old = MemoryVersion.objects.filter(store_id=ids.from_wire(ids.MEMORY_STORE, store_id)).latest(
        "number"
    )
    assert versions[0].number > newest_old.number
    memory = call("GET", f"/v1/memory_stores/{imported}/memories").body["data"][0]
    change(call, imported, memory["id"], content="new")
    assert call("DELETE", f"/v1/memory_stores/{imported}/memories/{memory['id']}").status == 200


def test_the_import_is_audited_with_counts_and_without_content(
    committed: Tenant, call: Caller, lived_in: str
) -> None:
    imported = import_archive(call, export(call, lived_in), name="Copy").body
    event = AuditEvent.objects.filter(project=committed.project).latest("number")
    assert (event.action, event.subject_id) == ("memory_store.imported", imported["memory_store"]["id"])
    assert event.details == imported["counts"]
    assert event.details == {
        "memories": 2,
        "memory_versions": 7,
        "redacted_versions": 1,
        "content_bytes": 26,
        "ids_mapped": 11,
    }
    assert event.environment_id == committed.development.id
    assert imported["memory_store"]["name"] == "Copy"


def test_it_goes_into_the_environment_that_is_named(committed: Tenant, call: Caller, store_id: str) -> None:
    archive = export(call, store_id)
    whole = committed.caller("admin", whole=True)
    made = import_archive(whole, archive, environment="production").body["memory_store"]["id"]
    assert (
        MemoryStore.objects.get(id=ids.from_wire(ids.MEMORY_STORE, made)).environment_id
        == committed.production.id
    )
    assert import_archive(whole, archive).status == 400  # several, and none named
    assert import_archive(call, archive, environment="production").status == 404


def test_a_stranger_and_an_agent_export_nothing(committed: Tenant, call: Caller, lived_in: str) -> None:
    from tests.world import make_tenant

    theirs = make_tenant().call()("GET", f"/v1/memory_stores/{lived_in}/export")
    missing = make_tenant().call()("GET", f"/v1/memory_stores/{unused_id('memstore')}/export")
    assert theirs.status == missing.status == 404
    assert theirs.body["error"] == missing.body["error"]
    agent = committed.caller("agent", stores={ids.from_wire(ids.MEMORY_STORE, lived_in): "read_write"})
    assert agent("GET", f"/v1/memory_stores/{lived_in}/export").status == 403
    assert import_archive(agent, export(call, lived_in)).status == 403
    assert import_archive(committed.caller("read"), export(call, lived_in)).status == 403


def test_an_archive_larger_than_a_download_is_refused_and_names_the_command(
    call: Caller, lived_in: str, settings: Any
) -> None:
    settings.ARCHIVE_BYTES_MAX = 4_000
    answer = call("GET", f"/v1/memory_stores/{lived_in}/export")
    assert (answer.status, answer.error_code) == (400, "archive_too_large")
    assert "./hub export_store" in answer.message


def test_an_export_is_of_one_moment_while_writers_go_on(
    committed: Tenant, call: Caller, store_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the versions and the heads another memory commits: it is in neither."""
    write(call, store_id, "/before", "x")
    read_heads = exports._read_heads

    def write_then_read(store: MemoryStore) -> Any:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_write_elsewhere, committed.key, store_id).result()
        return read_heads(store)

    monkeypatch.setattr(exports, "_read_heads", write_then_read)
    parts = Parts(export(call, store_id))
    assert [version["path"] for version in parts.versions] == ["/before"]
    assert [head["path"] for head in parts.manifest["heads"]] == ["/before"]
    assert call("GET", f"/v1/memory_stores/{store_id}/memories").body["data"][1]["path"] == "/during"


def _write_elsewhere(key: str, store_id: str) -> None:
    try:
        write(Caller(key), store_id, "/during", "y")
    finally:
        connection.close()


def test_two_imports_of_one_archive_at_once_make_two_stores_or_a_conflict(
    committed: Tenant, call: Caller, lived_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = export(call, lived_in)
    assert call("DELETE", f"/v1/memory_stores/{lived_in}").status == 200
    both_looked = threading.Barrier(2, timeout=10)
    map_taken = imports._map_taken_ids

    def look_together(*arguments: Any) -> Any:
        found = map_taken(*arguments)
        both_looked.wait()
        return found

    monkeypatch.setattr(imports, "_map_taken_ids", look_together)

    def run() -> Any:
        try:
            return import_archive(Caller(committed.key), archive)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = [future.result() for future in [pool.submit(run) for _ in range(2)]]
    assert sorted(answer.status for answer in answers) == [200, 409]
    assert MemoryStore.objects.filter(project=committed.project).count() == 1
    assert export(call, lived_in) == archive


def test_a_full_environment_and_a_full_quota_refuse_and_keep_nothing(
    committed: Tenant, call: Caller, lived_in: str, settings: Any
) -> None:
    archive = export(call, lived_in)
    settings.STORES_MAX = 1
    refused = import_archive(call, archive)
    assert (refused.status, refused.error_code) == (400, "stores_full")
    settings.STORES_MAX = 2
    for name, enough, code in (
        ("VERSIONS_MAX", 7, "versions_full"),
        ("VERSION_BYTES_MAX", 26, "version_bytes_full"),
    ):
        run_sql("DELETE FROM memoryhub_usage WHERE project_id = %s", [committed.project.id])
        setattr(settings, name, enough - 1)
        refused = import_archive(call, archive)
        assert (refused.status, refused.error_code) == (400, code)
        setattr(settings, name, enough)
    assert MemoryStore.objects.filter(project=committed.project).count() == 1
    assert import_archive(call, archive).status == 200


def test_a_history_that_grows_past_its_bound_is_refused(
    call: Caller, store_id: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One content, many versions: the archive stays small and the history does not."""
    memory_id = write(call, store_id, "/0", "x" * 50_000)
    for number in range(1, 4):
        change(call, store_id, memory_id, path=f"/{number}")
    archive = export(call, store_id)
    settings.ARCHIVE_BYTES_MAX = len(archive)
    monkeypatch.setattr(imports, "HISTORY_FACTOR_MAX", 200_000 / len(archive))
    assert import_archive(call, archive).status == 200
    monkeypatch.setattr(imports, "HISTORY_FACTOR_MAX", 199_999 / len(archive))
    refused = import_archive(call, archive)
    assert (refused.status, refused.error_code) == (400, "archive_too_large")


def test_a_store_with_nothing_in_it_goes_and_comes(call: Caller, store_id: str) -> None:
    archive = export(call, store_id)
    call("DELETE", f"/v1/memory_stores/{store_id}")
    assert import_archive(call, archive).status == 200
    assert export(call, store_id) == archive


def test_batches_of_every_size_keep_the_order(
    call: Caller, store_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        write(call, store_id, f"/{number}", "x" * number)
    archive = export(call, store_id)
    for rows, size in ((1, 10**9), (3, 10**9), (7, 10**9), (8, 1)):
        monkeypatch.setattr(imports, "INSERT_ROWS", rows)
        monkeypatch.setattr(imports, "INSERT_BYTES", size)
        monkeypatch.setattr(imports, "LOOKUP_ROWS", rows)
        monkeypatch.setattr(exports, "BLOBS_CHUNK_ROWS", rows)
        assert export(call, store_id) == archive
        made = import_archive(call, archive).body["memory_store"]["id"]
        assert [version["path"] for version in Parts(export(call, made)).versions] == [
            f"/{n}" for n in range(7)
        ]
