"""Export of a scope's records: every one that is not forgotten, byte for byte, at one moment. See `record_sources.exported` for the form."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any
from uuid import UUID

from memoryhub.actors import Actor
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.snapshots import snapshot
from memoryhub.spools import disk_room
from providers.contract import Scope
from providers.provider_choice import provider_of
from providers.record_access import WantedScope, require_scope
from providers.record_models import MemoryRecord
from providers.record_scopes import WritesHere, find_scope
from providers.record_sources.exported import closing_line, header_line, record_line

EXPORT_STATEMENT_SECONDS_MAX = 300
CHUNK_ROWS = 500


@dataclass(frozen=True, slots=True)
class RecordExport:
    records: int
    size_bytes: int
    sha256: str


def export_records(
    wanted: WantedScope, out: IO[bytes], *, bytes_max: int | None, actor: Actor
) -> RecordExport:
    """Write the records, oldest first; the memory it takes does not grow with the scope. The same scope gives the same bytes.

    Raises: NotFound, PermissionRefused; Conflict where another service keeps the texts; InvalidRequest past `bytes_max`.
    """
    scope = require_scope(wanted, actor=actor)
    _require_here(scope)
    written, lines, digest = 0, 0, hashlib.sha256()
    with snapshot(statement_seconds_max=EXPORT_STATEMENT_SECONDS_MAX), disk_room():
        for line in _lines(scope):
            written, lines = written + len(line), lines + 1
            if bytes_max is not None and written > bytes_max:
                raise InvalidRequest(
                    f"The records have more than the {bytes_max} bytes of a download.",
                    error_code="archive_too_large",
                )
            digest.update(line)
            out.write(line)
        closing = closing_line(lines - 1, digest.hexdigest())
        out.write(closing)
    digest.update(closing)
    return RecordExport(lines - 1, written + len(closing), digest.hexdigest())


def _require_here(scope: Scope) -> None:
    bound = provider_of(UUID(scope.tenant_id.partition(":")[2]))
    if not isinstance(bound.provider, WritesHere):
        raise Conflict(
            f"The records are kept by {bound.name}, another service: export them there.",
            error_code="records_elsewhere",
        )


def _lines(scope: Scope) -> Iterator[bytes]:
    """The header, and then a line for each record."""
    yield header_line(scope.agent, scope.scope)
    held = find_scope(scope)
    if held is None:
        return
    rows = MemoryRecord.objects.filter(scope_id=held.id, forgotten_at=None).order_by("id")
    for row in rows.iterator(chunk_size=CHUNK_ROWS):
        yield record_line(_wire(row))


def _wire(row: MemoryRecord) -> dict[str, Any]:
    return {
        "id": row.record_id,
        "version": row.version,
        "text": row.text,
        "origin": row.origin,
        "provenance": row.provenance,
        "thread": row.thread,
        "author": row.author,
        "title": row.title,
        "tags": row.tags or [],
        "occurred_at": optional_to_wire(row.occurred_at),
        "created_at": to_wire(row.created_at),
    }
