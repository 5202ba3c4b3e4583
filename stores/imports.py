"""Import of a store with its whole history from an archive. Ids are kept where they are free, else replaced."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import batched
from typing import IO
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.db.transaction import atomic

from memoryhub import audit, ids, quotas, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.models import ApiKey
from memoryhub.progress import Progress
from memoryhub.snapshots import allow_seconds
from stores import search
from stores.archive_heads import History, LiveMemory
from stores.archive_reader import Archive
from stores.archives import VERSIONS_NAME, ArchivedVersion, archive_refused
from stores.memory_stores import require_store_room
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.totals import begin_totals

IMPORT_STATEMENT_SECONDS_MAX = 300
HISTORY_FACTOR_MAX = 4  # equal contents stand once in an archive and once for each version in the database
INSERT_ROWS = 500
INSERT_BYTES = 4_194_304
LOOKUP_ROWS = 10_000
MAPPED_SHOWN_MAX = 1_000


@dataclass
class IdMap:
    """The ids that were taken here, and what stands in their place. `shown` holds the first of them, as wire ids."""

    store: dict[UUID, UUID] = field(default_factory=dict)
    memories: dict[UUID, UUID] = field(default_factory=dict)
    versions: dict[UUID, UUID] = field(default_factory=dict)

    def count(self) -> int:
        return len(self.store) + len(self.memories) + len(self.versions)

    def shown(self) -> Iterator[tuple[str, str]]:
        parts = (
            (ids.MEMORY_STORE, self.store),
            (ids.MEMORY, self.memories),
            (ids.MEMORY_VERSION, self.versions),
        )
        for prefix, mapped in parts:
            for old, new in mapped.items():
                yield ids.to_wire(prefix, old), ids.to_wire(prefix, new)


@dataclass(frozen=True, slots=True)
class StoreImport:
    store: MemoryStore
    manifest_sha256: str
    history: History
    id_map: IdMap

    def counts(self) -> dict[str, int]:
        return {
            "memories": len(self.history.live),
            "memory_versions": self.history.versions,
            "redacted_versions": self.history.redacted,
            "content_bytes": self.history.content_bytes,
            "ids_mapped": self.id_map.count(),
        }


def nothing_else(imported: StoreImport) -> None:
    """What else an import does within its transaction, when nothing is said."""


def import_store(
    tar: IO[bytes],
    *,
    environment: str | None,
    name: str | None,
    progress: Progress | None = None,
    also: Callable[[StoreImport], None] = nothing_else,
    actor: Actor,
) -> StoreImport:
    """Make a store of an archive, under `name` when given; all of it or nothing.

    `progress`: of the job that does it; `also`: a step that is done with the import or not at all.

    The archive is checked to its end before the transaction begins. Actors and times are kept as they stand in it.
    Raises: InvalidRequest with a sentence that names the member, or for a full environment or quota; NotFound for a
    foreign environment; Conflict when an id of the archive was taken by another import at the same time.
    """
    environment_id = tenancy.choose_environment(environment, actor=actor)
    archive = Archive(tar)
    history = archive.check()
    _check_history_size(history)
    try:
        return _insert_archive(
            archive, history, environment_id, name=name, progress=progress, also=also, actor=actor
        )
    except IntegrityError as error:
        raise Conflict(
            "Another import took an id of this archive at the same time, so nothing was saved; repeat it."
        ) from error


def _check_history_size(history: History) -> None:
    """A small archive may name one content many times: what it grows to is bounded too."""
    bytes_max = HISTORY_FACTOR_MAX * settings.ARCHIVE_BYTES_MAX
    if history.content_bytes > bytes_max:
        raise InvalidRequest(
            f"{VERSIONS_NAME}: Its versions hold {history.content_bytes} bytes together; at most {bytes_max} are allowed.",
            error_code="archive_too_large",
        )


@atomic(durable=True)
def _insert_archive(
    archive: Archive,
    history: History,
    environment_id: UUID,
    *,
    name: str | None,
    progress: Progress | None,
    also: Callable[[StoreImport], None],
    actor: Actor,
) -> StoreImport:
    allow_seconds(IMPORT_STATEMENT_SECONDS_MAX)
    quotas.require_history_room(
        actor.project_id, versions=history.versions, version_bytes=history.content_bytes
    )
    _refuse_agents_after_freeze(history, actor)
    id_map = _map_taken_ids(archive)
    store = _insert_store(archive, environment_id, id_map, name=name, actor=actor)
    require_store_room(environment_id)
    if progress is not None:
        progress.expect(history.versions)
    for batch in _batches(archive.versions()):
        MemoryVersion.objects.bulk_create(_version_rows(archive, batch, store, id_map))
        if progress is not None:
            progress.advance(len(batch))
    _insert_memories(archive, history, store, id_map)
    imported = StoreImport(store, archive.manifest_sha256, history, id_map)
    _record_import(imported, actor)
    also(imported)
    return imported


def _refuse_agents_after_freeze(history: History, actor: Actor) -> None:
    """Raises: InvalidRequest when a key that is an agent's here is said to have written on after a freeze."""
    keys = [ids.from_wire(ids.API_KEY, wire_id) for wire_id in history.writers_after_freeze]
    agents = ApiKey.objects.filter(project_id=actor.project_id, scopes__contains=["agent"])
    for batch in batched(filter(None, keys), LOOKUP_ROWS):
        if agents.filter(id__in=batch).exists():
            raise archive_refused(VERSIONS_NAME, "An agent wrote a version after the freeze.")


