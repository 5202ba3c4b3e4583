"""What the tools of a session's documents take and give. The words of an outcome are those that a model is told by a tool of the session."""

from typing import Any

from rest_framework import serializers

from memoryhub.fields import Json, Text
from memoryhub.mcp_tools import ToolInput, Values
from providers.limits import ARGUMENTS_BYTES_MAX, RESOURCE_ID_LENGTH_MAX, SUMMARY_BYTES_MAX
from providers.session_documents import BoundDocuments

DOCUMENT_ID_LENGTH_MAX = 128
_NAMES = {"type": "array", "items": {"type": "string"}}


class NoInput(ToolInput): ...


class MemoryInput(ToolInput):
    memory = Text(
        length_max=RESOURCE_ID_LENGTH_MAX,
        required=False,
        help_text="Which memory, as list_document_memories gives it; needed where there are several.",
    )


class ListDocumentsInput(MemoryInput):
    cursor = Text(
        length_max=4_096, required=False, help_text="nextCursor of the answer before, for what follows it."
    )


class ReadDocumentInput(MemoryInput):
    id = Text(
        length_max=DOCUMENT_ID_LENGTH_MAX,
        required=False,
        help_text="Of a collection's document; a memory of one document needs none.",
    )


class SaveDocumentInput(MemoryInput):
    text = Text(length_max=ARGUMENTS_BYTES_MAX, help_text="The whole text, not only what changed.")
    summary = Text(
        length_max=ARGUMENTS_BYTES_MAX,
        required=False,
        help_text=f"At most {SUMMARY_BYTES_MAX} bytes; it stays as it is when left out.",
    )
    expected_revision = Text(
        length_min=1,
        length_max=64,
        help_text="The revision that was read: a change made since is not overwritten.",
    )


class DocumentMemoryShape(serializers.Serializer[Any]):
    memory = serializers.CharField()
    description = serializers.CharField()
    scope = serializers.ChoiceField(choices=["document", "collection"])
    document_id = serializers.CharField(allow_null=True)
    writable = serializers.BooleanField()
    bytes_max = serializers.IntegerField()


class DocumentMemoriesShape(serializers.Serializer[Any]):
    memories = DocumentMemoryShape(many=True)


class RefusableShape(serializers.Serializer[Any]):
    """`status`, `reason`, `bound`: of a call that was not done, and why."""

    status = serializers.ChoiceField(choices=["rejected"], required=False)
    reason = serializers.CharField(required=False)
    bound = Json(_NAMES, required=False)


class ListedDocumentShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    revision = serializers.CharField()
    updatedAt = serializers.CharField()
    bytes = serializers.IntegerField()


class DocumentsShape(RefusableShape):
    documents = ListedDocumentShape(many=True, required=False)
    nextCursor = serializers.CharField(required=False, allow_null=True)


class DocumentShape(RefusableShape):
    id = serializers.CharField(required=False)
    title = serializers.CharField(required=False)
    text = serializers.CharField(required=False, allow_blank=True)
    summary = serializers.CharField(required=False, allow_blank=True)
    revision = serializers.CharField(required=False)
    updatedAt = serializers.CharField(required=False)


class SavedDocumentShape(RefusableShape):
    """`text`, `summary`: what stands now, where somebody else wrote first. `field`, `maxBytes`: of what is too large."""

    status = serializers.ChoiceField(choices=["saved", "conflict", "rejected"])
    revision = serializers.CharField(required=False)
    bytes = serializers.IntegerField(required=False)
    text = serializers.CharField(required=False, allow_blank=True)
    summary = serializers.CharField(required=False, allow_blank=True)
    field = serializers.CharField(required=False)
    maxBytes = serializers.IntegerField(required=False)


def document_memory_wire(bound: BoundDocuments) -> Values:
    binding = bound.state.binding
    store = binding.resource.store
    assert store is not None and store.content_bytes_max is not None
    return {
        "memory": binding.resource.resource_id,
        "description": bound.description,
        "scope": binding.scope,
        "document_id": binding.target_id or None,
        "writable": bound.state.is_writable,
        "bytes_max": store.content_bytes_max,
    }
