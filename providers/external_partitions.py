"""What the owner of an endpoint can do with the partitions of its hosts, who cannot do it for their users.

Source: contract, section 13.7. Order of locks: endpoint, partition. What a memory provider keeps of a partition is a scope of the records
room, where it is looked at, corrected and forgotten record by record: here it is counted, frozen and deleted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Length
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, jobs
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.clock import to_wire
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, NotFound
from memoryhub.pagination import ListRequest, Page, cut_newest, cut_page
from memoryhub.rows import find_row
from providers.endpoint_erasures import ERASE
from providers.endpoint_models import Endpoint, ExternalItem, ExternalPartition, ExternalRecord
from providers.endpoint_scopes import find_scopes
from providers.endpoint_tools import remove_records, write_text
from providers.endpoints import get_endpoint
from providers.held_scopes import HeldScope, describe_scopes

EXPORT_ROWS = 500


@dataclass(frozen=True, slots=True)
class PartitionDetails:
    """`characters`: of all its records together, None where a memory provider keeps them; `scope`: where, once it does."""

    partition: ExternalPartition
    records: int
    characters: int | None
    scope: HeldScope | None = None


def describe_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> PartitionDetails:
    """Raises: NotFound."""
    partition = get_partition(endpoint_id, partition_id, actor=actor)
    return _describe(partition.endpoint, [partition])[0]


def get_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> ExternalPartition:
    """Raises: NotFound."""
    endpoint = get_endpoint(endpoint_id, actor=actor)
    held = ExternalPartition.objects.select_related("endpoint").filter(endpoint_id=endpoint.id)
    return _get(held, partition_id)


def _lock(endpoint_id: str, partition_id: str, actor: Actor) -> tuple[Endpoint, ExternalPartition]:
    """A step. Raises: NotFound."""
    endpoint = get_endpoint(endpoint_id, actor=actor)
    held = ExternalPartition.objects.select_for_update(no_key=True).filter(endpoint_id=endpoint.id)
    return endpoint, _get(held, partition_id)


def _get(partitions: QuerySet[ExternalPartition], partition_id: str) -> ExternalPartition:
    key = ids.from_wire(ids.EXTERNAL_PARTITION, partition_id)
    partition = None if key is None else find_row(partitions.filter(id=key))
    if partition is None:
        raise NotFound("partition")
    return partition


def list_partitions(endpoint_id: str, page: ListRequest, *, actor: Actor) -> Page[PartitionDetails]:
    """Newest first, with what they hold. Raises: NotFound, InvalidRequest for a foreign cursor."""
    endpoint = get_endpoint(endpoint_id, actor=actor)
    partitions = ExternalPartition.objects.filter(endpoint_id=endpoint.id)
    position = page.position()
    if position is not None:
        partitions = partitions.filter(id__lt=UUID(hex=position[0]))
    rows = list(partitions.order_by("-id")[: page.limit + 1])
    cut = cut_page(rows, page, lambda partition: [partition.id.hex])
    return Page(_describe(endpoint, cut.rows), cut.next_page)


def _describe(endpoint: Endpoint, partitions: list[ExternalPartition]) -> list[PartitionDetails]:
    """Two queries, however many there are."""
    if endpoint.has_provider:
        return _describe_scopes(endpoint, partitions)
    held = ExternalRecord.objects.filter(partition_id__in=[one.id for one in partitions])
    sums = held.values_list("partition_id").annotate(records=Count("id"), characters=Sum(Length("text")))
    counts = {partition_id: (records, characters) for partition_id, records, characters in sums}
    return [PartitionDetails(one, *counts.get(one.id, (0, 0))) for one in partitions]


def _describe_scopes(endpoint: Endpoint, partitions: list[ExternalPartition]) -> list[PartitionDetails]:
    rows = find_scopes(endpoint, partitions)
    held = {one.scope.id: one for one in describe_scopes(list(rows.values()))}
    scopes = {name: held[row.id] for name, row in rows.items()}
    return [
        PartitionDetails(one, scope.records if scope else 0, None, scope)
        for one, scope in ((one, scopes.get(one.partition)) for one in partitions)
    ]


@atomic(durable=True)
def freeze_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> PartitionDetails:
    """Once this has answered no host writes in it. Again: unchanged. Raises: NotFound."""
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    if partition.frozen_at is None:
        partition.frozen_at = ClockTimestamp()
        _save_frozen(endpoint, partition, AuditAction.EXTERNAL_PARTITION_FROZEN, actor)
    return _describe(endpoint, [partition])[0]


@atomic(durable=True)
def unfreeze_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> PartitionDetails:
    """Again: unchanged. Raises: NotFound; Conflict (`partition_erasing`)."""
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    if partition.erasing_at is not None:
        raise Conflict("The partition is being deleted.", error_code="partition_erasing")
    if partition.frozen_at is not None:
        partition.frozen_at = None
        _save_frozen(endpoint, partition, AuditAction.EXTERNAL_PARTITION_UNFROZEN, actor)
    return _describe(endpoint, [partition])[0]


def _save_frozen(endpoint: Endpoint, partition: ExternalPartition, action: AuditAction, actor: Actor) -> None:
    partition.save(update_fields=["frozen_at"])
    partition.refresh_from_db(fields=["frozen_at"])
    _record(action, endpoint, partition.wire_id, actor)


@atomic(durable=True)
def delete_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> str:
    """With its records and what was ingested; a host that writes again begins it anew.

    Where a memory provider keeps the records no host reads or writes any more once this has answered; they are forgotten one by one,
    and the partition goes with the last. Again meanwhile: unchanged. Raises: NotFound.
    """
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    if partition.erasing_at is not None:
        return partition.wire_id
    if endpoint.has_provider:
        _begin_erasing(partition)
    else:
        ExternalPartition.objects.filter(id=partition.id).delete()  # the database removes what belongs to it
    _record(AuditAction.EXTERNAL_PARTITION_DELETED, endpoint, partition.wire_id, actor)
    return partition.wire_id


def _begin_erasing(partition: ExternalPartition) -> None:
    partition.erasing_at = ClockTimestamp()
    partition.save(update_fields=["erasing_at"])
    partition.items.all().delete()
    jobs.enqueue(ERASE, partition.id.hex)


def _require_own(endpoint: Endpoint) -> None:
    """Raises: Conflict (`records_at_provider`)."""
    if endpoint.has_provider:
        raise Conflict(
            "A memory provider keeps the records of this endpoint: look for them in the scope of the partition.",
            error_code="records_at_provider",
        )


def list_records(
    endpoint_id: str, partition_id: str, page: ListRequest, *, actor: Actor
) -> Page[ExternalRecord]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor; Conflict (`records_at_provider`)."""
    partition = get_partition(endpoint_id, partition_id, actor=actor)
    _require_own(partition.endpoint)
    records = ExternalRecord.objects.filter(partition_id=partition.id).defer("terms")
    position = page.position()
    if position is not None:
        records = records.filter(id__lt=UUID(hex=position[0]))
    rows = list(records.order_by("-id")[: page.limit + 1])
    return cut_page(rows, page, lambda record: [record.id.hex])


