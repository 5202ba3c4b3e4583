"""The built-in tools of an endpoint, and its recall: what they take, what they do in one partition.

Source: contract of document and HTTP memory, sections 13.3 to 13.6. Writes are steps: the partition is locked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.query import QuerySet

from memoryhub import ids, ranking
from memoryhub.clock import to_wire_milliseconds
from memoryhub.columns import ClockTimestamp
from memoryhub.ranking import QUERY_LEXEMES_MAX, IndexTable, Wanted
from memoryhub.rows import find_row
from providers.endpoint_models import Endpoint, EndpointOperation, ExternalPartition, ExternalRecord
from providers.endpoint_wire import Refusal, WireRequest, encode, read_cursor, write_cursor
from providers.limits import (
    BODY_BYTES_MAX,
    FACT_LENGTH_MAX,
    PARTITION_RECORDS_MAX,
    RECALL_SOURCES_MAX,
    SEARCH_HITS_DEFAULT,
    SEARCH_HITS_MAX,
)

_TABLE = IndexTable("providers_externalrecord", key="id")
_INDEX = """
UPDATE providers_externalrecord SET terms = made.terms,
       length = coalesce((SELECT sum(cardinality(positions)) FROM unnest(made.terms)), 0)
  FROM (SELECT to_tsvector('english', %s) AS terms) AS made WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class Tool[Run]:
    """`run`: what does it, of the tools here on a partition, which a read may find missing."""

    name: str
    description: str
    access: str
    input: dict[str, Any]
    run: Run

    @property
    def is_write(self) -> bool:
        return self.access == "write"

    def to_declaration(self, *, repeats: bool) -> dict[str, Any]:
        """As the calling side declares it. `repeats`: a write that is sent again is done once for certain."""
        return {
            "name": self.name,
            "description": self.description,
            "access": self.access,
            "idempotent": self.is_write and repeats,
            "input": self.input,
        }


type OwnTool = Tool[Callable[[Endpoint, Any, WireRequest], dict[str, Any]]]


def recall(endpoint: Endpoint, partition: ExternalPartition | None, request: WireRequest) -> dict[str, Any]:
    """Whole records, the best first, then the newest, as many as fit; nothing is stored."""
    revision = 0 if partition is None else partition.revision
    chosen: list[ExternalRecord] = []
    room = min(request.bytes_max, endpoint.bytes_max)
    for record in _candidates(partition, request.input_text):
        size = len(record.text.encode()) + (1 if chosen else 0)
        if size <= room and len(chosen) < RECALL_SOURCES_MAX:
            chosen.append(record)
            room -= size
    cursor = write_cursor(endpoint.wire_id, request.partition, revision)
    return fit(chosen, lambda records: _recalled(records, cursor))


def _recalled(records: list[ExternalRecord], cursor: str) -> dict[str, Any]:
    return {
        "text": "\n".join(record.text for record in records),
        "sources": [
            {
                "id": record.wire_id,
                "revision": str(record.revision),
                "updatedAt": to_wire_milliseconds(record.changed_at),
            }
            for record in records
        ],
        "cursor": cursor,
    }


def fit[Row](rows: list[Row], answer: Callable[[list[Row]], dict[str, Any]]) -> dict[str, Any]:
    """What a host may read, which is no more than BODY_BYTES_MAX: without the last rows when it must be."""
    while len(encode({"result": answer(rows)})) > BODY_BYTES_MAX:
        rows = rows[:-1]
    return answer(rows)


def _candidates(partition: ExternalPartition | None, text: str | None) -> list[ExternalRecord]:
    if partition is None:
        return []
    best = [record for record, _ in _rank(partition, text or "", RECALL_SOURCES_MAX)]
    held = ExternalRecord.objects.filter(partition_id=partition.id).defer("terms")
    newest = held.order_by("-changed_at", "-id")
    seen = {record.id for record in best}
    return best + [record for record in newest[:RECALL_SOURCES_MAX] if record.id not in seen]


def _rank(partition: ExternalPartition, query: str, limit: int) -> list[tuple[ExternalRecord, float]]:
    with connection.cursor() as cursor:
        cursor.execute(ranking.LEXEMES, [ranking.words(query), QUERY_LEXEMES_MAX])
        lexemes = [lexeme for (lexeme,) in cursor.fetchall()]
        if not lexemes:
            return []
        statement, values = ranking.rank_statement(
            _TABLE,
            Wanted(lexemes),
            scope="partition_id = %(partition)s",
            values={"partition": partition.id},
            limit=limit,
        )
        cursor.execute(statement, values)
        scores = dict(cursor.fetchall())
    records = ExternalRecord.objects.defer("terms").in_bulk(list(scores))
    return [(records[key], score) for key, score in scores.items() if key in records]


