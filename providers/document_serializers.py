"""The shapes of documents: what a request may hold, and each answer as one dict."""

from typing import Any

from rest_framework import serializers

from memoryhub.clock import to_wire
from memoryhub.fields import Choice, StrictSerializer, Text
from providers.documents import Document
from providers.serializers import (
    EnvironmentQuery,
)


class PutDocumentBody(StrictSerializer):
    """`title` and `agent_writes` are of a new document; a replaced one keeps its own."""

    title = Text(required=False, length_min=1)
    text = Text(required=False)
    summary = Text(required=False)
    agent_writes = Choice(choices=["enabled", "disabled"], required=False)


class UpdateDocumentBody(StrictSerializer):
    title = Text(required=False, length_min=1)
    agent_writes = Choice(choices=["enabled", "disabled"], required=False)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values:
            raise serializers.ValidationError("Give title, agent_writes or both.")
        return values


class ExportQuery(EnvironmentQuery):
    resource = Text(required=False)


class DocumentItemShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_document"])
    title = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    agent_writes = serializers.ChoiceField(choices=["enabled", "disabled"])
    revision = serializers.CharField()
    bytes = serializers.IntegerField()
    max_bytes = serializers.IntegerField()
    updated_at = serializers.DateTimeField()
    writer = serializers.DictField(child=serializers.CharField())


class DocumentShape(DocumentItemShape):
    text = serializers.CharField(allow_blank=True)


def document_item_wire(document: Document) -> dict[str, Any]:
    card, head = document.card, document.memory.head
    return {
        "id": document.id,
        "type": "memory_document",
        "title": card.title,
        "summary": card.summary,
        "agent_writes": "enabled" if card.agent_writes else "disabled",
        "revision": document.revision,
        "bytes": document.memory.content_size_bytes,
        "max_bytes": document.bytes_max,
        "updated_at": to_wire(document.memory.updated_at),
        "writer": _writer_wire(head.created_by_type, head.created_by_id),
    }


def _writer_wire(actor_type: str, actor_id: str) -> dict[str, str]:
    if actor_type == "session_actor":
        return {"kind": "agent", "session_id": actor_id}
    return {"kind": "owner"}


def document_wire(document: Document) -> dict[str, Any]:
    item = document_item_wire(document)
    return {
        "id": item.pop("id"),
        "type": item.pop("type"),
        "title": item.pop("title"),
        "text": document.text,
    } | item
