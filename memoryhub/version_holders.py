"""Which versions of memories are referred to: a room that keeps the id of a version says so, and the version stays.

The ground floor knows no room, so a room registers how it finds them. It is asked in the transaction that would remove
versions when they are old. A room may only begin to refer to what is a current content, so nothing is referred to anew
that was replaced a day ago.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class VersionKey:
    """A version of a memory of a store."""

    store_id: UUID
    memory_id: UUID
    version_id: UUID


type FindHeld = Callable[[UUID, Collection[VersionKey]], set[UUID]]

_registered: list[FindHeld] = []


def register_version_holder(find: FindHeld) -> None:
    """`find(environment_id, versions)`: the ids of those among them that the room refers to."""
    _registered.append(find)


def find_held(environment_id: UUID, versions: Collection[VersionKey]) -> set[UUID]:
    """The ids of those among the versions that any room refers to."""
    return {key for find in _registered for key in find(environment_id, versions)} if versions else set()
