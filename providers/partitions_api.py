"""The REST door of external partitions and their records, for the owner of the endpoint."""

from typing import Any

from django.http import StreamingHttpResponse

from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.shapes import DeletedShape, PageQuery, deleted_wire
from providers import external_partitions
from providers.endpoint_serializers import (
    ItemShape,
    PartitionShape,
    RecordShape,
    UpdateRecordBody,
    item_wire,
    partition_wire,
)
from providers.external_partitions import record_facts
from providers.serializers import list_request
from providers.views import EndpointView

type Values = dict[str, Any]


class Partitions(EndpointView):
    @operation(
        "external_partitions.list",
        "List the partitions that hosts write in",
        query=PageQuery,
        answer=PartitionShape,
        lists=True,
    )
    def get(self, endpoint_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("external_partitions", query, {"endpoint": endpoint_id})
        return external_partitions.list_partitions(endpoint_id, wanted, actor=actor).as_wire(partition_wire)


class Partition(EndpointView):
    @operation("external_partitions.delete", "Delete a partition with all it holds", answer=DeletedShape)
    def delete(self, endpoint_id: str, partition_id: str, *, actor: Actor) -> Values:
        deleted = external_partitions.delete_partition(endpoint_id, partition_id, actor=actor)
        return deleted_wire(deleted, "external_partition_deleted")


class PartitionFreeze(EndpointView):
    @operation("external_partitions.freeze", "Keep hosts from writing in a partition", answer=PartitionShape)
    def post(self, endpoint_id: str, partition_id: str, *, actor: Actor) -> Values:
        frozen = external_partitions.freeze_partition(endpoint_id, partition_id, actor=actor)
        return partition_wire(frozen)


class PartitionUnfreeze(EndpointView):
    @operation("external_partitions.unfreeze", "Let hosts write in a partition", answer=PartitionShape)
    def post(self, endpoint_id: str, partition_id: str, *, actor: Actor) -> Values:
        freed = external_partitions.unfreeze_partition(endpoint_id, partition_id, actor=actor)
        return partition_wire(freed)


class PartitionExport(EndpointView):
    @operation(
        "external_partitions.export",
        "Export the records of a partition, a line of JSON each",
        answer=RecordShape,
        answer_types=("application/x-ndjson",),
    )
    def get(self, endpoint_id: str, partition_id: str, *, actor: Actor) -> StreamingHttpResponse:
        name, lines = external_partitions.export_partition(endpoint_id, partition_id, actor=actor)
        response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
        response["Content-Disposition"] = 'attachment; filename="partition.ndjson"'
        response["X-Partition"] = name
        return response


class Records(EndpointView):
    @operation(
        "external_records.list",
        "List the records of a partition",
        query=PageQuery,
        answer=RecordShape,
        lists=True,
    )
    def get(self, endpoint_id: str, partition_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("external_records", query, {"partition": partition_id})
        page = external_partitions.list_records(endpoint_id, partition_id, wanted, actor=actor)
        return page.as_wire(record_facts)


class Record(EndpointView):
    @operation("external_records.update", "Update a record", body=UpdateRecordBody, answer=RecordShape)
    def patch(
        self, endpoint_id: str, partition_id: str, record_id: str, *, body: Values, actor: Actor
    ) -> Values:
        record = external_partitions.update_record(endpoint_id, partition_id, record_id, **body, actor=actor)
        return record_facts(record)

    @operation("external_records.delete", "Delete a record", answer=DeletedShape)
    def delete(self, endpoint_id: str, partition_id: str, record_id: str, *, actor: Actor) -> Values:
        deleted = external_partitions.delete_record(endpoint_id, partition_id, record_id, actor=actor)
        return deleted_wire(deleted, "external_record_deleted")


class Items(EndpointView):
    @operation(
        "external_items.list",
        "List what was ingested into a partition",
        query=PageQuery,
        answer=ItemShape,
        lists=True,
    )
    def get(self, endpoint_id: str, partition_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("external_items", query, {"partition": partition_id})
        return external_partitions.list_items(endpoint_id, partition_id, wanted, actor=actor).as_wire(
            item_wire
        )


class Item(EndpointView):
    @operation("external_items.delete", "Delete an ingested item", answer=DeletedShape)
    def delete(self, endpoint_id: str, partition_id: str, item_id: str, *, actor: Actor) -> Values:
        deleted = external_partitions.delete_item(endpoint_id, partition_id, item_id, actor=actor)
        return deleted_wire(deleted, "external_item_deleted")
