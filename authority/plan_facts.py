"""What a review plan rests on, read from both spaces: a constant number of queries, however many records there are."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from authority.canonical import load
from authority.graph import Head, Wire
from authority.models import Operation
from authority.space_history import versions_at

OPERATIONS_SHOWN_MAX = 100
KEYS_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class Provenance:
    """The operation of the working memory that wrote a record."""

    operation_id: str
    operation_sha256: str
    sequence: int
    actor_id: str
    instant: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A record of the reviewed memory at the pin."""

    sha256: str
    size_bytes: int
    dependencies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassedOperation:
    """An operation that the pin has not reached. `keys`: the first of those it changed."""

    sequence: int
    operation_sha256: str
    actor_id: str
    instant: str
    keys_count: int
    keys: list[str]


def read_provenance(space_id: UUID, head: Head, keys: Sequence[str]) -> dict[str, Provenance]:
    """Who wrote each of these records, as they were at a head."""
    written = dict(
        versions_at(space_id, head.sequence).filter(key__in=keys).values_list("key", "from_sequence")
    )
    operations = Operation.objects.filter(space_id=space_id, sequence__in=set(written.values())).defer("body")
    by_sequence = {
        one.sequence: Provenance(
            one.operation_id, one.operation_sha256, one.sequence, one.actor_id, one.instant
        )
        for one in operations
    }
    return {key: by_sequence[sequence] for key, sequence in written.items() if sequence in by_sequence}


def read_digests(space_id: UUID, head: Head, keys: Sequence[str]) -> dict[str, str]:
    """The digests of records at a head, of those that are there."""
    return dict(versions_at(space_id, head.sequence).filter(key__in=keys).values_list("key", "record_sha256"))


def read_standing(space_id: UUID, head: Head) -> dict[str, Standing]:
    """Every record at a head, without its text."""
    rows = versions_at(space_id, head.sequence).values_list(
        "key", "record_sha256", "body_bytes", "dependencies"
    )
    return {key: Standing(sha256, size, tuple(keys)) for key, sha256, size, keys in rows}


def read_records(space_id: UUID, head: Head, keys: Sequence[str]) -> dict[str, Wire]:
    """Whole records at a head, of those that are there."""
    rows = versions_at(space_id, head.sequence).filter(key__in=keys).values_list("key", "body")
    return {key: load(body) for key, body in rows}


def find_dependents(standing: dict[str, Standing], keys: Iterable[str]) -> dict[str, list[str]]:
    """The records that depend on each of these, ascending."""
    wanted, found = set(keys), defaultdict(list)
    for key, one in standing.items():
        for dependency in wanted.intersection(one.dependencies):
            found[dependency].append(key)
    return dict(found)


_CHANGED = """
SELECT sequence, count(*), (array_agg(key ORDER BY key COLLATE "C"))[1:%s]
  FROM (SELECT from_sequence AS sequence, key FROM authority_recordversion
         WHERE space_id = %s AND from_sequence > %s AND from_sequence <= %s
         UNION
        SELECT to_sequence, key FROM authority_recordversion
         WHERE space_id = %s AND to_sequence > %s AND to_sequence <= %s) changed
 GROUP BY sequence
"""


def list_passed(space_id: UUID, after: int, through: int) -> list[PassedOperation]:
    """The first operations after a sequence, in order."""
    rows = list(
        Operation.objects.filter(space_id=space_id, sequence__gt=after, sequence__lte=through)
        .order_by("sequence")
        .defer("body")[:OPERATIONS_SHOWN_MAX]
    )
    changed = _read_changed(space_id, after, rows[-1].sequence) if rows else {}
    return [
        PassedOperation(
            one.sequence,
            one.operation_sha256,
            one.actor_id,
            one.instant,
            *changed.get(one.sequence, (0, [])),
        )
        for one in rows
    ]


def _read_changed(space_id: UUID, after: int, through: int) -> dict[int, tuple[int, list[str]]]:
    """(how many keys, the first of them) of each operation."""
    bounds: tuple[UUID, int, int] = (space_id, after, through)
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED, [KEYS_SHOWN_MAX, *bounds, *bounds])
        return {sequence: (count, keys) for sequence, count, keys in cursor.fetchall()}


def head_of(space_id: UUID, sequence: int) -> Head | None:
    """The full head of an operation, by its number."""
    operation = Operation.objects.filter(space_id=space_id, sequence=sequence).defer("body").first()
    return None if operation is None else operation.head
