"""The REST door of the audit trail."""

from typing import Any

from django.http import FileResponse
from rest_framework import serializers

from memoryhub import audit_trail, ids
from memoryhub.actors import Actor, actor_wire
from memoryhub.api import HubView, operation
from memoryhub.audit_trail import EventFilters
from memoryhub.clock import to_wire
from memoryhub.fields import Integer, Moment, StrictSerializer, Text
from memoryhub.models import AuditEvent
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.shapes import PageQuery
from memoryhub.spools import file_answer, filled_spool


class ListEventsQuery(PageQuery):
    action = Text(required=False, length_max=64)
    actor_id = Text(required=False, length_max=64)
    subject_id = Text(required=False, length_max=64)
    environment = Text(required=False, length_max=64)
    created_from = Moment(query_name="created_at[gte]", required=False)
    created_to = Moment(query_name="created_at[lte]", required=False)


class ExportEventsQuery(StrictSerializer):
    after = Integer(required=False, min_value=0, max_value=2**53)


class EventShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["audit_event"])
    action = serializers.CharField()
    actor = serializers.DictField(child=serializers.CharField())
    subject_id = serializers.CharField()
    parent_id = serializers.CharField(allow_null=True)
    environment_id = serializers.CharField(allow_null=True)
    details = serializers.DictField()
    request_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    chain_index = serializers.IntegerField(allow_null=True)
    chain_sha256 = serializers.CharField(allow_null=True)


def event_wire(event: AuditEvent) -> dict[str, Any]:
    environment_id = event.environment_id
    return {
        "id": event.wire_id,
        "type": "audit_event",
        "action": event.action,
        "actor": actor_wire(event.actor_type, event.actor_id),
        "subject_id": event.subject_id,
        "parent_id": event.parent_id,
        "environment_id": ids.to_wire(ids.ENVIRONMENT, environment_id) if environment_id else None,
        "details": event.details,
        "request_id": event.request_id,
        "created_at": to_wire(event.created_at),
        "chain_index": event.chain_index,
        "chain_sha256": event.chain_sha256,
    }


class AuditEvents(HubView):
    @operation("audit_events.list", "List audit events", query=ListEventsQuery, answer=EventShape, lists=True)
    def get(self, *, query: dict[str, Any], actor: Actor) -> dict[str, Any]:
        filters = {name: value for name, value in query.items() if name not in ("limit", "page")}
        bound = {name: str(value) for name, value in filters.items()}
        bound |= {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
        page = ListRequest("audit_events", bound, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page"))
        return audit_trail.list_events(page, EventFilters(**filters), actor=actor).as_wire(event_wire)


class AuditExport(HubView):
    @operation(
        "audit_events.export",
        "Export the audit trail",
        query=ExportEventsQuery,
        answer_types=("application/x-ndjson",),
    )
    def get(self, *, query: dict[str, Any], actor: Actor) -> FileResponse:
        export = audit_trail.export_events(after=query.get("after", 0), actor=actor)
        with filled_spool() as spool:
            spool.writelines(export.lines)
        return file_answer(spool, content_type="application/x-ndjson", file_name="audit.ndjson")
