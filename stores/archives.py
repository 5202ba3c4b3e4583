"""Archives of a store with its whole history: what stands in them. Pure: reads and writes bytes and values.

An archive is a tar (memoryhub.tars) of

    manifest.json    canonical JSON: format, the store, its heads in path order, and what the other members hold
    versions.ndjson  a canonical JSON object for each version, in the order of their numbers
    blobs/<sha256>   each distinct content once, in the order of digests

A store from which old versions were removed has the format version 2: the store says from when on its history is whole,
each head when its memory was created, and a version whose forerunner was removed that it follows one. All others have
version 1, and the bytes that they always had.

Canonical is RFC 8785; a line ends with LF. The digest of the manifest covers all: it holds that of versions.ndjson,
whose lines hold those of the blobs. Nothing in it depends on the hub, the project or the time of the export.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any
from uuid import UUID

from memoryhub import ids, strict_json, tars
from memoryhub.actors import ACTOR_ID_KEYS, actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.digests import canonical_json, is_sha256_hex
from memoryhub.errors import InvalidRequest
from memoryhub.spools import SPOOL_CHUNK_BYTES
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.paths import find_path_problem

FORMAT = "memoryhub.memory_store"
WHOLE_VERSION, REMOVED_VERSION = 1, 2  # of the format
MANIFEST_NAME, VERSIONS_NAME, BLOBS_FOLDER = "manifest.json", "versions.ndjson", "blobs/"
MANIFEST_BYTES_MAX = 8_388_608  # 2,000 heads with the longest paths take less
VERSION_LINE_BYTES_MAX = 16_384
ARCHIVE_VERSIONS_MAX = 500_000
OPERATIONS = ("created", "modified", "deleted")
_TEXT_KEYS = ("path", "content_size_bytes", "content_sha256")
_EVENT_KEYS = ("operation", "created_at", "created_by", "redacted_at", "redacted_by")
VERSION_KEYS = frozenset(("id", "memory_id", *_TEXT_KEYS, *_EVENT_KEYS))
FOLLOWS_REMOVED = "follows_removed"  # only where it is true
_ACTOR_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def archive_refused(member: str, sentence: str) -> InvalidRequest:
    return InvalidRequest(f"{member}: {sentence}", error_code="archive_invalid")


@dataclass(frozen=True, slots=True)
class ArchivedVersion:
    """One line of versions.ndjson."""

    id: UUID
    memory_id: UUID
    operation: str
    path: str | None
    content_size_bytes: int | None
    content_sha256: str | None
    created_at: datetime
    created_by_type: str
    created_by_id: str
    redacted_at: datetime | None
    redacted_by_type: str | None
    redacted_by_id: str | None
    follows_removed: bool = False

    def line(self) -> bytes:
        shown: dict[str, Any] = {
            "id": ids.to_wire(ids.MEMORY_VERSION, self.id),
            "memory_id": ids.to_wire(ids.MEMORY, self.memory_id),
            "operation": self.operation,
            "path": self.path,
            "content_size_bytes": self.content_size_bytes,
            "content_sha256": self.content_sha256,
            "created_at": to_wire(self.created_at),
            "created_by": actor_wire(self.created_by_type, self.created_by_id),
            "redacted_at": optional_to_wire(self.redacted_at),
            "redacted_by": actor_wire(self.redacted_by_type, self.redacted_by_id),
        }
        if self.follows_removed:
            shown[FOLLOWS_REMOVED] = True
        return canonical_json(shown) + b"\n"


@dataclass(frozen=True, slots=True)
class ArchivedStore:
    """The store of a manifest. `history_from` None: nothing was removed from its history."""

    id: UUID
    name: str
    description: str
    metadata: dict[str, str]
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    frozen_at: datetime | None
    history_from: datetime | None = None

    @property
    def format_version(self) -> int:
        return WHOLE_VERSION if self.history_from is None else REMOVED_VERSION

    def wire(self) -> dict[str, Any]:
        shown = {
            "id": ids.to_wire(ids.MEMORY_STORE, self.id),
            "name": self.name,
            "description": self.description,
            "metadata": self.metadata,
            "created_at": to_wire(self.created_at),
            "updated_at": to_wire(self.updated_at),
            "archived_at": optional_to_wire(self.archived_at),
            "frozen_at": optional_to_wire(self.frozen_at),
        }
        if self.history_from is not None:
            shown["history_from"] = to_wire(self.history_from)
        return shown


@dataclass(frozen=True, slots=True)
class ArchivedHead:
    """A current memory of a manifest. `created_at` None: in a history that is whole its first version has the time."""

    memory_id: UUID
    version_id: UUID
    path: str
    frozen_at: datetime | None
    created_at: datetime | None = None

    def wire(self) -> dict[str, Any]:
        shown = {
            "memory_id": ids.to_wire(ids.MEMORY, self.memory_id),
            "memory_version_id": ids.to_wire(ids.MEMORY_VERSION, self.version_id),
            "path": self.path,
            "frozen_at": optional_to_wire(self.frozen_at),
        }
        if self.created_at is not None:
            shown["created_at"] = to_wire(self.created_at)
        return shown


@dataclass(frozen=True, slots=True)
class Contents:
    """What the other members hold: `versions_*` of versions.ndjson, `blobs_*` of the distinct contents."""

    versions_count: int
    versions_sha256: str
    blobs_count: int
    blobs_bytes: int

    def wire(self) -> dict[str, Any]:
        return {
            "versions": {"count": self.versions_count, "sha256": self.versions_sha256},
            "blobs": {"count": self.blobs_count, "size_bytes": self.blobs_bytes},
        }


def manifest_bytes(store: ArchivedStore, heads: list[ArchivedHead], contents: Contents) -> bytes:
    """`heads` in path order."""
    return canonical_json(
        {
            "format": FORMAT,
            "format_version": store.format_version,
            "memory_store": store.wire(),
            "heads": [head.wire() for head in heads],
            **contents.wire(),
        }
    )


class ArchiveWriter:
    """Writes an archive member after member. `written`: bytes so far."""

    def __init__(self, out: IO[bytes]) -> None:
        self.written = 0
        self._out = out

    def add_bytes(self, name: str, content: bytes) -> None:
        self._write(tars.member_header(name, len(content)) + content + tars.padding(len(content)))

    def add_file(self, name: str, file: IO[bytes]) -> None:
        """The file from its start to where it stands."""
        size = file.tell()
        file.seek(0)
        self._write(tars.member_header(name, size))
        while chunk := file.read(SPOOL_CHUNK_BYTES):
            self._write(chunk)
        self._write(tars.padding(size))

    def end(self) -> None:
        self._write(tars.end_of_tar(self.written))

    def _write(self, piece: bytes) -> None:
        self._out.write(piece)
        self.written += len(piece)


# Reading. Each function raises InvalidRequest with a sentence that names the member.


def parse_canonical(raw: bytes, where: str) -> dict[str, Any]:
    """One JSON object in its canonical form, so that equal values have equal digests."""
    try:
        value = strict_json.parse_object(raw)
        if canonical_json(value) != raw:
            raise archive_refused(where, "It is not in canonical form (RFC 8785).")
    except ValueError as error:
        raise archive_refused(where, str(error)) from error
    return value


def parse_version_line(line: bytes, where: str) -> ArchivedVersion:
    value = parse_canonical(line, where)
    if value.get(FOLLOWS_REMOVED, True) is not True:
        raise archive_refused(where, f"{FOLLOWS_REMOVED} must be true, or not be there.")
    follows_removed = value.pop(FOLLOWS_REMOVED, False)
    require_keys(value, VERSION_KEYS, where)
    created_by_type, created_by_id = read_actor(value, "created_by", where)
    redacted = value["redacted_at"] is not None
    redacted_by_type, redacted_by_id = read_actor(value, "redacted_by", where) if redacted else (None, None)
    version = ArchivedVersion(
        id=read_id(value, "id", ids.MEMORY_VERSION, where),
        memory_id=read_id(value, "memory_id", ids.MEMORY, where),
        operation=value["operation"],
        path=value["path"],
        content_size_bytes=value["content_size_bytes"],
        content_sha256=value["content_sha256"],
        created_at=read_moment(value, "created_at", where),
        created_by_type=created_by_type,
        created_by_id=created_by_id,
        redacted_at=read_moment(value, "redacted_at", where) if redacted else None,
        redacted_by_type=redacted_by_type,
        redacted_by_id=redacted_by_id,
        follows_removed=follows_removed,
    )
    problem = _find_version_problem(version, value["redacted_by"])
    if problem is not None:
        raise archive_refused(where, problem)
    return version


def _find_version_problem(version: ArchivedVersion, redacted_by: Any) -> str | None:
    """The rule of contract stores 3.3 that the version breaks, or None."""
    text = (version.path, version.content_size_bytes, version.content_sha256)
    if version.operation not in OPERATIONS:
        return f"operation must be one of {', '.join(OPERATIONS)}."
    if version.redacted_at is not None:
        return None if text == (None, None, None) else "A redacted version holds no path, size or digest."
    if redacted_by is not None:
        return "redacted_by is set, and redacted_at is not."
    path_problem = (
        "it must be a string" if not isinstance(version.path, str) else find_path_problem(version.path)
    )
    if path_problem is not None:
        return f"path: {path_problem}."
    if version.operation == "deleted":
        return None if text[1:] == (None, None) else "A deletion holds no size and no digest."
    return _find_content_problem(version)


def _find_content_problem(version: ArchivedVersion) -> str | None:
    size = version.content_size_bytes
    if type(size) is not int or not 0 <= size <= MEMORY_CONTENT_BYTES_MAX:
        return f"content_size_bytes must be a whole number from 0 to {MEMORY_CONTENT_BYTES_MAX}."
    if not is_sha256_hex(version.content_sha256):
        return "content_sha256 must be 64 lowercase hexadecimal digits."
    return None


def require_keys(value: Mapping[str, Any], keys: frozenset[str], where: str) -> None:
    """Exactly these keys."""
    for wrong in sorted(value.keys() ^ keys):
        shown = wrong[:64].encode("unicode_escape").decode()
        raise archive_refused(where, f"{shown} is {'missing' if wrong in keys else 'not known here'}.")


def read_id(value: Mapping[str, Any], key: str, prefix: str, where: str) -> UUID:
    text = value[key]
    found = ids.from_wire(prefix, text) if isinstance(text, str) else None
    if found is None or found.version != 7:
        raise archive_refused(where, f"{key} is not an id that a hub gives out.")
    return found


def read_moment(value: Mapping[str, Any], key: str, where: str) -> datetime:
    """A time exactly as the hub writes it."""
    text = value[key]
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        if moment is not None and moment.tzinfo is not None and to_wire(moment) == text:
            return moment
    except (ValueError, OverflowError):
        pass
    raise archive_refused(where, f"{key} must be a time like 2026-11-30T05:57:00.123456Z.")


def read_optional_moment(value: Mapping[str, Any], key: str, where: str) -> datetime | None:
    return None if value[key] is None else read_moment(value, key, where)


def read_actor(value: Mapping[str, Any], key: str, where: str) -> tuple[str, str]:
    """(type, wire id). A session redacts nothing. Source: contract stores 3.3."""
    actor = value[key]
    kind = actor.get("type") if isinstance(actor, dict) else None
    id_key = ACTOR_ID_KEYS.get(kind) if isinstance(kind, str) else None
    named = actor.get(id_key) if id_key is not None else None
    fits = isinstance(named, str) and _ACTOR_ID.fullmatch(named) and len(actor) == 2
    if not fits or (key == "redacted_by" and kind == "session_actor"):
        raise archive_refused(where, f"{key} is not an actor.")
    assert isinstance(kind, str)
    assert isinstance(named, str)
    return kind, named
