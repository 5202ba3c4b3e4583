"""How stores, memories and versions are found by their ids, for the pages that name them."""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.subjects import FindSubjects, Subject
from stores.memory_stores import visible_stores
from stores.models import Memory, MemoryVersion


def _stores(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_stores(actor).filter(id__in=keys).only("id", "name", "environment_id")
    return {row.id: Subject(row.name, "store", {"store_id": row.wire_id}, row.environment_id) for row in rows}


def _memories(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = Memory.objects.filter(store__in=visible_stores(actor), id__in=keys).select_related("store")
    return {row.id: _memory(row) for row in rows}


def _memory(row: Memory) -> Subject:
    """A document by its own page."""
    store = row.store
    if store.resource_id is not None:
        document = {"resource_id": store.resource_id, "document_id": row.path.removeprefix("/")}
        return Subject(row.path, "document", document, store.environment_id)
    return Subject(
        row.path, "memory", {"store_id": store.wire_id, "memory_id": row.wire_id}, store.environment_id
    )


def _versions(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    """By kind: a path may have been redacted."""
    rows = MemoryVersion.objects.filter(store__in=visible_stores(actor), id__in=keys).select_related("store")
    return {
        row.id: Subject(
            "a version",
            "version",
            {"store_id": row.store.wire_id, "version_id": row.wire_id},
            row.store.environment_id,
        )
        for row in rows.defer("content")
    }


SUBJECTS: dict[str, FindSubjects] = {
    ids.MEMORY_STORE: _stores,
    ids.MEMORY: _memories,
    ids.MEMORY_VERSION: _versions,
}
