"""What the host methods know of a store, and nothing more: neither port can close or empty anything.

Answers are plain JSON values, as they would come from anywhere; whoever asks reads each of them as if a stranger had
sent it. Every failure of a store passes through unchanged.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from authority.bindings import Binding
from authority.graph import Change, HeadReference


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit asks. `expected`: the head it was made for. `instant` None: the store's clock says it."""

    actor_id: str
    operation_id: str
    changes: tuple[Change, ...]
    expected: HeadReference
    instant: str | None
    operation_bytes_max: int


class CanonicalPort(Protocol):
    @property
    def binding(self) -> Binding: ...

    def head(self) -> Any:
        """The full head."""

    def snapshot(self, reference: HeadReference, *, records_max: int) -> Any:
        """All records at a head."""

    def changes_since(self, reference: HeadReference, *, limit: int, through: HeadReference) -> Any:
        """A page of at most `limit` operations after one head, up to another."""

    def commit(self, commit: Commit) -> Any:
        """The operation, also when the same one was committed before."""


class WorkingPort(Protocol):
    @property
    def binding(self) -> Binding: ...

    def export_dependency_closure(
        self, roots: list[str], reference: HeadReference, *, records_max: int
    ) -> Any:
        """Some records at a head and all that they depend on."""
