"""Reviewed memory as the archive of a store: importable, the same bytes each time, and refused where no store takes it."""

import io
import json
import tarfile

import pytest

from authority import space_archives
from authority.failures import ConflictError, PurgedSpaceError
from authority.graph import Head, HeadReference, make_record
from authority.models import Space
from authority.spaces import purge_space
from memoryhub.digests import sha256_hex
from memoryhub.errors import InvalidRequest, RequestTooLarge
from stores import imports
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory
from tests.authority.desk import make_reviewed, new_space, write
from tests.authority.doubles import entity
from tests.console.site import sign_in
from tests.world import Tenant

TEXT = "# Returns é\n"
FILE = {
    "content": TEXT,
    "path": "/a/Returns.md",
    "sha256": sha256_hex(TEXT),
    "storeId": "memstore_x",
    "versionId": "memver_x",
}


def export(space: Space, tenant: Tenant, head: Head | None = None) -> bytes:
    out = io.BytesIO()
    space_archives.export_space(space.wire_id, head.reference if head else None, out, actor=tenant.actor)
    return out.getvalue()


def import_it(archive: bytes, tenant: Tenant) -> dict[str, str]:
    imported = imports.import_store(
        io.BytesIO(archive), environment="production", name=None, actor=tenant.actor
    )
    found = Memory.objects.filter(store=imported.store).select_related("head")
    return {memory.path: str(memory.head.content) for memory in found}


def test_reviewed_memory_is_exported_and_imported_into_a_store(tenant: Tenant) -> None:
    space = new_space(tenant)
    first = write(
        tenant, space, entity("fact/a:b", "Ü\n", "seed"), entity("seed"), make_record("f", "memory", FILE, [])
    ).head
    write(tenant, space, entity("seed", "Later"), entity("more"))
    files = import_it(export(space, tenant, first), tenant)
    assert files.keys() == {"/entity/fact%a:b.json", "/entity/seed.json", "/memory/f/text.md"}
    assert files["/memory/f/text.md"] == TEXT
    record = json.loads(files["/entity/fact%a:b.json"])
    assert (record["value"], record["recordSha256"]) == (
        {"name": "Ü\n"},
        entity("fact/a:b", "Ü\n", "seed").sha256,
    )
    now = import_it(export(space, tenant), tenant)
    assert json.loads(now["/entity/seed.json"])["value"] == {"name": "Later"}
    assert len(now) == 4


def test_a_heads_archive_is_the_same_bytes_each_time(tenant: Tenant) -> None:
    space = new_space(tenant)
    head = write(tenant, space, entity("b"), entity("a")).head
    before = export(space, tenant)
    write(tenant, space, entity("a", "Later"))
    assert export(space, tenant, head) == before != export(space, tenant)
    with tarfile.open(fileobj=io.BytesIO(before)) as tar:
        manifest = json.loads(tar.extractfile("manifest.json").read())  # type: ignore[union-attr]
    assert manifest["memory_store"]["metadata"]["operation_sha256"] == head.operation_sha256
    assert import_it(export(new_space(tenant), tenant), tenant) == {}


def test_a_head_that_is_not_there_and_an_emptied_space_have_no_archive(tenant: Tenant) -> None:
    space = new_space(tenant, "working")
    write(tenant, space, entity("a"))
    with pytest.raises(ConflictError):
        space_archives.export_space(
            space.wire_id, HeadReference(1, "f" * 64), io.BytesIO(), actor=tenant.actor
        )
    purge_space(space.wire_id, expected_sequence=1, actor=tenant.actor)
    with pytest.raises(PurgedSpaceError):
        export(space, tenant)


@pytest.mark.parametrize("more", [0, 1])
def test_a_store_takes_as_many_records_as_it_holds_memories(tenant: Tenant, more: int) -> None:
    space = new_space(tenant)
    write(tenant, space, *(entity(f"k:{n}") for n in range(MEMORIES_PER_STORE_MAX + more)))
    if more:
        with pytest.raises(InvalidRequest, match="2001 records"):
            export(space, tenant)
    else:
        assert export(space, tenant)


@pytest.mark.parametrize("more", [0, 1])
def test_a_record_fits_into_a_memory_or_is_refused(tenant: Tenant, more: int) -> None:
    empty = len(space_archives.path_and_text(json.loads(entity("a", "").text))[1].encode())
    space = new_space(tenant)
    write(tenant, space, entity("a", "x" * (MEMORY_CONTENT_BYTES_MAX - empty + more)))
    if more:
        with pytest.raises(RequestTooLarge, match="/entity/a.json has 102401 bytes"):
            export(space, tenant)
    else:
        assert len(import_it(export(space, tenant), tenant)["/entity/a.json"]) == MEMORY_CONTENT_BYTES_MAX


def test_over_the_wire_and_from_the_page_of_an_authority(tenant: Tenant) -> None:
    reviewed = make_reviewed(tenant)
    write(tenant, reviewed.canonical, entity("unread"))
    answer = tenant.caller("read")(
        "GET",
        f"/v1/spaces/{reviewed.canonical.wire_id}/archive",
        query={"sequence": 1, "operation": reviewed.pin.operation_sha256},
    )
    assert answer.status == 200
    owner = sign_in(tenant.owner, tenant.project)
    page = owner.get(f"/authorities/{reviewed.authority.wire_id}/archive")
    assert b"".join(page.streaming_content) == answer.content
    assert import_it(answer.content, tenant).keys() == {"/entity/seed.json"}
