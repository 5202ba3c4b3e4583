"""The archive of a store that is made of plain files: each a memory with one version."""

from collections.abc import Sequence
from typing import IO

from memoryhub.digests import sha256_hex
from memoryhub.errors import InvalidRequest, RequestTooLarge
from memoryhub.file_archives import PlainFile, PlainStore
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
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.paths import check_path


def write_archive(store: PlainStore, files: Sequence[PlainFile], out: IO[bytes]) -> str:
    """The SHA-256 of the manifest. Raises: InvalidRequest, RequestTooLarge for what no store takes."""
    if len(files) > MEMORIES_PER_STORE_MAX:
        raise InvalidRequest(
            f"There are {len(files)} records, and a store holds {MEMORIES_PER_STORE_MAX} memories.",
            error_code="memory_store_full",
        )
    ordered = sorted(files, key=lambda file: check_path(file.path))
    contents = {sha256_hex(file.content): _bytes_of(file) for file in ordered}
    lines = b"".join(_version(file).line() for file in ordered)
    counted = Contents(len(ordered), sha256_hex(lines), len(contents), sum(map(len, contents.values())))
    manifest = manifest_bytes(_archived(store), [_head(file) for file in ordered], counted)
    writer = ArchiveWriter(out)
    writer.add_bytes(MANIFEST_NAME, manifest)
    writer.add_bytes(VERSIONS_NAME, lines)
    for sha256 in sorted(contents):
        writer.add_bytes(BLOBS_FOLDER + sha256, contents[sha256])
    writer.end()
    return sha256_hex(manifest)


def _bytes_of(file: PlainFile) -> bytes:
    raw = file.content.encode()
    if len(raw) > MEMORY_CONTENT_BYTES_MAX:
        raise RequestTooLarge(
            f"{file.path} has {len(raw)} bytes, and a memory takes {MEMORY_CONTENT_BYTES_MAX}.",
            error_code="memory_content_too_large",
        )
    return raw


def _archived(store: PlainStore) -> ArchivedStore:
    return ArchivedStore(
        id=store.id,
        name=store.name,
        description=store.description,
        metadata=store.metadata,
        created_at=store.created_at,
        updated_at=store.created_at,
        archived_at=None,
        frozen_at=None,
    )


def _head(file: PlainFile) -> ArchivedHead:
    return ArchivedHead(file.memory_id, file.version_id, file.path, None)


def _version(file: PlainFile) -> ArchivedVersion:
    return ArchivedVersion(
        id=file.version_id,
        memory_id=file.memory_id,
        operation="created",
        path=file.path,
        content_size_bytes=len(file.content.encode()),
        content_sha256=sha256_hex(file.content),
        created_at=file.created_at,
        created_by_type=file.created_by_type,
        created_by_id=file.created_by_id,
        redacted_at=None,
        redacted_by_type=None,
        redacted_by_id=None,
    )
