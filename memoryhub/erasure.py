"""Copies of a text that rooms keep elsewhere: when a version of a memory is erased, so is every copy of its text.

The ground floor knows no room, so a room registers how its copies go. It is called in the erasing transaction.
Who copies a text holds the copies of its environment from before it reads to its commit, and who erases waits for all
who hold them: else a text that was read before and kept after would be found by no erasure.

A copy of a version is found by the version's id. What a room keeps beside versions, what it sent to other services and what
they gave, is found by the text alone, when a text is erased wherever it stands.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection


@dataclass(frozen=True, slots=True)
class Sought:
    """One of the two: a text that a content, a path or a document's title or summary holds, or the SHA-256 of a whole content."""

    contains: str | None = None
    content_sha256: str | None = None

    def is_in(self, text: str) -> bool:
        return self.contains is not None and self.contains in text


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where a text stands beside the versions of memories, and what becomes of it there.

    `copies`: of what was sent and given, by what they are; blanked. `deleted`, `left`: data of its own, by its wire ids.
    `remote`: what other services may keep of it, which is theirs to delete. `spaces`: histories of operations that hold
    it, which are hashed as a whole and never change.
    """

    copies: Counter[str] = field(default_factory=Counter)
    deleted: list[dict[str, str]] = field(default_factory=list)
    left: list[dict[str, str]] = field(default_factory=list)
    remote: list[dict[str, Any]] = field(default_factory=list)
    spaces: list[dict[str, Any]] = field(default_factory=list)

    @property
    def copies_count(self) -> int:
        return self.copies.total()

    @property
    def is_changed(self) -> bool:
        return bool(self.copies_count or self.deleted)

    def and_also(self, other: "Elsewhere") -> "Elsewhere":
        return Elsewhere(
            self.copies + other.copies,
            self.deleted + other.deleted,
            self.left + other.left,
            self.remote + other.remote,
            self.spaces + other.spaces,
        )


@dataclass(frozen=True, slots=True)
class TextErasure:
    """`dry_run`: only say what would be done. `deletes`: also what is data of its own, not a copy."""

    environment_id: UUID
    sought: Sought
    dry_run: bool
    deletes: bool


type EraseCopies = Callable[[Sequence[UUID]], None]
type EraseText = Callable[[TextErasure], Elsewhere]

_registered: list[EraseCopies] = []
_registered_texts: list[EraseText] = []


def register_copies(erase: EraseCopies) -> None:
    """`erase(version_ids)` blanks what was kept of these memory versions."""
    _registered.append(erase)


def register_texts(erase: EraseText) -> None:
    """`erase(erasure)` blanks what was kept of a text and is linked to no version."""
    _registered_texts.append(erase)


def hold_copies(environment_id: UUID) -> None:
    """A step, before texts are read to be kept elsewhere: shared, to the end of the transaction."""
    _lock("pg_advisory_xact_lock_shared", environment_id)


def hold_all_copies(environment_id: UUID) -> None:
    """A step: alone, once all who hold them are done."""
    _lock("pg_advisory_xact_lock", environment_id)


def erase_copies(environment_id: UUID, version_ids: Sequence[UUID]) -> None:
    """A step. The rows of the versions are locked, or nobody can read them any more."""
    hold_all_copies(environment_id)
    for erase in _registered:
        erase(version_ids)


def erase_text(erasure: TextErasure) -> Elsewhere:
    """A step: what rooms keep of a text beside versions."""
    if not erasure.dry_run:
        hold_all_copies(erasure.environment_id)
    found = Elsewhere()
    for erase in _registered_texts:
        found = found.and_also(erase(erasure))
    return found


def _lock(function: str, environment_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [f"memoryhub.copies.{environment_id}"])
