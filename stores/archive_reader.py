"""Archives read strictly: nothing is believed before it is checked. Pure: reads a file that can seek.

Everything raises InvalidRequest with a sentence that names the member.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any
from uuid import UUID

from rest_framework.serializers import Field, ValidationError

from memoryhub import ids, strict_json, tars
from memoryhub.digests import is_sha256_hex, sha256_hex
from memoryhub.fields import StringMap, Text
from memoryhub.tars import Member, TarError
from stores.archive_heads import History, LiveMemory, check_heads
from stores.archives import (
    ARCHIVE_VERSIONS_MAX,
    BLOBS_FOLDER,
    FORMAT,
    MANIFEST_BYTES_MAX,
    MANIFEST_NAME,
    REMOVED_VERSION,
    VERSION_LINE_BYTES_MAX,
    VERSIONS_NAME,
    WHOLE_VERSION,
    ArchivedHead,
    ArchivedStore,
    ArchivedVersion,
    Contents,
    archive_refused,
    parse_canonical,
    parse_version_line,
    read_id,
    read_moment,
    read_optional_moment,
    require_keys,
)
from stores.limits import (
    MEMORIES_PER_STORE_MAX,
    MEMORY_CONTENT_BYTES_MAX,
    METADATA_KEY_LENGTH_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_LENGTH_MAX,
    STORE_DESCRIPTION_LENGTH_MAX,
    STORE_NAME_LENGTH_MAX,
)

STORE_FIELDS: dict[str, Field[Any, Any, Any, Any]] = {
    "name": Text(length_min=1, length_max=STORE_NAME_LENGTH_MAX, plain=True),
    "description": Text(length_max=STORE_DESCRIPTION_LENGTH_MAX),
    "metadata": StringMap(
        pairs_max=METADATA_PAIRS_MAX,
        key_length_max=METADATA_KEY_LENGTH_MAX,
        value_length_max=METADATA_VALUE_LENGTH_MAX,
    ),
}
_MANIFEST_KEYS = frozenset(("format", "format_version", "memory_store", "heads", "versions", "blobs"))
_STORE_KEYS = frozenset(("id", *STORE_FIELDS, "created_at", "updated_at", "archived_at", "frozen_at"))
_HEAD_KEYS = frozenset(("memory_id", "memory_version_id", "path", "frozen_at"))
_VERSIONS = {
    WHOLE_VERSION: (_STORE_KEYS, _HEAD_KEYS),
    REMOVED_VERSION: (_STORE_KEYS | {"history_from"}, _HEAD_KEYS | {"created_at"}),
}


class Archive:
    """An archive whose members and manifest are read; `check` reads the rest."""

    def __init__(self, tar: IO[bytes]) -> None:
        self._tar = tar
        self._members = _index_members(tar)
        raw = self._read(MANIFEST_NAME)
        self.manifest_sha256 = sha256_hex(raw)
        self.store, self.heads, self.contents = _parse_manifest(raw)

    def check(self) -> History:
        """Everything an import relies on: the history, its heads, and every content."""
        history = _Checker(self).check_history()
        check_heads(self.heads, history)
        self._check_blobs()
        return history

    def versions(self) -> Iterator[ArchivedVersion]:
        """In order; each line is checked for itself."""
        for number, line in enumerate(self._lines(), start=1):
            yield parse_version_line(line, f"{VERSIONS_NAME}, line {number}")

    def version_ids(self) -> Iterator[tuple[UUID, UUID]]:
        """(version, memory) of each line; `check` has seen them."""
        for line in self._lines():
            value = strict_json.parse_object(line)
            yield UUID(hex=value["id"][-32:]), UUID(hex=value["memory_id"][-32:])

    def _lines(self) -> Iterator[bytes]:
        """Without their line feeds."""
        member = self._members[VERSIONS_NAME]
        offset, end, number = member.offset, member.offset + member.size, 0
        while offset < end:
            number += 1
            self._tar.seek(offset)
            line = self._tar.readline(min(VERSION_LINE_BYTES_MAX, end - offset))
            if not line.endswith(b"\n"):
                raise archive_refused(
                    f"{VERSIONS_NAME}, line {number}",
                    f"It does not end within {VERSION_LINE_BYTES_MAX} bytes, or not at all.",
                )
            yield line[:-1]
            offset += len(line)

    def content(self, content_sha256: str) -> str:
        """The text of a blob that `check` has seen."""
        return self._read(BLOBS_FOLDER + content_sha256).decode()

    def blob_size(self, content_sha256: str) -> int | None:
        member = self._members.get(BLOBS_FOLDER + content_sha256)
        return None if member is None else member.size

    def versions_sha256(self) -> str:
        member, digest = self._members[VERSIONS_NAME], hashlib.sha256()
        self._tar.seek(member.offset)
        rest = member.size
        while chunk := self._tar.read(min(rest, 1_048_576)):
            digest.update(chunk)
            rest -= len(chunk)
        return digest.hexdigest()

    def _check_blobs(self) -> None:
        blobs = [member for name, member in self._members.items() if name.startswith(BLOBS_FOLDER)]
        if (len(blobs), sum(blob.size for blob in blobs)) != (
            self.contents.blobs_count,
            self.contents.blobs_bytes,
        ):
            raise archive_refused(MANIFEST_NAME, "The archive does not hold the blobs that it counts.")
        for blob in blobs:
            _check_blob(blob.name, self._read(blob.name))

    def _read(self, name: str) -> bytes:
        member = self._members[name]
        self._tar.seek(member.offset)
        return self._tar.read(member.size)


def _index_members(tar: IO[bytes]) -> dict[str, Member]:
    """The members by name: those an archive has, once each, none larger than it may be."""
    members: dict[str, Member] = {}
    try:
        for member in tars.read_members(tar, members_max=ARCHIVE_VERSIONS_MAX + 2):
            bytes_max = _member_bytes_max(member.name)
            if bytes_max is None:
                raise archive_refused(member.name, "An archive has no such member.")
            if member.name in members:
                raise archive_refused(member.name, "The archive holds it twice.")
            if member.size > bytes_max:
                raise archive_refused(
                    member.name, f"It has {member.size} bytes; at most {bytes_max} are allowed."
                )
            members[member.name] = member
    except TarError as error:
        raise archive_refused("archive", str(error)) from error
    for name in (MANIFEST_NAME, VERSIONS_NAME):
        if name not in members:
            raise archive_refused(name, "The archive does not hold it.")
    return members


def _member_bytes_max(name: str) -> int | None:
    """None for a name that no member has."""
    if name == MANIFEST_NAME:
        return MANIFEST_BYTES_MAX
    if name == VERSIONS_NAME:
        return ARCHIVE_VERSIONS_MAX * VERSION_LINE_BYTES_MAX
    if name.startswith(BLOBS_FOLDER) and is_sha256_hex(name.removeprefix(BLOBS_FOLDER)):
        return MEMORY_CONTENT_BYTES_MAX
    return None


def _check_blob(name: str, raw: bytes) -> None:
    if sha256_hex(raw) != name.removeprefix(BLOBS_FOLDER):
        raise archive_refused(name, "Its content has another SHA-256.")
    try:
        strict_json.check_text(raw.decode("utf-8", "strict"))
    except ValueError as error:
        raise archive_refused(name, "It is not UTF-8 text without NUL.") from error


# The manifest.


def _parse_manifest(raw: bytes) -> tuple[ArchivedStore, list[ArchivedHead], Contents]:
    value = parse_canonical(raw, MANIFEST_NAME)
    version = value.get("format_version")
    if value.get("format") != FORMAT or type(version) is not int or version not in _VERSIONS:
        raise archive_refused(
            MANIFEST_NAME,
            f"This hub reads the format {FORMAT}, versions {WHOLE_VERSION} and {REMOVED_VERSION}.",
        )
    require_keys(value, _MANIFEST_KEYS, MANIFEST_NAME)
    store_keys, head_keys = _VERSIONS[version]
    heads = value["heads"]
    if not isinstance(heads, list) or len(heads) > MEMORIES_PER_STORE_MAX:
        raise archive_refused(MANIFEST_NAME, f"heads must be a list of at most {MEMORIES_PER_STORE_MAX}.")
    store = _parse_store(_object(value, "memory_store", store_keys))
    parsed = [
        _parse_head(head, head_keys, f"{MANIFEST_NAME}, heads[{index}]") for index, head in enumerate(heads)
    ]
    return store, parsed, _parse_contents(value)


def _object(value: dict[str, Any], key: str, keys: frozenset[str]) -> dict[str, Any]:
    inner = value[key]
    if not isinstance(inner, dict):
        raise archive_refused(MANIFEST_NAME, f"{key} must be an object.")
    require_keys(inner, keys, f"{MANIFEST_NAME}, {key}")
    return inner


def _parse_store(value: dict[str, Any]) -> ArchivedStore:
    where = f"{MANIFEST_NAME}, memory_store"
    for name, shape in STORE_FIELDS.items():
        try:
            shape.run_validation(value[name])
        except ValidationError as error:
            raise archive_refused(where, f"{name}: {error.detail[0]}") from error  # type: ignore[index]
    return ArchivedStore(
        id=read_id(value, "id", ids.MEMORY_STORE, where),
        name=value["name"],
        description=value["description"],
        metadata=value["metadata"],
        created_at=read_moment(value, "created_at", where),
        updated_at=read_moment(value, "updated_at", where),
        archived_at=read_optional_moment(value, "archived_at", where),
        frozen_at=read_optional_moment(value, "frozen_at", where),
        history_from=read_moment(value, "history_from", where) if "history_from" in value else None,
    )


def _parse_head(value: Any, keys: frozenset[str], where: str) -> ArchivedHead:
    if not isinstance(value, dict):
        raise archive_refused(where, "It must be an object.")
    require_keys(value, keys, where)
    if not isinstance(value["path"], str):
        raise archive_refused(where, "path must be a string.")
    return ArchivedHead(
        memory_id=read_id(value, "memory_id", ids.MEMORY, where),
        version_id=read_id(value, "memory_version_id", ids.MEMORY_VERSION, where),
        path=value["path"],
        frozen_at=read_optional_moment(value, "frozen_at", where),
        created_at=read_moment(value, "created_at", where) if "created_at" in value else None,
    )


def _parse_contents(value: dict[str, Any]) -> Contents:
    versions = _object(value, "versions", frozenset(("count", "sha256")))
    blobs = _object(value, "blobs", frozenset(("count", "size_bytes")))
    counts = (versions["count"], blobs["count"], blobs["size_bytes"])
    if any(type(count) is not int or count < 0 for count in counts) or not is_sha256_hex(versions["sha256"]):
        raise archive_refused(MANIFEST_NAME, "versions or blobs does not hold counts and a digest.")
    return Contents(versions["count"], versions["sha256"], blobs["count"], blobs["size_bytes"])


# The history: contract stores 3.3, and what a live store's rows can be.


class _Checker:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.history = History()
        self.where = VERSIONS_NAME
        self._memories: set[bytes] = set()  # as bytes: a history of half a million takes little
        self._versions: set[bytes] = set()
        self._blobs: set[bytes] = set()
        self._frozen = {head.memory_id: head.frozen_at for head in archive.heads if head.frozen_at}

    def check_history(self) -> History:
        history, contents = self.history, self.archive.contents
        if self.archive.versions_sha256() != contents.versions_sha256:
            raise archive_refused(VERSIONS_NAME, "Its SHA-256 is not the one in the manifest.")
        if contents.versions_count > ARCHIVE_VERSIONS_MAX:
            raise archive_refused(MANIFEST_NAME, f"An archive holds at most {ARCHIVE_VERSIONS_MAX} versions.")
        for version in self.archive.versions():
            history.versions += 1
            self.where = f"{VERSIONS_NAME}, line {history.versions}"
            if history.versions > contents.versions_count:
                break
            self._take(version)
        if history.versions != contents.versions_count:
            raise archive_refused(
                MANIFEST_NAME, f"{VERSIONS_NAME} does not hold {contents.versions_count} versions."
            )
        if len(self._blobs) != contents.blobs_count:
            raise archive_refused(MANIFEST_NAME, "The archive holds blobs that no version has.")
        return history

    def _take(self, version: ArchivedVersion) -> None:
        if version.id.bytes in self._versions:
            raise archive_refused(self.where, "A version with this id stands above.")
        self._versions.add(version.id.bytes)
        self._check_content(version)
        self._check_times(version)
        self._follow(version)
        self.history.redacted += version.redacted_at is not None

    def _follow(self, version: ArchivedVersion) -> None:
        """One created first, then modified ones, at most one deleted last; old ones before a mark may be missing."""
        live, key = self.history.live, version.memory_id
        before, is_first = live.get(key), key.bytes not in self._memories
        if version.follows_removed:
            self._check_mark(version)
        if (version.operation == "created") != (is_first and not version.follows_removed):
            raise archive_refused(self.where, "A memory's first version, and no other, is created.")
        if before is None and not is_first:
            raise archive_refused(self.where, "It changes a memory that was deleted above.")
        self._memories.add(key.bytes)
        if version.operation == "deleted":
            live.pop(key, None)
            return
        live[key] = (
            LiveMemory(version.created_at, version.operation == "created", version)
            if before is None
            else replace(before, head=version)
        )
        if len(live) > MEMORIES_PER_STORE_MAX:
            raise archive_refused(self.where, f"A store holds at most {MEMORIES_PER_STORE_MAX} memories.")

    def _check_mark(self, version: ArchivedVersion) -> None:
        whole_from = self.archive.store.history_from
        if whole_from is None or version.created_at > whole_from:
            raise archive_refused(self.where, "A version before it was removed, where the history is whole.")

    def _check_content(self, version: ArchivedVersion) -> None:
        if version.content_sha256 is None:
            return
        size = self.archive.blob_size(version.content_sha256)
        if size is None:
            raise archive_refused(self.where, "The archive does not hold its content.")
        if size != version.content_size_bytes:
            raise archive_refused(self.where, "content_size_bytes is not the size of its content.")
        self._blobs.add(bytes.fromhex(version.content_sha256))
        self.history.content_bytes += size

    def _check_times(self, version: ArchivedVersion) -> None:
        store = self.archive.store
        if store.archived_at is not None and version.created_at > store.archived_at:
            raise archive_refused(self.where, "It was written after its store was archived.")
        freezes = [moment for moment in (store.frozen_at, self._frozen.get(version.memory_id)) if moment]
        if any(version.created_at > moment for moment in freezes):
            if version.created_by_type == "session_actor":
                raise archive_refused(self.where, "An agent wrote it after the freeze.")
            self.history.writers_after_freeze.add(version.created_by_id)
