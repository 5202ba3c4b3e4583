"""A program's rows over both memories, at the heads that a query names. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from authority.canonical import digest_of, text_of
from authority.failures import BytesExceededError, CapacityError
from authority.limits import TEXT_QUERY_BYTES_MAX
from authority.programs import Condition, Program

type Clause = tuple[str, list[Any]]

LANES = ("canonical", "working")


@dataclass(frozen=True, slots=True)
class Lane:
    """One memory at one head."""

    name: str
    space_id: UUID
    sequence: int


@dataclass(frozen=True, slots=True)
class Found:
    lane: str
    key: str
    record_sha256: str


_SELECT = """
SELECT {lane} AS lane, key, record_sha256, {rank} AS rank FROM authority_recordversion
 WHERE space_id = %s AND from_sequence <= %s AND (to_sequence IS NULL OR to_sequence > %s){where}
"""


def find_rows(program: Program, bindings: Mapping[str, Any], lanes: Sequence[Lane]) -> list[Found]:
    """In the program's order, all of them. Raises: CapacityError for more than the program allows."""
    parts, values = [], list[Any]()
    for lane in lanes:
        rank, rank_values, where = "0::real", list[Any](), ""
        clauses = [_clause(condition, bindings, lane) for condition in program.where]
        for condition in program.where:
            text = _operand(condition, bindings)
            if program.order == "rank" and condition.field == "text" and isinstance(text, str):
                rank, rank_values = "ts_rank_cd(search, websearch_to_tsquery('simple', %s))", [text]
        where = "".join(f" AND {sql}" for sql, _ in clauses)
        parts.append(_SELECT.format(lane=f"'{lane.name}'", rank=rank, where=where))
        values += [*rank_values, lane.space_id, lane.sequence, lane.sequence]
        values += [value for _, given in clauses for value in given]
    query = " UNION ALL ".join(parts)
    statement = f'SELECT lane, key, record_sha256 FROM ({query}) AS rows ORDER BY rank DESC, key COLLATE "C", lane LIMIT %s'  # noqa: S608 - constants only
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, program.rows_max + 1])
        found = [Found(*row) for row in cursor]
    if len(found) > program.rows_max:
        raise CapacityError("The V2 memory query exceeds its host-declared row bound.")
    return found


def _operand(condition: Condition, bindings: Mapping[str, Any]) -> Any:
    return condition.constant if condition.parameter is None else bindings[condition.parameter]


def _clause(condition: Condition, bindings: Mapping[str, Any], lane: Lane) -> Clause:
    """A condition as SQL; null for its operand turns it off."""
    operand = _operand(condition, bindings)
    if operand is None:
        return "true", []
    if condition.field == "value":
        return _value_clause(condition, operand)
    if condition.operator == "in":
        wanted = [
            item for item in (operand if isinstance(operand, list) else [operand]) if isinstance(item, str)
        ]
        return "kind = ANY(%s)", [wanted]
    if not isinstance(operand, str):
        return "false", []
    if condition.field == "lane":
        return ("true" if operand == lane.name else "false"), []
    if condition.field == "text":
        if len(operand.encode()) > TEXT_QUERY_BYTES_MAX:
            raise BytesExceededError("The memory text query exceeds its byte bound.")
        return "search @@ websearch_to_tsquery('simple', %s)", [operand]
    return _TEXT_CLAUSES[condition.field, condition.operator], [operand]


_TEXT_CLAUSES = {
    ("key", "eq"): "key = %s",
    ("key", "prefix"): "starts_with(key, %s)",
    ("kind", "eq"): "kind = %s",
    ("dependsOn", "eq"): "%s = ANY(dependencies)",
}


def _value_clause(condition: Condition, operand: Any) -> Clause:
    compare = "=" if condition.operator == "eq" else "@>"
    return f"value #> %s::text[] {compare} %s::jsonb", [list(condition.path), text_of(operand).decode()]


def result_set_digest(rows: Sequence[Found]) -> str:
    return digest_of([[row.lane, row.key, row.record_sha256] for row in rows])


_CONFLICTS = """
SELECT c.key, c.record_sha256, w.record_sha256
  FROM authority_recordversion c JOIN authority_recordversion w ON w.key = c.key
 WHERE c.space_id = %s AND c.from_sequence <= %s AND (c.to_sequence IS NULL OR c.to_sequence > %s)
   AND w.space_id = %s AND w.from_sequence <= %s AND (w.to_sequence IS NULL OR w.to_sequence > %s)
   AND c.record_sha256 <> w.record_sha256
 ORDER BY c.key COLLATE "C"
"""


def read_conflicts(canonical: Lane, working: Lane) -> dict[str, Any]:
    """Every key that both memories have with different records, whatever was asked for: its number and digest."""
    values = [
        value for lane in (canonical, working) for value in (lane.space_id, lane.sequence, lane.sequence)
    ]
    with connection.cursor() as cursor:
        cursor.execute(_CONFLICTS, values)
        entries = [
            {"canonicalRecordSha256": reviewed, "key": key, "v": 1, "workingRecordSha256": noted}
            for key, reviewed, noted in cursor
        ]
    return {"conflictsSha256": digest_of(entries), "count": len(entries), "v": 1}
