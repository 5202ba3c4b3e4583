"""Export of a store with its whole history: one moment of it, in an archive that is the same bytes each time."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import batched
from typing import IO, Any

from django.db.models import Count, Min, Sum

from memoryhub import tars
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.errors import InvalidRequest, Unavailable
from memoryhub.progress import Progress
from memoryhub.settling import wait_for_holders
from memoryhub.snapshots import snapshot
from memoryhub.spools import disk_room, open_spool
from stores.archives import (
    BLOBS_FOLDER,
    MANIFEST_NAME,
    VERSIONS_NAME,
    ArchivedHead,
    ArchivedStore,
    ArchivedVersion,
    ArchiveWriter,
    Contents,
    manifest_bytes,
)
from stores.memory_stores import gate_of, get_store
from stores.models import Memory, MemoryStore, MemoryVersion

EXPORT_STATEMENT_SECONDS_MAX = 300
ERASURE_SECONDS_MAX = 60.0
VERSIONS_CHUNK_ROWS = 2_000
BLOBS_CHUNK_ROWS = 50


@dataclass(frozen=True, slots=True)
class StoreExport:
    """What was written. The manifest's digest is equal for equal stores, wherever they are."""

    store_id: str
    manifest_sha256: str
    versions: int
    memories: int
    size_bytes: int


def export_store(
    store_id: str, out: IO[bytes], *, bytes_max: int | None, progress: Progress | None = None, actor: Actor
) -> StoreExport:
    """Write the archive of a store; the memory it takes does not grow with the store. `progress`: of the job that does it.

    Raises: NotFound; InvalidRequest for an archive of more than `bytes_max`, before anything is written; Unavailable.
    """
    with snapshot(statement_seconds_max=EXPORT_STATEMENT_SECONDS_MAX), open_spool() as lines, disk_room():
        store = get_store(store_id, actor=actor)
        count, versions_sha256 = _write_versions(store, lines)
        if progress is not None:
            progress.require()
        contents = Contents(count, versions_sha256, **_count_blobs(store))
        heads = _read_heads(store)
        manifest = manifest_bytes(_archived_store(store), heads, contents)
        _check_size(_archive_bytes(manifest, lines.tell(), contents), bytes_max)
        if progress is not None:
            progress.expect(contents.blobs_count)
        writer = ArchiveWriter(out)
        writer.add_bytes(MANIFEST_NAME, manifest)
        writer.add_file(VERSIONS_NAME, lines)
        for content_sha256, content in _read_blobs(store):
            writer.add_bytes(BLOBS_FOLDER + content_sha256, content.encode())
            if progress is not None:
                progress.advance()
        writer.end()
    return StoreExport(store.wire_id, sha256_hex(manifest), count, len(heads), writer.written)


def settle_erasures(store: MemoryStore) -> None:
    """Wait for the changes of the store that are under way; a job whose file is to be kept does so before it reads.

    Each erasure holds the store's gate to its end. One that was under way when the job's run began did not see the run;
    it has ended when this returns, so what it erased is not read. One that begins later takes the run's claim.
    Raises: Unavailable.
    """
    if not wait_for_holders(gate_of(store.id), seconds_max=ERASURE_SECONDS_MAX):
        raise Unavailable("A change of the store does not come to its end; repeat the export later.")


def _archive_bytes(manifest: bytes, lines_bytes: int, contents: Contents) -> int:
    """The archive's size, at most; padding of each blob is not known without reading it."""
    padded = contents.blobs_count * (2 * tars.BLOCK_BYTES - 1) + contents.blobs_bytes
    members = tars.member_bytes(len(manifest)) + tars.member_bytes(lines_bytes) + padded
    return members + 2 * tars.BLOCK_BYTES + tars.RECORD_BYTES


def _check_size(archive_bytes: int, bytes_max: int | None) -> None:
    if bytes_max is not None and archive_bytes > bytes_max:
        raise InvalidRequest(
            f"The archive would have about {archive_bytes} bytes, more than the {bytes_max} of a download: "
            "run ./hub export_store on the hub's machine.",
            error_code="archive_too_large",
        )


def _write_versions(store: MemoryStore, lines: IO[bytes]) -> tuple[int, str]:
    """(count, SHA-256) of the lines written."""
    count, digest = 0, hashlib.sha256()
    columns = list(ArchivedVersion.__dataclass_fields__)
    rows = MemoryVersion.objects.filter(store_id=store.id).order_by("number").values_list(*columns)
    for row in rows.iterator(chunk_size=VERSIONS_CHUNK_ROWS):
        line = ArchivedVersion(*row).line()
        lines.write(line)
        digest.update(line)
        count += 1
    return count, digest.hexdigest()


def _count_blobs(store: MemoryStore) -> dict[str, int]:
    counted = _distinct_contents(store).aggregate(count=Count("*"), size=Sum("content_size"))
    return {"blobs_count": counted["count"], "blobs_bytes": counted["size"] or 0}


def _distinct_contents(store: MemoryStore) -> Any:
    """A row for each content: its digest, the number of a version that holds it, its size."""
    kept = MemoryVersion.objects.filter(store_id=store.id, content_sha256__isnull=False)
    return (
        kept.values("content_sha256")
        .annotate(holder=Min("number"), content_size=Min("content_size_bytes"))
        .order_by("content_sha256")
    )


def _read_blobs(store: MemoryStore) -> Iterator[tuple[str, str]]:
    """(digest, text) of each content, in the order of digests."""
    distinct = _distinct_contents(store).values_list("content_sha256", "holder")
    for batch in batched(distinct.iterator(chunk_size=VERSIONS_CHUNK_ROWS), BLOBS_CHUNK_ROWS):
        holders = MemoryVersion.objects.filter(number__in=[number for _, number in batch])
        texts = dict(holders.values_list("content_sha256", "content"))
        for content_sha256, _ in batch:
            yield content_sha256, texts[content_sha256] or ""


def _read_heads(store: MemoryStore) -> list[ArchivedHead]:
    memories = Memory.objects.filter(store_id=store.id).order_by("path_key")
    columns = ["id", "head_id", "path", "frozen_at"]
    if store.history_from is not None:
        columns.append("created_at")
    return [ArchivedHead(*row) for row in memories.values_list(*columns)]


def _archived_store(store: MemoryStore) -> ArchivedStore:
    return ArchivedStore(**{name: getattr(store, name) for name in ArchivedStore.__dataclass_fields__})
