"""Memories whose versions are as old as a test needs: written past the verbs, as an import writes them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from memoryhub import ids
from memoryhub.digests import sha256_hex
from stores import search
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.stores.shelf import Shelf

DAY = timedelta(days=1)


def age_memory(shelf: Shelf, path: str, ages: list[float], *, deleted: bool = False) -> list[MemoryVersion]:
    """The versions of a memory, oldest first; each is so many days old and has a text of its own.

    `deleted`: the last of them records the deletion.
    """
    store, now, memory_id = shelf.store, datetime.now(UTC), ids.new_id()
    versions = [
        _version(store, shelf.actor.actor_id, memory_id, path, index, created_at=now - age * DAY)
        for index, age in enumerate(ages)
    ]
    if deleted:
        last = versions[-1]
        last.operation, last.content = "deleted", None
        last.content_size_bytes = last.content_sha256 = None
    MemoryVersion.objects.bulk_create(versions)
    if not deleted:
        _add_memory(store, versions)
    return versions


def _version(
    store: MemoryStore, actor_id: str, memory_id: Any, path: str, index: int, *, created_at: datetime
) -> MemoryVersion:
    content = f"{path} {index}\n"
    return MemoryVersion(
        project_id=store.project_id,
        store=store,
        memory_id=memory_id,
        operation="modified" if index else "created",
        path=path,
        content=content,
        content_size_bytes=len(content.encode()),
        content_sha256=sha256_hex(content),
        created_at=created_at,
        created_by_type="user_actor",
        created_by_id=actor_id,
    )


def _add_memory(store: MemoryStore, versions: list[MemoryVersion]) -> None:
    first, head = versions[0], versions[-1]
    memory = Memory.objects.create(
        id=head.memory_id,
        project_id=store.project_id,
        store=store,
        head=head,
        path=str(head.path),
        path_key=str(head.path).encode(),
        content_size_bytes=head.content_size_bytes or 0,
        content_sha256=head.content_sha256 or "",
        created_at=first.created_at,
        updated_at=head.created_at,
    )
    search.index_memory(memory, store, str(head.content))


def left(shelf: Shelf, versions: list[MemoryVersion]) -> list[int]:
    """Which of the versions are still there, by their place among them."""
    there = set(MemoryVersion.objects.filter(store_id=shelf.store.id).values_list("id", flat=True))
    return [index for index, version in enumerate(versions) if version.id in there]
