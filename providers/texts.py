"""Every text that this room keeps beside documents: what services were sent and gave, and what hosts keep in endpoints.

A text that is erased wherever it stands is looked for here by itself: no version links it. What was sent and given is blanked, and a
call that is not done yet is cancelled, since its bytes are gone. Records and items are data of hosts: like the current contents
of memories they go when the erasure may delete, and are named when it may not.

Order of locks: the copies of the environment, partitions, rows. Who changes rows of calls that may be erased meanwhile holds the copies first.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Model, Q
from django.db.models.functions import Coalesce
from django.db.models.query import QuerySet

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import sha256_hex
from memoryhub.erasure import Elsewhere, Sought, TextErasure
from memoryhub.sought_texts import BYTES, JSON, PLAIN, Form, holds, sought_values
from providers.endpoint_models import EndpointOperation, ExternalItem, ExternalPartition, ExternalRecord
from providers.endpoint_tools import blank_answers, remove_records
from providers.models import Binding, HttpOperation, ModelRequest, Projection, ToolCall
from providers.remote import list_remote
from providers.wire_answers import host_error

ERASED = {"error": host_error("erased")}
_NAMES: dict[type[Model], str] = {
    Projection: "projections",
    ToolCall: "tool_calls",
    HttpOperation: "http_operations",
    ModelRequest: "model_requests",
    EndpointOperation: "endpoint_answers",
}

_OF_REQUEST = """
  FROM {table} t JOIN providers_modelrequest r ON r.id = t.model_request_id
  JOIN memoryhub_session s ON s.id = r.session_id WHERE s.environment_id = %(environment)s
"""
_OF_PARTITION = """
  FROM {table} t JOIN providers_externalpartition p ON p.id = t.partition_id
  JOIN providers_endpoint e ON e.id = p.endpoint_id WHERE e.environment_id = %(environment)s
