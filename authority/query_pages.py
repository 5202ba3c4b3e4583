"""One page of a query, with what identifies the result and a token that explains its rows."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from authority import space_history
from authority.bindings import sealed
from authority.canonical import digest_of, parse, text_of
from authority.evaluation import Found, Lane, find_rows, read_conflicts, result_set_digest
from authority.explanations import issue_explanation
from authority.failures import BytesExceededError
from authority.graph import Head
from authority.models import Authority, Operation, RecordVersion, Space
from authority.programs import Program
from authority.queries import Position, Query, require_same_result, write_continuation

type Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """Both memories at the heads that a query keeps, and what it asks of them."""

    authority: Authority
    program: Program
    query: Query
    bindings_sha256: str
    pin: Head
    working: Head

    @property
    def lanes(self) -> tuple[Lane, Lane]:
        return (
            Lane("canonical", self.authority.canonical_id, self.pin.sequence),
            Lane("working", self.authority.working_id, self.working.sequence),
        )


def continuation_key() -> bytes:
    """32 raw bytes, of the hub's own secret."""
    return hashlib.sha256(f"memoryhub.authority.continuation\0{settings.SECRET_KEY}".encode()).digest()


def answer(reading: Reading, position: Position | None) -> Wire:
    """A step: the page at a position, or the first. Raises: CapacityError, ContinuationError, ProfileError."""
    found = find_rows(reading.program, reading.query.bindings, reading.lanes)
    identity, result_set = _identity(reading), result_set_digest(found)
    if position is not None:
        require_same_result(
            position,
            memory_sha256=identity["memorySha256"],
            result_set_sha256=result_set,
            total_rows=len(found),
        )
    start = position.next_offset if position else 0
    shown = found[start : start + reading.program.page_size]
    rows, proofs = _read_rows(reading, shown)
    if len(text_of(rows)) > reading.program.page_bytes_max:
        raise BytesExceededError("The V2 memory page exceeds its host-declared canonical byte bound.")
    page = _page(reading.program, start=start, returned=len(rows), total=len(found))
    continuation, continuation_sha256 = _continue(reading, identity, page, result_set)
    covered = {
        "authority": "derived",
        "conflicts": read_conflicts(*reading.lanes),
        "continuationSha256": continuation_sha256,
        "identity": identity,
        "page": page,
        "resultSetSha256": result_set,
        "rows": rows,
        "v": 2,
    }
    result_sha256 = digest_of(covered)
    entry = {
        "conditions": [condition.as_wire() for condition in reading.program.where],
        "identity": identity,
        "page": page,
        "proofs": proofs,
        "resultSha256": result_sha256,
        "rows": rows,
    }
    capability = issue_explanation(reading.authority, entry, result_sha256=result_sha256)
    return {
        **covered,
        "continuation": continuation,
        "explainCapability": capability,
        "resultSha256": result_sha256,
    }


def _identity(reading: Reading) -> Wire:
    fields = {
        "bindings": dict(reading.query.bindings),
        "bindingsSha256": reading.bindings_sha256,
        "canonical": _lane_identity(reading.authority.canonical, reading.pin, "canonical"),
        "conflictPolicy": "visible-conflicts.v1",
        "programId": reading.program.program_id,
        "programSha256": reading.program.sha256,
        "purpose": reading.program.purpose,
        "v": 2,
        "working": _lane_identity(reading.authority.working, reading.working, "working"),
    }
    return sealed(fields, "memorySha256")


def _lane_identity(space: Space, head: Head, lane: str) -> Wire:
    return {
        "authorityId": space.authority_id,
        "bindingSha256": space.binding_sha256,
        "head": head.as_wire(),
        "lane": lane,
        "v": 1,
    }


def _page(program: Program, *, start: int, returned: int, total: int) -> Wire:
    end = start + returned
    return {
        "completeness": "complete" if returned == total else "partial",
        "endExclusive": end,
        "hasMore": end < total,
        "maximumPageBytes": program.page_bytes_max,
        "pageSize": program.page_size,
        "returnedRows": returned,
        "start": start,
        "totalRows": total,
        "v": 2,
    }


def _continue(
    reading: Reading, identity: Wire, page: Wire, result_set_sha256: str
) -> tuple[str | None, str | None]:
    """(continuation, its digest), or (None, None) after the last page."""
    if not page["hasMore"]:
        return None, None
    position = Position(
        reading.bindings_sha256,
        identity["memorySha256"],
        page["endExclusive"],
        reading.program.page_size,
        reading.program.sha256,
        result_set_sha256,
        page["totalRows"],
    )
    return write_continuation(position, continuation_key())


def _read_rows(reading: Reading, shown: list[Found]) -> tuple[list[Wire], list[Wire]]:
    """(rows, what each rests on), in order."""
    rows, proofs = [], []
    spaces = {"canonical": reading.authority.canonical, "working": reading.authority.working}
    heads = {"canonical": reading.pin, "working": reading.working}
    versions: dict[tuple[str, str], RecordVersion] = {}
    operations: dict[tuple[str, int], Operation] = {}
    for name, space in spaces.items():
        keys = [row.key for row in shown if row.lane == name]
        found = space_history.versions_at(space.id, heads[name].sequence).filter(key__in=keys)
        mine = list(found.defer("value", "search"))
        versions |= {(name, version.key): version for version in mine}
        wanted = Operation.objects.filter(
            space=space, sequence__in={version.from_sequence for version in mine}
        )
        operations |= {(name, operation.sequence): operation for operation in wanted.defer("body")}
    for row in shown:
        version = versions[row.lane, row.key]
        rows.append(_row(row, version))
        operation = operations[row.lane, version.from_sequence]
        proofs.append(_proof(row, spaces[row.lane], heads[row.lane], operation))
    return rows, proofs


def _row(found: Found, version: RecordVersion) -> Wire:
    fields = {
        "key": found.key,
        "kind": version.kind,
        "lane": found.lane,
        "premiseAuthority": found.lane,
        "recordSha256": found.record_sha256,
        "value": parse(version.body)["value"],
    }
    return sealed(fields, "resultRowSha256")


def _proof(found: Found, space: Space, head: Head, operation: Operation) -> Wire:
    source = {
        "authorityId": space.authority_id,
        "bindingSha256": space.binding_sha256,
        "head": head.as_wire(),
        "key": found.key,
        "lane": found.lane,
        "recordSha256": found.record_sha256,
        "v": 1,
    }
    provenance = {
        "actorId": operation.actor_id,
        "instant": operation.instant,
        "operationId": operation.operation_id,
        "operationSha256": operation.operation_sha256,
        "sequence": operation.sequence,
    }
    return {"provenance": provenance, "sources": [source]}
