"""Copies of a text that rooms keep elsewhere: when a version of a memory is erased, so is every copy of its text.

The ground floor knows no room, so a room registers how its copies go. It is called in the erasing transaction.
Who copies a text holds the copies of its environment from before it reads to its commit, and who erases waits for all
who hold them: else a text that was read before and kept after would be found by no erasure.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import connection

type EraseCopies = Callable[[Sequence[UUID]], None]

_registered: list[EraseCopies] = []


def register_copies(erase: EraseCopies) -> None:
    """`erase(version_ids)` blanks what was kept of these memory versions."""
    _registered.append(erase)


def hold_copies(environment_id: UUID) -> None:
    """A step, before texts are read to be kept elsewhere: shared, to the end of the transaction."""
    _lock("pg_advisory_xact_lock_shared", environment_id)


def erase_copies(environment_id: UUID, version_ids: Sequence[UUID]) -> None:
    """A step. The rows of the versions are locked, or nobody can read them any more."""
    _lock("pg_advisory_xact_lock", environment_id)
    for erase in _registered:
        erase(version_ids)


def _lock(function: str, environment_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [f"memoryhub.copies.{environment_id}"])
