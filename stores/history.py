"""What the versions of a store tell: restore and diff of one, the store as it was at a time, and what has changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from django.db.models import Exists, Max, OuterRef
from django.db.transaction import atomic

from memoryhub import audit, ids
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.clock import to_wire
from memoryhub.errors import InvalidRequest, MemoryPreconditionFailed
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.settling import wait_for_holders
from stores.diffs import Difference, diff_texts
from stores.memories import add_memory, change_memory, require_unfrozen
from stores.memory_stores import gate_of, get_store, lock_store, require_writable
from stores.memory_versions import get_version_of, lock_memory_of, versions_of
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.paths import check_path_prefix, prefix_range
from stores.word_diffs import WordDifference, diff_words

CHANGES_VERSIONS_SCANNED_MAX = 5_000

type SideState = Literal["present", "none", "deleted", "redacted", "removed"]
NO_TEXT = ("redacted", "removed")


@dataclass(frozen=True, slots=True)
class Restored:
    """`is_new_memory`: the version's own memory is deleted, so its text went into a new one."""

    memory: Memory
    is_new_memory: bool


@atomic(durable=True)
def restore_version(
    store_id: str, version_id: str, *, expected_sha256: str | None = None, actor: Actor
) -> Restored:
    """Put a version's content and path back, as a new version. What is as wanted already stays, and appends nothing.

    `expected_sha256` is of the memory's current content; a deleted memory has none.
    Raises: NotFound, PermissionRefused, InvalidRequest, MemoryPreconditionFailed, MemoryPathConflict.
    """
    store = lock_store(store_id, actor)
    require_writable(store, actor)
    version = get_version_of(MemoryVersion.objects.filter(store_id=store.id), version_id)
    memory = lock_memory_of(version)
    head_id = None
    if memory is not None:
        require_unfrozen(memory, actor)
        head_id = memory.head_id
    path, content = _kept_text(version)
    if memory is None:
        restored = Restored(_revive(store, path, content, expected_sha256, actor), is_new_memory=True)
    else:
        changed = change_memory(
            store, memory, path=path, content=content, expected_sha256=expected_sha256, actor=actor
        )
        restored = Restored(changed, is_new_memory=False)
    if restored.memory.head_id != head_id:
        _record_restore(store, restored.memory, version, actor)
    return restored


def _kept_text(version: MemoryVersion) -> tuple[str, str]:
    """(path, content). Raises: InvalidRequest for a version without them."""
    if version.redacted_at is not None:
        raise InvalidRequest(
            "This version is redacted: nothing is left of it to restore.",
            error_code="memory_version_redacted",
        )
    if version.path is None or version.content is None:
        raise InvalidRequest(
            "This version records a deletion and has no content: restore the version before it.",
            error_code="memory_version_has_no_content",
        )
    return version.path, version.content


def _revive(store: MemoryStore, path: str, content: str, expected_sha256: str | None, actor: Actor) -> Memory:
    if expected_sha256 is not None:
        raise MemoryPreconditionFailed
    return add_memory(store, path=path, content=content, actor=actor)


def _record_restore(store: MemoryStore, memory: Memory, version: MemoryVersion, actor: Actor) -> None:
    """Beside the row of the change itself: where its text came from."""
    details = {
        "memory_version_id": ids.to_wire(ids.MEMORY_VERSION, memory.head_id),
        "restored_version_id": version.wire_id,
        "restored_memory_id": version.memory_wire_id,
    }
    audit.record(
        AuditAction.MEMORY_RESTORED,
        memory.wire_id,
        environment_id=store.environment_id,
        parent_id=store.wire_id,
        details=details,
        actor=actor,
    )


def side_state(version: MemoryVersion) -> SideState:
    if version.redacted_at is not None:
        return "redacted"
    return "deleted" if version.operation == "deleted" else "present"


@dataclass(frozen=True, slots=True)
class Sides:
    """Two versions to compare. `before` None: there is no earlier version, or it was removed when it was old."""

    before: MemoryVersion | None
    after: MemoryVersion

    @property
    def states(self) -> tuple[SideState, SideState]:
        after = side_state(self.after)
        if self.before is not None:
            return side_state(self.before), after
        return "removed" if self.after.follows_removed else "none", after

    @property
    def texts(self) -> tuple[str, str] | None:
        """None: of a side that is redacted or removed there is no text to compare."""
        if any(state in NO_TEXT for state in self.states):
            return None
        return (self.before.content if self.before else None) or "", self.after.content or ""


@dataclass(frozen=True, slots=True)
class VersionDiff(Sides):
    """`difference` None: there are no two texts to compare."""

    difference: Difference | None


def diff_version(
    store_id: str, version_id: str, *, against_id: str | None = None, actor: Actor
) -> VersionDiff:
    """From `against` (none named: the version before it of the same memory) to the version. Raises: NotFound."""
    sides = get_sides(store_id, version_id, against_id=against_id, actor=actor)
    texts = sides.texts
    return VersionDiff(sides.before, sides.after, None if texts is None else diff_texts(*texts))


@dataclass(frozen=True, slots=True)
class Comparison(Sides):
    """`words` None: there are no two texts to compare."""

    words: WordDifference | None

    @property
    def is_move(self) -> bool:
        paths = (self.before.path if self.before else None, self.after.path)
        return None not in paths and paths[0] != paths[1]


