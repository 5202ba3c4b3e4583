"""What a space holds at any of its heads: records, operations, closures. A head's answers never change.

Readers keep a space from being emptied while they read it; they never wait for a commit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from authority.bindings import Binding, parse_binding
from authority.canonical import load, parse
from authority.failures import BytesExceededError, CapacityError, ConflictError, PurgedSpaceError
from authority.graph import EMPTY_HEAD, Head, HeadReference, Reference
from authority.limits import FEED_BYTES_MAX, FEED_OPERATIONS_MAX, SPACE_RECORDS_MAX
from authority.models import Operation, RecordVersion, Space
from authority.snapshots import closure_text, reach, require_closure_bytes, snapshot_bytes, sort_roots
from memoryhub.snapshots import allow_seconds

READ_SECONDS_MAX = 60
PAGE_ENVELOPE_BYTES = 2_048  # more than what stands around the operations of a page


@contextmanager
def reading(key: UUID) -> Iterator[Space]:
    """The space, kept from being emptied meanwhile. Raises: PurgedSpaceError."""
    with atomic():
        allow_seconds(READ_SECONDS_MAX)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM authority_space WHERE id = %s FOR KEY SHARE", [key])
        space = Space.objects.get(id=key)
        require_kept(space)
        yield space


def require_kept(space: Space) -> None:
    """Raises: PurgedSpaceError."""
    if space.purge_receipt is not None:
        raise PurgedSpaceError(parse(space.purge_receipt))


def binding_of(space: Space) -> Binding:
    return parse_binding(parse(space.binding_text))


def head_at(space: Space, reference: HeadReference | None) -> Head:
    """The full head of a reference; the current one of None. Raises: ConflictError for one the space does not have."""
    if reference is None:
        return space.head
    if reference.sequence == 0:
        return EMPTY_HEAD
    operation = Operation.objects.filter(space=space, sequence=reference.sequence).defer("body").first()
    if operation is None or operation.sequence > space.sequence:
        raise ConflictError("The requested head is not present in this space.")
    if operation.operation_sha256 != reference.operation_sha256:
        raise ConflictError("The requested sequence identifies a different operation head.")
    return operation.head


def versions_at(space_id: UUID, sequence: int) -> QuerySet[RecordVersion]:
    """The records after an operation, ascending by key: the column's collation is that of bytes."""
    return (
        RecordVersion.objects.filter(space_id=space_id, from_sequence__lte=sequence)
        .filter(Q(to_sequence=None) | Q(to_sequence__gt=sequence))
        .order_by("key")
    )


# Snapshots.


def snapshot_texts(
    space: Space, reference: HeadReference | None, *, records_max: int, bytes_max: int | None = None
) -> tuple[Head, list[str]]:
    """(head, the canonical texts of all records at it). Raises: ConflictError, CapacityError."""
    head = head_at(space, reference)
    sizes = list(versions_at(space.id, head.sequence).values_list("body_bytes", flat=True)[: records_max + 1])
    if len(sizes) > records_max:
        raise CapacityError(f"The snapshot holds more than {records_max} records.")
    if bytes_max is not None and snapshot_bytes(head, sizes) > bytes_max:
        raise BytesExceededError(f"The snapshot is larger than {bytes_max} bytes.")
    return head, list(versions_at(space.id, head.sequence).values_list("body", flat=True))


def read_snapshot_wire(
    key: UUID, reference: HeadReference | None, *, records_max: int = SPACE_RECORDS_MAX
) -> dict[str, Any]:
    with reading(key) as space:
        head, texts = snapshot_texts(space, reference, records_max=records_max)
    return {"head": head.as_wire(), "records": [load(text) for text in texts], "v": 1}


# The feed.


@dataclass(frozen=True, slots=True)
class Feed:
    """A page of operations: `texts` are theirs, canonical. `end`: the last of them, or the start."""

    start: Head
    end: Head
    through: Head
    texts: list[str]

    def as_wire(self) -> dict[str, Any]:
        return {
            "from": self.start.reference.as_wire(),
            "hasMore": self.end.sequence < self.through.sequence,
            "operations": [load(text) for text in self.texts],
            "through": self.through.as_wire(),
            "to": self.end.reference.as_wire(),
            "v": 1,
        }


def read_changes(key: UUID, reference: HeadReference, *, limit: int, through: HeadReference | None) -> Feed:
    """Operations after a head, in order: at most `limit`, and no more than the bytes of a page, but at least one.

    Raises: CapacityError, ConflictError.
    """
    if type(limit) is not int or not 1 <= limit <= FEED_OPERATIONS_MAX:
        raise CapacityError(f"limit must be an integer from 1 through {FEED_OPERATIONS_MAX}.")
    with reading(key) as space:
        start, end = head_at(space, reference), head_at(space, through)
        if end.sequence < start.sequence:
            raise ConflictError("The change-feed bounds do not identify one local history prefix.")
        return _read_feed(space, start, end, limit)


def _read_feed(space: Space, start: Head, through: Head, limit: int) -> Feed:
    wanted = Operation.objects.filter(
        space=space, sequence__gt=start.sequence, sequence__lte=through.sequence
    ).order_by("sequence")
    count, room = 0, FEED_BYTES_MAX - PAGE_ENVELOPE_BYTES
    for size in wanted.values_list("body_bytes", flat=True)[:limit]:
        room -= size + 1
        if room < 0 and count:
            break
        count += 1
    rows = list(wanted[:count])
    return Feed(start, rows[-1].head if rows else start, through, [row.body for row in rows])


# Closures.


def export_closure(
    key: UUID, roots: list[str], reference: HeadReference | None, *, records_max: int
) -> bytes:
    """The canonical bytes of a closure: the same for the same head and roots, from the stored bytes of the records.

    Raises: CapacityError, ValidationTypeError, ConflictError, DependencyError.
    """
    ordered = sort_roots(roots)
    with reading(key) as space:
        head = head_at(space, reference)
        versions = versions_at(space.id, head.sequence)
        found = versions.values_list("key", "kind", "dependencies", "record_sha256")
        references = {row[0]: Reference(row[0], row[1], tuple(row[2]), row[3]) for row in found}
        keys = reach(ordered, references.get, records_max=records_max)
        chosen = versions.filter(key__in=keys)
        require_closure_bytes(chosen.values_list("body_bytes", flat=True))
        texts = [text.encode() for text in chosen.values_list("body", flat=True)]
        return closure_text(binding_of(space), head, ordered, texts)
