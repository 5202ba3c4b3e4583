"""Copies of a text that rooms keep elsewhere: when a version of a memory is erased, so is every copy of its text.

The ground floor knows no room, so a room registers how its copies go. It is called in the erasing transaction.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

type EraseCopies = Callable[[Sequence[UUID]], None]

_registered: list[EraseCopies] = []


def register_copies(erase: EraseCopies) -> None:
    """`erase(version_ids)` blanks what was kept of these memory versions."""
    _registered.append(erase)


def erase_copies(version_ids: Sequence[UUID]) -> None:
    """A step."""
    for erase in _registered:
        erase(version_ids)