def _map_taken_ids(archive: Archive) -> IdMap:
    """New ids for those that any store of this hub has, or had for a memory of its history."""
    id_map = IdMap()
    if MemoryStore.objects.filter(id=archive.store.id).exists():
        id_map.store[archive.store.id] = ids.new_id()
    for batch in batched(archive.version_ids(), LOOKUP_ROWS):
        _map_taken(id_map.versions, [version_id for version_id, _ in batch], _taken_versions)
        memory_ids = {memory_id for _, memory_id in batch} - id_map.memories.keys()
        _map_taken(id_map.memories, sorted(memory_ids), _taken_memories)
    return id_map


def _map_taken(
    mapped: dict[UUID, UUID], keys: list[UUID], find_taken: Callable[[list[UUID]], set[UUID]]
) -> None:
    taken = find_taken(keys)
    mapped.update({key: ids.new_id() for key in keys if key in taken})


def _taken_versions(keys: list[UUID]) -> set[UUID]:
    return set(MemoryVersion.objects.filter(id__in=keys).values_list("id", flat=True))


def _taken_memories(keys: list[UUID]) -> set[UUID]:
    """Deleted memories keep their ids in the history."""
    live = Memory.objects.filter(id__in=keys).values_list("id", flat=True)
    past = MemoryVersion.objects.filter(memory_id__in=keys).values_list("memory_id", flat=True)
    return {*live, *past.distinct()}


def _insert_store(
    archive: Archive, environment_id: UUID, id_map: IdMap, *, name: str | None, actor: Actor
) -> MemoryStore:
    archived = archive.store
    store = MemoryStore(
        id=id_map.store.get(archived.id, archived.id),
        project_id=actor.project_id,
        environment_id=environment_id,
        name=archived.name if name is None else name,
        description=archived.description,
        metadata=archived.metadata,
        created_at=archived.created_at,
        updated_at=archived.updated_at,
        archived_at=archived.archived_at,
        frozen_at=archived.frozen_at,
        history_from=archived.history_from,
    )
    store.save(force_insert=True)
    begin_totals(store)
    return store


def _batches(versions: Iterable[ArchivedVersion]) -> Iterator[list[ArchivedVersion]]:
    """Bounded in rows and in bytes of content."""
    batch: list[ArchivedVersion] = []
    size = 0
    for version in versions:
        batch.append(version)
        size += version.content_size_bytes or 0
        if len(batch) >= INSERT_ROWS or size >= INSERT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _version_rows(
    archive: Archive, batch: list[ArchivedVersion], store: MemoryStore, id_map: IdMap
) -> list[MemoryVersion]:
    """In order: the database gives each its number as it stands."""
    return [
        MemoryVersion(
            id=id_map.versions.get(version.id, version.id),
            project_id=store.project_id,
            store_id=store.id,
            memory_id=id_map.memories.get(version.memory_id, version.memory_id),
            operation=version.operation,
            path=version.path,
            content=None if version.content_sha256 is None else archive.content(version.content_sha256),
            content_size_bytes=version.content_size_bytes,
            content_sha256=version.content_sha256,
            created_at=version.created_at,
            created_by_type=version.created_by_type,
            created_by_id=version.created_by_id,
            redacted_at=version.redacted_at,
            redacted_by_type=version.redacted_by_type,
            redacted_by_id=version.redacted_by_id,
            follows_removed=version.follows_removed,
        )
        for version in batch
    ]


def _insert_memories(archive: Archive, history: History, store: MemoryStore, id_map: IdMap) -> None:
    for head in archive.heads:
        live = history.live[head.memory_id]
        memory = _memory_row(live, store, id_map)
        memory.created_at = head.created_at or live.begun_at
        memory.frozen_at = head.frozen_at
        memory.save(force_insert=True)
        search.index_memory(memory, store, archive.content(memory.content_sha256))


def _memory_row(live: LiveMemory, store: MemoryStore, id_map: IdMap) -> Memory:
    head = live.head
    assert head.path is not None, "checked: the head of a live memory is not redacted"
    assert head.content_sha256 is not None, "checked: a head is no deletion"
    assert head.content_size_bytes is not None, "checked: a head has a size"
    return Memory(
        id=id_map.memories.get(head.memory_id, head.memory_id),
        project_id=store.project_id,
        store=store,
        head_id=id_map.versions.get(head.id, head.id),
        path=head.path,
        path_key=head.path.encode(),
        content_size_bytes=head.content_size_bytes,
        content_sha256=head.content_sha256,
        updated_at=head.created_at,
    )


def _record_import(imported: StoreImport, actor: Actor) -> None:
    audit.record(
        AuditAction.MEMORY_STORE_IMPORTED,
        imported.store.wire_id,
        environment_id=imported.store.environment_id,
        details=imported.counts(),
        actor=actor,
    )
