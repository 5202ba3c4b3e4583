"""A space replayed from its first operation: whatever was changed behind the hub's back is named."""

from collections.abc import Iterator
from typing import Any

from django.db import connection

from authority.bindings import parse_binding
from authority.canonical import NotCanonical, array_text, parse, text_of
from authority.commits import search_text
from authority.graph import (
    EMPTY_HEAD,
    Head,
    Put,
    Record,
    Reference,
    apply_changes,
    records_digest,
)
from authority.models import Operation as OperationRow
from authority.models import RecordVersion, Space
from authority.operations import Operation, graph_revision, parse_operation
from memoryhub.errors import HubError

ROWS_AT_ONCE = 200

type Version = tuple[str, int]  # key, the operation it began with


def find_space_faults(space: Space) -> Iterator[str]:
    """One sentence for each row that is not what the operations say."""
    yield from _find_binding_faults(space)
    if space.purge_receipt is not None:
        if OperationRow.objects.filter(space=space).exists():
            yield "the space was purged, and an operation is left"
        if RecordVersion.objects.filter(space=space).exists():
            yield "the space was purged, and a record is left"
        return
    head, references = EMPTY_HEAD, dict[str, Reference]()
    versions: dict[Version, tuple[Record, int | None]] = {}
    begun: dict[str, int] = {}
    for row in OperationRow.objects.filter(space=space).order_by("sequence").iterator(ROWS_AT_ONCE):
        try:
            operation, references = _replay(space, row, head, references)
        except (HubError, NotCanonical) as error:
            yield f"operation {row.sequence}: {error}"
            return
        for change in operation.changes:
            if change.key in begun:
                first = begun.pop(change.key)
                versions[change.key, first] = (versions[change.key, first][0], operation.sequence)
            if isinstance(change, Put):
                begun[change.key] = operation.sequence
                versions[change.key, operation.sequence] = (change.record, None)
        head = operation.head
    if head != space.head:
        yield f"the head is not that of operation {head.sequence}"
    yield from _find_version_faults(space, versions)


def _find_binding_faults(space: Space) -> Iterator[str]:
    try:
        binding = parse_binding(parse(space.binding_text))
    except (HubError, NotCanonical) as error:
        yield f"the binding: {error}"
        return
    said = (
        space.binding_text.encode(),
        space.binding_sha256,
        space.space_id,
        space.realm_id,
        space.profile_kind,
    )
    if (binding.text, binding.sha256, binding.space_id, binding.realm_id, binding.kind) != said:
        yield "the binding is not that of the space"


class NotReplayed(HubError):
    """The row is not what its place in the history says."""


def _replay(
    space: Space, row: OperationRow, prior: Head, references: dict[str, Reference]
) -> tuple[Operation, dict[str, Reference]]:
    operation = parse_operation(parse(row.body))
    if operation.text != row.body.encode() or _columns(row) != _expected(operation):
        raise NotReplayed("the row is not what its body says")
    if operation.space_id != space.space_id:
        raise NotReplayed("the operation is of another space")
    if (operation.sequence, operation.parent_sha256) != (prior.sequence + 1, prior.operation_sha256):
        raise NotReplayed("the operation does not follow the one before")
    after = apply_changes(references, operation.changes)
    if records_digest(after.values()) != operation.records_sha256:
        raise NotReplayed("the records after it have another digest")
    revision = graph_revision(
        prior,
        array_text(change.text() for change in operation.changes),
        operation_id=operation.operation_id,
        records_sha256=operation.records_sha256,
    )
    if revision != operation.graph_revision_sha256:
        raise NotReplayed("its revision has another digest")
    return operation, after


def _columns(row: OperationRow) -> tuple[Any, ...]:
    return (
        row.sequence,
        row.operation_id,
        row.operation_sha256,
        row.parent_sha256,
        row.graph_revision_sha256,
        row.records_sha256,
        row.actor_id,
        row.instant,
        row.body_bytes,
    )


def _expected(operation: Operation) -> tuple[Any, ...]:
    return (
        operation.sequence,
        operation.operation_id,
        operation.sha256,
        operation.parent_sha256,
        operation.graph_revision_sha256,
        operation.records_sha256,
        operation.actor_id,
        operation.instant,
        len(operation.text),
    )


def _find_version_faults(space: Space, versions: dict[Version, tuple[Record, int | None]]) -> Iterator[str]:
    rows = RecordVersion.objects.filter(space=space).order_by("key", "from_sequence").defer("value", "search")
    for row in rows.iterator(ROWS_AT_ONCE):
        expected = versions.pop((row.key, row.from_sequence), None)
        if expected is None:
            yield f"record {row.key} from {row.from_sequence}: no operation wrote it"
        elif not _is_version(row, *expected):
            yield f"record {row.key} from {row.from_sequence}: it is not what the operation wrote"
    for key, sequence in versions:
        yield f"record {key} from {sequence}: it is missing"


_FILTERS = """
SELECT value = %s::jsonb AND search = to_tsvector('simple', %s)
  FROM authority_recordversion WHERE space_id = %s AND key = %s AND from_sequence = %s
"""


def _is_version(row: RecordVersion, record: Record, to_sequence: int | None) -> bool:
    columns = (
        row.to_sequence,
        row.kind,
        row.record_sha256,
        tuple(row.dependencies),
        row.body.encode(),
        row.body_bytes,
    )
    expected = (to_sequence, record.kind, record.sha256, record.dependencies, record.text, len(record.text))
    return columns == expected and _are_filters(row, record)


def _are_filters(row: RecordVersion, record: Record) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            _FILTERS,
            [
                text_of(record.value).decode(),
                search_text(record.key, record.value),
                row.space_id,
                row.key,
                row.from_sequence,
            ],
        )
        return bool(cursor.fetchone()[0])
