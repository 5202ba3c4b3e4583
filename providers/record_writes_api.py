"""The REST door of the writes that a person decides on."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from providers import record_writes
from providers.record_write_serializers import ListWritesQuery, RecordWriteShape, record_write_wire
from providers.serializers import list_request

type Values = dict[str, Any]


class RecordWrites(HubView):
    @operation(
        "record_writes.list",
        "List writes of records that a person decides on",
        query=ListWritesQuery,
        answer=RecordWriteShape,
        lists=True,
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        filters = {name: value for name, value in query.items() if name not in ("limit", "page")}
        filters |= {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
        page = record_writes.list_writes(
            list_request("record_writes", query, filters),
            environment=query.get("environment"),
            state=query.get("state"),
            actor=actor,
        )
        return page.as_wire(record_write_wire)


class WriteView(HubView):
    def require_visible(self, actor: Actor) -> None:
        record_writes.get_write(self.kwargs["write_id"], actor=actor)


class RecordWrite(WriteView):
    @operation(
        "record_writes.get", "Get a write of a record that a person decides on", answer=RecordWriteShape
    )
    def get(self, write_id: str, *, actor: Actor) -> Values:
        return record_write_wire(record_writes.get_write(write_id, actor=actor))


class RecordWriteApprove(WriteView):
    @operation("record_writes.approve", "Do a write that waits", answer=RecordWriteShape)
    def post(self, write_id: str, *, actor: Actor) -> Values:
        return record_write_wire(record_writes.approve_write(write_id, actor=actor))


class RecordWriteReject(WriteView):
    @operation("record_writes.reject", "Reject a write that waits", answer=RecordWriteShape)
    def post(self, write_id: str, *, actor: Actor) -> Values:
        return record_write_wire(record_writes.reject_write(write_id, actor=actor))
