"""Memories by path: get, upsert, delete. The rules are those of `memories`; only the address differs."""

from dataclasses import dataclass
from typing import Literal

from django.db.transaction import atomic

from memoryhub.actors import Actor
from memoryhub.errors import MemoryPreconditionFailed, NotFound
from memoryhub.rows import find_row
from stores.memories import (
    add_memory,
    change_memory,
    check_content,
    memories_of,
    remove_memory,
    require_unfrozen,
)
from stores.memory_stores import get_store, lock_store, require_writable, share_store
from stores.models import Memory, MemoryStore
from stores.paths import check_path, find_path_problem


@dataclass(frozen=True, slots=True)
class FilePrecondition:
    """What a write needs to find at the path: a memory, none, or either. `sha256`: of the content it finds."""

    presence: Literal["any", "present", "absent"] = "any"
    sha256: str | None = None


def get_file(store_id: str, path: str, *, with_content: bool, actor: Actor) -> Memory:
    """Raises: NotFound, also for a path that no memory can have."""
    store = get_store(store_id, actor=actor)
    found = (
        find_row(memories_of(store, with_content).filter(path_key=path.encode())) if _is_path(path) else None
    )
    if found is None:
        raise NotFound("memory")
    return found


def _is_path(path: str) -> bool:
    return find_path_problem(path) is None


def put_file(
    store_id: str, path: str, *, content: str, precondition: FilePrecondition, actor: Actor
) -> Memory:
    """Set the content of the memory at a path, or create it there. What already is as wanted stays as it is.

    An update shares the store with others, a create holds it alone. Which of the two it is shows only under a lock,
    so a create takes two transactions: the first finds nothing and changes nothing.
    Raises: InvalidRequest, RequestTooLarge, NotFound, PermissionRefused, MemoryPreconditionFailed, MemoryPathConflict.
    """
    check_path(path)
    check_content(content)
    return _update_file(store_id, path, content, precondition, actor) or _create_file(
        store_id, path, content, precondition, actor
    )


@atomic(durable=True)
def _update_file(
    store_id: str, path: str, content: str, precondition: FilePrecondition, actor: Actor
) -> Memory | None:
    """None when no memory is at the path."""
    store = share_store(store_id, actor)
    require_writable(store, actor)
    memory = _lock_file(store, path)
    return None if memory is None else _change_file(store, memory, content, precondition, actor)


@atomic(durable=True)
def _create_file(
    store_id: str, path: str, content: str, precondition: FilePrecondition, actor: Actor
) -> Memory:
    store = lock_store(store_id, actor)
    require_writable(store, actor)
    memory = _lock_file(store, path)
    if memory is not None:  # another create came first
        return _change_file(store, memory, content, precondition, actor)
    if precondition.presence == "present":
        raise MemoryPreconditionFailed("No memory is at this path.")
    return add_memory(store, path=path, content=content, actor=actor)


def _lock_file(store: MemoryStore, path: str) -> Memory | None:
    return find_row(Memory.objects.select_for_update().filter(store_id=store.id, path_key=path.encode()))


def _change_file(
    store: MemoryStore, memory: Memory, content: str, precondition: FilePrecondition, actor: Actor
) -> Memory:
    require_unfrozen(memory, actor)
    if precondition.presence == "absent":
        raise MemoryPreconditionFailed("A memory is at this path already.")
    return change_memory(
        store, memory, path=None, content=content, expected_sha256=precondition.sha256, actor=actor
    )


@atomic(durable=True)
def delete_file(store_id: str, path: str, *, expected_sha256: str | None = None, actor: Actor) -> str:
    """The deleted memory's id. Raises: NotFound, InvalidRequest, PermissionRefused, MemoryPreconditionFailed."""
    store = share_store(store_id, actor)
    require_writable(store, actor)
    memory = _lock_file(store, path) if _is_path(path) else None
    if memory is None:
        raise NotFound("memory")
    require_unfrozen(memory, actor)
    remove_memory(store, memory, expected_sha256=expected_sha256, actor=actor)
    return memory.wire_id