def _search(endpoint: Endpoint, partition: ExternalPartition | None, request: WireRequest) -> dict[str, Any]:
    if partition is None:
        return {"hits": []}
    limit = request.arguments.get("limit", SEARCH_HITS_DEFAULT)
    return fit(_rank(partition, request.arguments["query"], limit), _hits)


def _hits(ranked: list[tuple[ExternalRecord, float]]) -> dict[str, Any]:
    return {
        "hits": [
            {
                "id": record.wire_id,
                "text": record.text,
                "score": round(score, 6),
                "updatedAt": to_wire_milliseconds(record.changed_at),
            }
            for record, score in ranked
        ]
    }


def _remember(endpoint: Endpoint, partition: ExternalPartition, request: WireRequest) -> dict[str, Any]:
    if ExternalRecord.objects.filter(partition_id=partition.id).count() >= PARTITION_RECORDS_MAX:
        raise partition_full()
    advance(partition)
    record = ExternalRecord(
        project_id=partition.project_id,
        partition=partition,
        text=request.arguments["fact"],
        revision=partition.revision,
    )
    record.save(force_insert=True)
    index_record(record)
    return {"status": "stored", "id": record.wire_id}


def partition_full() -> Refusal:
    message = f"The partition holds {PARTITION_RECORDS_MAX} records; forget some first."
    return Refusal(400, "partition_full", message)


def _replace(endpoint: Endpoint, partition: ExternalPartition, request: WireRequest) -> dict[str, Any]:
    record = _find_unchanged(endpoint, partition, request)
    if record is None:
        raise Refusal(404, "not_found", "There is no such record in this partition.")
    write_text(partition, record, request.arguments["fact"])
    return {"status": "stored", "id": record.wire_id, "revision": str(record.revision)}


def _forget(endpoint: Endpoint, partition: ExternalPartition, request: WireRequest) -> dict[str, Any]:
    record = _find_unchanged(endpoint, partition, request)
    if record is not None:
        remove_records(partition, [record.id])
    return {"status": "stored"}


def _find_unchanged(
    endpoint: Endpoint, partition: ExternalPartition, request: WireRequest
) -> ExternalRecord | None:
    """The record that is meant, as the cursor's recall saw it. Raises: Refusal."""
    if request.cursor is None:
        raise Refusal(400, "cursor_required", "Send the cursor of the recall that showed the record.")
    revision = read_cursor(endpoint.wire_id, request.partition, request.cursor)
    key = ids.from_wire(ids.EXTERNAL_RECORD, request.arguments["id"])
    record = find_row(ExternalRecord.objects.filter(partition_id=partition.id, id=key)) if key else None
    if record is not None and record.revision > revision:
        raise Refusal(409, "conflict", "The record was changed since that recall.", id=record.wire_id)
    return record


def advance(partition: ExternalPartition) -> None:
    """A step, of each write: later cursors are newer."""
    partition.revision += 1
    partition.changed_at = ClockTimestamp()
    partition.save(update_fields=["revision", "changed_at"])


def remove_records(partition: ExternalPartition, record_ids: Sequence[UUID]) -> None:
    """A step: with what was answered to whoever wrote them, which would say that they are stored."""
    if not record_ids:
        return
    advance(partition)
    ExternalRecord.objects.filter(partition_id=partition.id, id__in=record_ids).delete()
    blank_answers(EndpointOperation.objects.filter(partition_id=partition.id, record_id__in=record_ids))


def blank_answers(operations: QuerySet[EndpointOperation]) -> None:
    operations.update(body=b"", fingerprint="", erased_at=ClockTimestamp())


def write_text(partition: ExternalPartition, record: ExternalRecord, text: str) -> None:
    advance(partition)
    record.text, record.revision, record.changed_at = text, partition.revision, ClockTimestamp()
    record.save(update_fields=["text", "revision", "changed_at"])
    index_record(record)


def index_record(record: ExternalRecord) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_INDEX, [ranking.words(record.text), record.id])


def input_of(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1, "maxLength": FACT_LENGTH_MAX}
_ID = {"type": "string", "minLength": 1, "maxLength": 64}
TOOLS: dict[str, OwnTool] = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search what is known, best first.",
            "read",
            input_of(
                ["query"],
                query=TEXT,
                limit={"type": "integer", "minimum": 1, "maximum": SEARCH_HITS_MAX},
            ),
            _search,
        ),
        Tool(
            "remember",
            "Keep a fact. It is stored when this answers: the next recall can show it.",
            "write",
            input_of(["fact"], fact=TEXT),
            _remember,
        ),
        Tool(
            "replace",
            "Replace the text of a record that was recalled, by its id. Stored when this answers; a conflict when it changed since.",
            "write",
            input_of(["id", "fact"], id=_ID, fact=TEXT),
            _replace,
        ),
        Tool(
            "forget",
            "Forget a record that was recalled, by its id. Gone when this answers; a conflict when it changed since.",
            "write",
            input_of(["id"], id=_ID),
            _forget,
        ),
    )
}
