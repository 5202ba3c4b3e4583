"""Archives of a store that is made of plain files, for rooms that have texts and no store.

The room of the stores knows the archives' form and registers how one is written; an import takes it as any other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A memory with one version. Ids are UUIDv7; `created_by_id` is a wire id."""

    memory_id: UUID
    version_id: UUID
    path: str
    content: str = field(repr=False)
    created_at: datetime
    created_by_type: str
    created_by_id: str


@dataclass(frozen=True, slots=True)
class PlainStore:
    id: UUID
    name: str
    description: str
    metadata: dict[str, str]
    created_at: datetime


type WriteArchive = Callable[[PlainStore, Sequence[PlainFile], IO[bytes]], str]
_writers: list[WriteArchive] = []


def register_file_archive(write: WriteArchive) -> None:
    _writers.append(write)


def write_file_archive(store: PlainStore, files: Sequence[PlainFile], out: IO[bytes]) -> str:
    """The SHA-256 of the manifest. Raises: InvalidRequest, RequestTooLarge for what no store takes."""
    return _writers[0](store, files, out)
