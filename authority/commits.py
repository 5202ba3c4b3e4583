"""The commit of one operation on a space: compare, apply, write, in that order, in the caller's transaction."""

from collections.abc import Mapping
from typing import Any

from django.db import connection

from authority.canonical import is_code, is_instant, is_integer, parse, text_of
from authority.clocks import instant_now
from authority.failures import (
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    ConflictError,
    OperationSizeError,
    ValidationTypeError,
)
from authority.graph import Change, Put, Record, Reference, apply_changes, records_digest, sort_changes
from authority.limits import LANE_BYTES_MAX, LANE_RECORDS_MAX, OPERATION_BYTES_MAX, SEARCH_TEXT_BYTES_MAX
from authority.models import Operation as OperationRow
from authority.models import RecordVersion, Space
from authority.operations import Operation, Signed, make_operation, parse_operation
from authority.ports import Commit
from authority.snapshots import snapshot_bytes, widest_head


def check_commit(commit: Commit) -> tuple[Change, ...]:
    """Its changes, sorted. Raises: ValidationTypeError, CapacityError."""
    if (
        not is_code(commit.actor_id)
        or not is_code(commit.operation_id)
        or not is_integer(commit.operation_bytes_max, 1, OPERATION_BYTES_MAX)
    ):
        raise ValidationTypeError("Invalid actor, operation ID, or operation byte bound.")
    if commit.instant is not None and not is_instant(commit.instant):
        raise ValidationTypeError("Invalid operation instant.")
    return sort_changes(commit.changes)


def commit_operation(space: Space, commit: Commit, changes: tuple[Change, ...]) -> tuple[Operation, bool]:
    """A step: (the operation, whether it is new) of a locked space.

    One that was committed before is answered before its expected head is compared, so that an exact repeat succeeds.
    Raises: ConflictError, CapacityError, DependencyError, OperationSizeError, AuthorityIntegrityError.
    """
    require_true_head(space)
    known = _find_known(space, commit, changes)
    if known is not None:
        return known, False
    if commit.expected != space.head.reference:
        raise ConflictError("The expected head does not match the current space head.")
    current, sizes = read_current(space)
    after = apply_changes(current, changes)
    _require_lane(space, sizes, changes, after)
    operation = make_operation(
        space.head,
        Signed(space.space_id, commit.operation_id, commit.actor_id, commit.instant or instant_now()),
        changes,
        records_sha256=records_digest(after.values()),
    )
    _require_size(operation, commit.operation_bytes_max)
    _write(space, operation)
    return operation, True


def require_true_head(space: Space) -> None:
    """Raises: AuthorityIntegrityError when the head and the last operation disagree."""
    last = OperationRow.objects.filter(space=space).order_by("-sequence").defer("body").first()
    if (last.head.as_wire() if last else None) != (space.head.as_wire() if space.sequence else None):
        raise AuthorityIntegrityError("The space head and its operation history disagree.")


def _find_known(space: Space, commit: Commit, changes: tuple[Change, ...]) -> Operation | None:
    row = OperationRow.objects.filter(space=space, operation_id=commit.operation_id).first()
    if row is None:
        return None
    known = parse_operation(parse(row.body))
    if known.actor_id != commit.actor_id or known.changes != changes:
        raise ConflictError("The operation ID is already bound to different content.")
    _require_size(known, commit.operation_bytes_max)
    return known


def _require_size(operation: Operation, bytes_max: int) -> None:
    if len(operation.text) > bytes_max:
        raise OperationSizeError(len(operation.text), bytes_max)


def read_current(space: Space) -> tuple[dict[str, Reference], dict[str, int]]:
    """A step: (references, sizes in bytes) of the current records, by key."""
    rows = (
        RecordVersion.objects.filter(space=space, to_sequence=None)
        .order_by("key")
        .values_list("key", "kind", "dependencies", "record_sha256", "body_bytes")
    )
    references, sizes = {}, {}
    for key, kind, dependencies, sha256, size in rows:
        references[key] = Reference(key, kind, tuple(dependencies), sha256)
        sizes[key] = size
    return references, sizes


def _require_lane(
    space: Space, sizes: Mapping[str, int], changes: tuple[Change, ...], after: Mapping[str, Reference]
) -> None:
    """No commit makes a space larger than what an authority can read. Raises: CapacityError."""
    if len(after) > LANE_RECORDS_MAX:
        raise CapacityError("The space would exceed its record snapshot bound.")
    put = {change.key: len(change.record.text) for change in changes if isinstance(change, Put)}
    total = snapshot_bytes(
        widest_head(space.sequence + 1), [put[key] if key in put else sizes[key] for key in after]
    )
    if total > LANE_BYTES_MAX:
        raise BytesExceededError("The space would exceed its canonical snapshot byte bound.")


_END = """
UPDATE authority_recordversion SET to_sequence = %s
 WHERE space_id = %s AND to_sequence IS NULL AND key = ANY(%s)
"""
_BEGIN = """
INSERT INTO authority_recordversion (project_id, space_id, key, from_sequence, kind, record_sha256, dependencies,
                                     body, body_bytes, value, search)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s::jsonb, to_tsvector('simple', %s))
"""
_MOVE = """
UPDATE authority_space
   SET sequence = %s, operation_sha256 = %s, graph_revision_sha256 = %s, records_sha256 = %s
 WHERE id = %s AND sequence = %s AND operation_sha256 IS NOT DISTINCT FROM %s
"""


def _write(space: Space, operation: Operation) -> None:
    OperationRow.objects.create(
        project_id=space.project_id,
        space=space,
        sequence=operation.sequence,
        operation_id=operation.operation_id,
        operation_sha256=operation.sha256,
        parent_sha256=operation.parent_sha256,
        graph_revision_sha256=operation.graph_revision_sha256,
        records_sha256=operation.records_sha256,
        actor_id=operation.actor_id,
        instant=operation.instant,
        body=operation.text.decode(),
        body_bytes=len(operation.text),
    )
    records = [change.record for change in operation.changes if isinstance(change, Put)]
    with connection.cursor() as cursor:
        cursor.execute(_END, [operation.sequence, space.id, [change.key for change in operation.changes]])
        if records:
            cursor.executemany(_BEGIN, [_row(space, operation.sequence, record) for record in records])
        cursor.execute(
            _MOVE,
            [
                operation.sequence,
                operation.sha256,
                operation.graph_revision_sha256,
                operation.records_sha256,
                space.id,
                space.sequence,
                space.operation_sha256,
            ],
        )
        if cursor.rowcount != 1:
            raise ConflictError("The space head changed while committing.")


def _row(space: Space, sequence: int, record: Record) -> list[Any]:
    return [
        space.project_id,
        space.id,
        record.key,
        sequence,
        record.kind,
        record.sha256,
        list(record.dependencies),
        record.text.decode(),
        len(record.text),
        text_of(record.value).decode(),
        search_text(record.key, record.value),
    ]


def search_text(key: str, value: Any) -> str:
    """The key and every string of a value, cut to what an index can hold."""
    found: list[str] = []
    _collect(value, found)
    joined = "\n".join([key, *found]).encode()
    return joined[:SEARCH_TEXT_BYTES_MAX].decode(errors="ignore")


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            found.append(name)
            _collect(inner, found)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, found)
