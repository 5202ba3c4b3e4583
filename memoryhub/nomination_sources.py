"""Texts that may be nominated for reviewed memory: each room that keeps some registers how one is read.

The room of reviewed memory knows no other room, and asks here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from memoryhub.actors import Actor
from memoryhub.errors import NotFound


@dataclass(frozen=True, slots=True)
class NominationSource:
    """A file of a store as it is now. Ids are wire ids; a document is a file of its resource's store."""

    environment_id: UUID
    store_id: str
    memory_id: str
    path: str
    version_id: str
    content: str = field(repr=False)
    content_sha256: str


type ReadSource = Callable[[str, str, Actor], NominationSource]
_readers: list[ReadSource] = []


def register_nomination_source(read: ReadSource) -> None:
    """`read(store_id, memory_id, actor)` raises NotFound for what the actor may not see."""
    _readers.append(read)


def read_nomination_source(store_id: str, memory_id: str, *, actor: Actor) -> NominationSource:
    """Raises: NotFound."""
    for read in _readers:
        return read(store_id, memory_id, actor)
    raise NotFound("memory")
