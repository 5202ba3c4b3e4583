"""The proof that one reviewed head follows from another: every operation between them is read and recomputed. Pure.

What a store answers is taken as a stranger's; only what recomputes is believed.
"""

from collections.abc import Iterator
from typing import Any

from authority.canonical import has_exact_keys
from authority.failures import AuthorityIntegrityError, BytesExceededError, CapacityError, ConflictError
from authority.graph import Head, find_head, find_reference
from authority.limits import (
    ADVANCE_OPERATIONS_MAX,
    ADVANCE_PAGES_MAX,
    FEED_BYTES_MAX,
    FEED_OPERATIONS_MAX,
    LANE_RECORDS_MAX,
)
from authority.operations import Operation, parse_operation
from authority.ports import CanonicalPort
from authority.snapshots import Snapshot, read_snapshot
from authority.terms import CANONICAL_LABEL
from memoryhub.errors import HubError

_PAGE = frozenset({"from", "hasMore", "operations", "through", "to", "v"})


def load_snapshot(store: CanonicalPort, head: Head) -> Snapshot:
    """Raises: what the store raises, AuthorityIntegrityError, CapacityError."""
    answer = store.snapshot(head.reference, records_max=LANE_RECORDS_MAX)
    return read_snapshot(answer, head=head, label=CANONICAL_LABEL)


def prove(store: CanonicalPort, prior: Head, target: Head, *, first: Head | None = None) -> Snapshot:
    """The snapshot of `target`, once every operation from `prior` to it has been read.

    `first`: a head that must be the next after `prior`.
    Raises: ConflictError for no descendant, CapacityError for one too far, AuthorityIntegrityError for no proof.
    """
    require_near(prior, target)
    walked = _walk(store, prior, target)
    begun = last = next(walked)
    for head in walked:
        last = head
    if last != target:
        raise AuthorityIntegrityError("The canonical change feed did not prove the requested full head.")
    if first is not None and begun != first:
        raise AuthorityIntegrityError("The returned adoption operation is not on the current canonical path.")
    return load_snapshot(store, target)


def require_near(prior: Head, target: Head) -> None:
    """Raises: ConflictError, CapacityError; no store is asked."""
    distance = target.sequence - prior.sequence
    if distance <= 0:
        raise ConflictError("The next canonical memory head is not a descendant of the current pin.")
    if distance > ADVANCE_OPERATIONS_MAX or distance > ADVANCE_PAGES_MAX * FEED_OPERATIONS_MAX:
        raise CapacityError(
            "The canonical memory advance exceeds its total proof bound; advance in host-reviewed chunks."
        )


def _walk(store: CanonicalPort, prior: Head, target: Head) -> Iterator[Head]:
    """The heads after `prior`, as far as `target`'s sequence."""
    cursor, pages = prior, 0
    while cursor.sequence < target.sequence:
        if pages == ADVANCE_PAGES_MAX:
            raise CapacityError(
                "The canonical memory advance exceeded its page proof bound; advance in host-reviewed chunks."
            )
        pages += 1
        limit = min(target.sequence - cursor.sequence, FEED_OPERATIONS_MAX)
        answer = store.changes_since(cursor.reference, limit=limit, through=target.reference)
        for head in _read_page(answer, cursor, target, limit, store.binding.space_id):
            cursor = head
            yield head


def _read_page(value: Any, cursor: Head, target: Head, limit: int, space_id: str) -> list[Head]:
    if (
        not has_exact_keys(value, _PAGE)
        or type(value["hasMore"]) is not bool
        or type(value["operations"]) is not list
        or len(value["operations"]) > limit
    ):
        raise AuthorityIntegrityError("The canonical change feed returned an invalid page envelope.")
    if find_reference(value["from"]) != cursor.reference or find_head(value["through"]) != target:
        raise AuthorityIntegrityError("The canonical change feed changed its pinned bounds.")
    heads = _read_operations(value["operations"], cursor, space_id)
    reached = heads[-1] if heads else cursor
    ends_short = reached.sequence < target.sequence
    if (
        find_reference(value["to"]) != reached.reference
        or reached.sequence > target.sequence
        or value["hasMore"] is not ends_short
        or not heads
    ):
        raise AuthorityIntegrityError("The canonical change feed did not prove the requested descendant.")
    return heads


def _read_operations(values: list[Any], cursor: Head, space_id: str) -> list[Head]:
    heads: list[Head] = []
    size = 0
    for value in values:
        operation = _read_operation(value)
        if (
            operation.space_id != space_id
            or operation.sequence != cursor.sequence + 1
            or operation.parent_sha256 != cursor.operation_sha256
        ):
            raise AuthorityIntegrityError("The canonical change feed contains a gap or different authority.")
        size += len(operation.text) + 1
        if size > FEED_BYTES_MAX:
            raise BytesExceededError("The canonical change-feed page exceeds its canonical byte bound.")
        cursor = operation.head
        heads.append(cursor)
    return heads


def _read_operation(value: Any) -> Operation:
    try:
        return parse_operation(value)
    except HubError as error:
        raise AuthorityIntegrityError(
            "The canonical change feed contains a gap or different authority."
        ) from error