def list_items(endpoint_id: str, partition_id: str, page: ListRequest, *, actor: Actor) -> Page[ExternalItem]:
    """What hosts ingested of conversations, newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    partition = get_partition(endpoint_id, partition_id, actor=actor)
    return cut_newest(ExternalItem.objects.filter(partition_id=partition.id), page)


def get_record(endpoint_id: str, partition_id: str, record_id: str, *, actor: Actor) -> ExternalRecord:
    """Raises: NotFound."""
    return find_record(get_partition(endpoint_id, partition_id, actor=actor), record_id)


def find_record(partition: ExternalPartition, record_id: str) -> ExternalRecord:
    """Raises: NotFound."""
    key = ids.from_wire(ids.EXTERNAL_RECORD, record_id)
    held = ExternalRecord.objects.filter(partition_id=partition.id)
    record = None if key is None else find_row(held.filter(id=key))
    if record is None:
        raise NotFound("record")
    return record


@atomic(durable=True)
def update_record(
    endpoint_id: str,
    partition_id: str,
    record_id: str,
    *,
    text: str,
    expected_revision: int,
    actor: Actor,
) -> ExternalRecord:
    """Hosts that recalled the older text get a conflict. Raises: NotFound; Conflict (`record_changed`)."""
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    record = find_record(partition, record_id)
    if record.text == text:
        return record
    if record.revision != expected_revision:
        raise _changed()
    write_text(partition, record, text)
    record.refresh_from_db(fields=["changed_at"])
    _record(AuditAction.EXTERNAL_RECORD_UPDATED, endpoint, record.wire_id, actor, parent_id=partition.wire_id)
    return record


def _changed() -> Conflict:
    return Conflict("The record was changed since it was read.", error_code="record_changed")


@atomic(durable=True)
def delete_record(
    endpoint_id: str,
    partition_id: str,
    record_id: str,
    *,
    expected_revision: int | None = None,
    actor: Actor,
) -> str:
    """`expected_revision` None: whatever it says. Raises: NotFound; Conflict (`record_changed`)."""
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    record = find_record(partition, record_id)
    if expected_revision is not None and record.revision != expected_revision:
        raise _changed()
    wire_id = record.wire_id
    remove_records(partition, [record.id])
    _record(AuditAction.EXTERNAL_RECORD_DELETED, endpoint, wire_id, actor, parent_id=partition.wire_id)
    return wire_id


def find_item(partition: ExternalPartition, item_id: str) -> ExternalItem:
    """Raises: NotFound."""
    key = ids.from_wire(ids.EXTERNAL_ITEM, item_id)
    held = ExternalItem.objects.filter(partition_id=partition.id)
    item = None if key is None else find_row(held.filter(id=key))
    if item is None:
        raise NotFound("item")
    return item


@atomic(durable=True)
def delete_item(endpoint_id: str, partition_id: str, item_id: str, *, actor: Actor) -> str:
    """Raises: NotFound."""
    endpoint, partition = _lock(endpoint_id, partition_id, actor)
    item = find_item(partition, item_id)
    wire_id = item.wire_id
    item.delete()
    _record(AuditAction.EXTERNAL_ITEM_DELETED, endpoint, wire_id, actor, parent_id=partition.wire_id)
    return wire_id


def _record(
    action: AuditAction, endpoint: Endpoint, subject_id: str, actor: Actor, *, parent_id: str | None = None
) -> None:
    audit.record(
        action,
        subject_id,
        environment_id=endpoint.environment_id,
        parent_id=parent_id or endpoint.wire_id,
        actor=actor,
    )


def export_partition(endpoint_id: str, partition_id: str, *, actor: Actor) -> tuple[str, Iterator[bytes]]:
    """(the partition's name, a line of JSON for each record, oldest first). Raises: NotFound; Conflict (`records_at_provider`)."""
    partition = get_partition(endpoint_id, partition_id, actor=actor)
    _require_own(partition.endpoint)
    return partition.partition, (_line(record) for record in _read_records(partition))


def _line(record: ExternalRecord) -> bytes:
    return json.dumps(record_facts(record), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read_records(partition: ExternalPartition) -> Iterator[ExternalRecord]:
    """Some rows at a time: not one moment's snapshot."""
    held = ExternalRecord.objects.filter(partition_id=partition.id).defer("terms").order_by("id")
    rows = list(held[:EXPORT_ROWS])
    while rows:
        yield from rows
        rows = list(held.filter(id__gt=rows[-1].id)[:EXPORT_ROWS])


def record_facts(record: ExternalRecord) -> dict[str, Any]:
    return {
        "id": record.wire_id,
        "type": "external_record",
        "text": record.text,
        "revision": record.revision,
        "created_at": to_wire(record.created_at),
        "changed_at": to_wire(record.changed_at),
    }
