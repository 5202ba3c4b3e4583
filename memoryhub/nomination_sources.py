"""Texts that may be nominated for reviewed memory: each room that keeps files or records registers how one is read.

The room of reviewed memory knows no other room, and asks here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from memoryhub.actors import Actor, RecordScope
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


@dataclass(frozen=True, slots=True)
class RecordSource:
    """A record of a scope: an agent's memory of one principal. `origin`: who wrote it; `version`: of the record."""

    environment_id: UUID
    record_id: str
    version: str
    agent: str
    scope: str
    origin: str
    content: str = field(repr=False)
    content_sha256: str


type FindScope = Callable[[str, Actor], tuple[UUID, RecordScope]]
type ReadRecord = Callable[[UUID, RecordScope | None, str, Actor], RecordSource]
type ReadSource = Callable[[str, str, Actor], NominationSource]
_readers: list[ReadSource] = []
_record_readers: list[ReadRecord] = []
_scope_finders: list[FindScope] = []


def register_nomination_source(read: ReadSource) -> None:
    """`read(store_id, memory_id, actor)` raises NotFound for what the actor may not see."""
    _readers.append(read)


def read_nomination_source(store_id: str, memory_id: str, *, actor: Actor) -> NominationSource:
    """Raises: NotFound."""
    for read in _readers:
        return read(store_id, memory_id, actor)
    raise NotFound("memory")


def register_record_source(read: ReadRecord) -> None:
    """`read(environment_id, of, record_id, actor)`: `of` None is the scope of the credential."""
    _record_readers.append(read)


def read_record_source(
    environment_id: UUID, of: RecordScope | None, record_id: str, *, actor: Actor
) -> RecordSource:
    """Raises: NotFound, also for one that was forgotten; PermissionRefused for another's scope; InvalidRequest; Conflict."""
    for read in _record_readers:
        return read(environment_id, of, record_id, actor)
    raise NotFound("record")


def register_record_scopes(find: FindScope) -> None:
    """`find(scope_id, actor)` gives a scope's environment and whose records it holds, and raises NotFound."""
    _scope_finders.append(find)


def find_record_scope(scope_id: str, *, actor: Actor) -> tuple[UUID, RecordScope]:
    """Raises: NotFound."""
    for find in _scope_finders:
        return find(scope_id, actor)
    raise NotFound("scope")