def compare_versions(store_id: str, version_id: str, *, against_id: str | None, actor: Actor) -> Comparison:
    """What `diff_version` compares, word by word, for people to read. Raises: NotFound."""
    sides = get_sides(store_id, version_id, against_id=against_id, actor=actor)
    texts = sides.texts
    return Comparison(sides.before, sides.after, None if texts is None else diff_words(*texts))


def get_sides(store_id: str, version_id: str, *, against_id: str | None, actor: Actor) -> Sides:
    """The version, after the one named by `against`, else after the one before; with content. Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    versions = versions_of(store, with_content=True)
    after = get_version_of(versions, version_id)
    if against_id is not None:
        return Sides(get_version_of(versions, against_id), after)
    if after.follows_removed:
        return Sides(None, after)
    earlier = versions.filter(memory_id=after.memory_id, number__lt=after.number)
    return Sides(earlier.order_by("-number").first(), after)


# Each memory's last version up to the time. Redacted ones have no path left: they come first, by their memory.
_SNAPSHOT = """
SELECT id FROM (
    SELECT DISTINCT ON (memory_id) id, memory_id, operation, convert_to(coalesce(path, ''), 'UTF8') AS key
      FROM stores_memoryversion
     WHERE store_id = %(store)s AND created_at <= %(at)s
     ORDER BY memory_id, number DESC) AS in_force
 WHERE operation <> 'deleted' AND key >= %(low)s AND key < %(high)s AND (key, memory_id) > (%(key)s, %(memory)s)
 ORDER BY key, memory_id
 LIMIT %(count)s
"""


def list_snapshot(
    store_id: str, page: ListRequest, *, at: datetime, path_prefix: str, with_content: bool, actor: Actor
) -> Page[MemoryVersion]:
    """The version of each memory that was in force at a time, in byte order of the path.

    A redacted one is shown without its path, before all others, and only when no prefix is asked for.
    Raises: NotFound, InvalidRequest, `history_removed` for a time whose versions were removed since.
    """
    prefix_key = check_path_prefix(path_prefix)
    path, memory_hex = page.position() or ["", UUID(int=0).hex]
    store = get_store(store_id, actor=actor)
    _require_whole(store, at)
    low, high = prefix_range(prefix_key)
    values: dict[str, Any] = {
        "store": store.id,
        "at": at,
        "low": b"" if prefix_key == b"/" else low,
        "high": high,
        "key": path.encode(),
        "memory": UUID(hex=memory_hex),
        "count": page.limit + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SNAPSHOT, values)
        keys = [row[0] for row in cursor.fetchall()]
    found = versions_of(store, with_content).in_bulk(keys)
    rows = [found[key] for key in keys if key in found]
    return cut_page(rows, page, lambda version: [version.path or "", version.memory_id.hex])


def _require_whole(store: MemoryStore, at: datetime) -> None:
    """Raises: InvalidRequest `history_removed` for a time before the history is whole."""
    if store.history_from is not None and at < store.history_from:
        raise InvalidRequest(
            f"at: Old versions of the store were removed: its history is whole from {to_wire(store.history_from)} on.",
            error_code="history_removed",
            history_from=to_wire(store.history_from),
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """`last_sequence`: what to pass as `after` next time."""

    versions: list[MemoryVersion]
    has_more: bool
    last_sequence: int


def list_changes(store_id: str, *, after: int, limit: int, actor: Actor) -> Changes:
    """For each memory changed since `after`, its last version, without content, by version number.

    Nothing is shown while a change that could come before it is under way, so nothing can be skipped. Raises: NotFound.
    """
    store = get_store(store_id, actor=actor)
    versions = versions_of(store, with_content=False)
    newest = versions.aggregate(newest=Max("number"))["newest"]
    if newest is None or newest <= after or not wait_for_holders(gate_of(store.id)):
        return Changes([], has_more=False, last_sequence=after)
    fresh = versions.filter(number__gt=after, number__lte=newest).order_by("number")
    scanned = fresh.values_list("number", flat=True)
    end = scanned[CHANGES_VERSIONS_SCANNED_MAX - 1 : CHANGES_VERSIONS_SCANNED_MAX].first() or newest
    newer = MemoryVersion.objects.filter(
        store_id=store.id, memory_id=OuterRef("memory_id"), number__gt=OuterRef("number"), number__lte=newest
    )
    rows = list(fresh.filter(~Exists(newer), number__lte=end)[: limit + 1])
    if len(rows) > limit:
        return Changes(rows[:limit], has_more=True, last_sequence=rows[limit - 1].number)
    return Changes(rows, has_more=end < newest, last_sequence=end)


def find_last_sequence(store_id: str, *, actor: Actor) -> Changes:
    """No change, and where the feed stands: all before it is in a listing that is asked for afterwards. Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    newest = versions_of(store, with_content=False).aggregate(newest=Max("number"))["newest"]
    if newest is None or not wait_for_holders(gate_of(store.id)):
        return Changes([], has_more=False, last_sequence=0)
    return Changes([], has_more=False, last_sequence=newest)
