"""The invariants of reviewed memory."""

from collections.abc import Iterator

from authority.models import Space
from authority.verification import find_space_faults
from memoryhub.integrity import Invariant


def find_history_faults() -> Iterator[str]:
    """Every space, replayed."""
    for space in Space.objects.order_by("id").iterator():
        for fault in find_space_faults(space):
            yield f"{space.wire_id} {fault}"


INVARIANTS: tuple[Invariant, ...] = (
    Invariant("space_history", "A space is what its operations say, byte for byte.", find_history_faults),
)