"""
_SESSION = "r.session_id, t.resource_id"


@dataclass(frozen=True, slots=True)
class _Kept:
    """One table. `shown`: what is read of a row beside its id. `only`: rows that may be meant."""

    model: type[Model]
    shown: str
    source: str
    texts: tuple[tuple[Form, str], ...]
    only: str = "true"

    def find(self, erasure: TextErasure) -> list[tuple[Any, ...]]:
        held = holds(erasure.sought, *((form, f"t.{column}") for form, column in self.texts))
        table = self.model._meta.db_table
        source = self.source.format(table=table)
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT t.id, {self.shown} {source} AND {self.only} AND {held} ORDER BY t.id",
                sought_values(erasure.sought) | {"environment": erasure.environment_id},
            )
            return list(cursor.fetchall())


# Those with versions are copies of documents, which go with their versions.
_NO_VERSIONS = "t.erased_at IS NULL AND t.version_ids = '{}'"
_PROJECTIONS = _Kept(
    Projection,
    _SESSION,
    _OF_REQUEST,
    ((PLAIN, "text"), (PLAIN, "cursor"), (JSON, "sources")),
    _NO_VERSIONS,
)
_CALLS = _Kept(ToolCall, _SESSION, _OF_REQUEST, ((JSON, "arguments"), (JSON, "output")), _NO_VERSIONS)
_OPERATIONS = _Kept(
    HttpOperation, _SESSION, _OF_REQUEST, ((BYTES, "body"), (JSON, "outcome"), (PLAIN, "code"))
)
_REQUESTS = _Kept(
    ModelRequest,
    "t.session_id, NULL",
    "FROM {table} t JOIN memoryhub_session s ON s.id = t.session_id WHERE s.environment_id = %(environment)s",
    ((PLAIN, "input_text"), (JSON, "cause")),
)
_REPLAYS = _Kept(EndpointOperation, "p.id", _OF_PARTITION, ((BYTES, "body"),), "t.erased_at IS NULL")
_RECORDS = _Kept(ExternalRecord, "p.id, e.id", _OF_PARTITION, ((PLAIN, "text"),))
_ITEMS = _Kept(ExternalItem, "p.id, e.id", _OF_PARTITION, ((PLAIN, "text"),))


def erase_text(erasure: TextErasure) -> Elsewhere:
    """A step. The copies of the environment are held alone unless it is a dry run."""
    used = {kept.model: kept.find(erasure) for kept in (_PROJECTIONS, _CALLS, _OPERATIONS, _REQUESTS)}
    replays = _REPLAYS.find(erasure)
    if not erasure.dry_run:
        _blank({model: [row[0] for row in rows] for model, rows in used.items()}, erasure)
        blank_answers(EndpointOperation.objects.filter(id__in=[row[0] for row in replays]))
    records, items = _find_data(erasure)
    data = [*_describe("external_record", records), *_describe("external_item", items)]
    copies = Counter({_NAMES[model]: len(rows) for model, rows in used.items() if rows})
    if replays:
        copies[_NAMES[EndpointOperation]] = len(replays)
    places = {(session_id, resource_id) for rows in used.values() for _, session_id, resource_id in rows}
    return Elsewhere(
        copies,
        deleted=data if erasure.deletes else [],
        left=[] if erasure.deletes else data,
        remote=_list_remote(erasure.environment_id, places),
    )


def _blank(keys: dict[type[Model], list[UUID]], erasure: TextErasure) -> None:
    now = ClockTimestamp()
    requests, calls = keys[ModelRequest], keys[ToolCall]
    Projection.objects.filter(id__in=keys[Projection]).update(text="", sources=[], cursor=None, erased_at=now)
    ToolCall.objects.filter(id__in=calls).update(
        arguments=None, request_sha256=None, output=None, erased_at=now
    )
    _erase_requests(requests)
    holding = Q(id__in=keys[HttpOperation]) | Q(tool_call_id__in=calls)
    holding |= Q(model_request_id__in=requests, kind="recall")
    _blank_operations(HttpOperation.objects.filter(holding), erasure)


def _erase_requests(keys: list[UUID]) -> None:
    """Of what was asked nothing; of why a recall failed only that it was erased."""
    held = ModelRequest.objects.filter(id__in=keys)
    held.update(input_text=None)
    for request in held.filter(cause__isnull=False):
        assert request.cause is not None
        request.cause = {"resource": request.cause["resource"], "cause": ERASED["error"]}
        request.save(update_fields=["cause"])


def _blank_operations(operations: QuerySet[HttpOperation], erasure: TextErasure) -> None:
    """One that is not done has lost its bytes: it is cancelled, and whoever runs it ends it."""
    operations.exclude(state="done").update(cancelled_at=Coalesce(F("cancelled_at"), ClockTimestamp()))
    operations.filter(outcome__isnull=False).update(outcome=ERASED)
    operations.exclude(body=None).update(body=None)
    for operation in operations.exclude(code=None).only("id", "code"):
        if operation.code is not None and _is_sought(operation.code, erasure.sought):
            operation.code = ERASED["error"]["code"]
            operation.save(update_fields=["code"])


def _is_sought(text: str, sought: Sought) -> bool:
    return sought.is_in(text) or sha256_hex(text) == sought.content_sha256


def _find_data(erasure: TextErasure) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The records and the items; gone when the erasure may delete. Partitions are locked before their rows are looked for again."""
    records, items = _RECORDS.find(erasure), _ITEMS.find(erasure)
    if erasure.dry_run or not erasure.deletes or not (records or items):
        return records, items
    touched = {row[1] for row in [*records, *items]}
    held = ExternalPartition.objects.select_for_update(no_key=True).filter(id__in=touched)
    partitions = {partition.id: partition for partition in held.order_by("id")}
    records, items = _RECORDS.find(erasure), _ITEMS.find(erasure)
    records = [row for row in records if row[1] in partitions]
    items = [row for row in items if row[1] in partitions]
    for key, partition in partitions.items():
        remove_records(partition, [row[0] for row in records if row[1] == key])
    ExternalItem.objects.filter(id__in=[row[0] for row in items]).delete()
    return records, items


def _describe(type_: str, rows: list[tuple[Any, ...]]) -> list[dict[str, str]]:
    prefix = ids.EXTERNAL_RECORD if type_ == "external_record" else ids.EXTERNAL_ITEM
    return [
        {
            "type": type_,
            "id": ids.to_wire(prefix, key),
            "endpoint_id": ids.to_wire(ids.ENDPOINT, endpoint_id),
            "partition_id": ids.to_wire(ids.EXTERNAL_PARTITION, partition_id),
        }
        for key, partition_id, endpoint_id in rows
    ]


def _list_remote(environment_id: UUID, places: set[tuple[UUID, str | None]]) -> list[dict[str, Any]]:
    """Every partition of the environment at other services, those that are known to have had the text first."""
    bound = Binding.objects.filter(session_id__in={session_id for session_id, _ in places})
    named = bound.exclude(namespace=None).values_list(
        "session_id", "resource__resource_id", "namespace__partition"
    )
    known = {
        partition
        for session_id, resource_id, partition in named
        if (session_id, resource_id) in places or (session_id, None) in places
    }
    listed = [one | {"known": one["partition"] in known} for one in list_remote([environment_id])]
    return sorted(listed, key=lambda one: not one["known"])
