"""The shapes of the stores API: what a request may hold, and each answer as one dict in the contract's order."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Flag, Moment, Sha256, StrictSerializer, StringMap, Text
from memoryhub.pagination import FULL_VIEW_LIMIT_MAX, LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.shapes import PageQuery
from stores.limits import (
    METADATA_KEY_LENGTH_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_LENGTH_MAX,
    STORE_DESCRIPTION_LENGTH_MAX,
    STORE_NAME_LENGTH_MAX,
)
from stores.memories import MemoryPrefix, check_content
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.paths import check_path


def _metadata(**options: Any) -> StringMap:
    return StringMap(
        pairs_max=METADATA_PAIRS_MAX,
        key_length_max=METADATA_KEY_LENGTH_MAX,
        value_length_max=METADATA_VALUE_LENGTH_MAX,
        **options,
    )


class CreateStoreBody(StrictSerializer):
    name = Text(length_min=1, length_max=STORE_NAME_LENGTH_MAX, plain=True)
    description = Text(length_max=STORE_DESCRIPTION_LENGTH_MAX, required=False)
    metadata = _metadata(required=False)
    environment = Text(length_max=64, required=False)


class UpdateStoreBody(StrictSerializer):
    null_is_absent = True
    name = Text(length_min=1, length_max=STORE_NAME_LENGTH_MAX, plain=True, required=False)
    description = Text(length_max=STORE_DESCRIPTION_LENGTH_MAX, required=False)
    metadata = _metadata(null_removes=True, required=False)


class PreconditionBody(StrictSerializer):
    type = Choice(choices=["content_sha256"])
    content_sha256 = Sha256()


class MemoryPath(Text):
    """Checked as early as every other field, so that they all answer in the same order."""

    def to_internal_value(self, data: Any) -> str:
        path = super().to_internal_value(data)
        check_path(path)
        return path


class MemoryContent(Text):
    def to_internal_value(self, data: Any) -> str:
        content = super().to_internal_value(data)
        check_content(content)
        return content


class CreateMemoryBody(StrictSerializer):
    path = MemoryPath()
    content = MemoryContent()


class UpdateMemoryBody(StrictSerializer):
    null_is_absent = True
    path = MemoryPath(required=False)
    content = MemoryContent(required=False)
    precondition = PreconditionBody(required=False)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "path" not in values and "content" not in values:
            raise serializers.ValidationError("Give content, path or both.")
        return values


class ListStoresQuery(PageQuery):
    created_from = Moment(query_name="created_at[gte]", required=False)
    created_to = Moment(query_name="created_at[lte]", required=False)
    include_archived = Flag(required=False)
    environment = Text(required=False, length_max=64)


class ViewQuery(StrictSerializer):
    view = Choice(choices=["basic", "full"], required=False)


class ListMemoriesQuery(PageQuery, ViewQuery):
    """With `query` the list is a search: best first, on one page."""

    path_prefix = Text(required=False)
    depth = Choice(choices=["0", "1"], required=False)
    query = Text(required=False)
    mode = Choice(choices=["words", "operators"], required=False)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "query" in values and ("page" in values or values.get("depth") == "1"):
            raise serializers.ValidationError("A search takes neither page nor depth.")
        return values


class ListVersionsQuery(PageQuery, ViewQuery):
    memory_id = Text(required=False)
    operation = Choice(choices=["created", "modified", "deleted"], required=False)
    session_id = Text(required=False)
    api_key_id = Text(required=False)
    service_account_id = Text(required=False)
    created_from = Moment(query_name="created_at[gte]", required=False)
    created_to = Moment(query_name="created_at[lte]", required=False)


class DeleteMemoryQuery(StrictSerializer):
    expected_content_sha256 = Sha256(required=False)


def list_request(kind: str, query: dict[str, Any], filters: dict[str, Any]) -> ListRequest:
    """The page a query asks for; with `view=full` a page holds at most 20 items, silently."""
    limit = query.get("limit", LIST_LIMIT_DEFAULT)
    if query.get("view") == "full":
        limit = min(limit, FULL_VIEW_LIMIT_MAX)
    return ListRequest(kind, filters, limit, query.get("page"))


class StoreShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_store"])
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    metadata = serializers.DictField(child=serializers.CharField(allow_blank=True))
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    frozen_at = serializers.DateTimeField(allow_null=True)


def store_wire(store: MemoryStore) -> dict[str, Any]:
    return {
        "id": store.wire_id,
        "type": "memory_store",
        "name": store.name,
        "description": store.description,
        "metadata": store.metadata,
        "created_at": to_wire(store.created_at),
        "updated_at": to_wire(store.updated_at),
        "archived_at": optional_to_wire(store.archived_at),
        "frozen_at": optional_to_wire(store.frozen_at),
    }


class MemoryShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory"])
    memory_store_id = serializers.CharField()
    memory_version_id = serializers.CharField()
    path = serializers.CharField()
    content = serializers.CharField(allow_null=True, allow_blank=True)
    content_size_bytes = serializers.IntegerField()
    content_sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    frozen_at = serializers.DateTimeField(allow_null=True)


def memory_wire(memory: Memory, view: str) -> dict[str, Any]:
    return {
        "id": memory.wire_id,
        "type": "memory",
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, memory.store_id),
        "memory_version_id": ids.to_wire(ids.MEMORY_VERSION, memory.head_id),
        "path": memory.path,
        "content": memory.head.content if view == "full" else None,
        "content_size_bytes": memory.content_size_bytes,
        "content_sha256": memory.content_sha256,
        "created_at": to_wire(memory.created_at),
        "updated_at": to_wire(memory.updated_at),
        "frozen_at": optional_to_wire(memory.frozen_at),
    }


def memory_item_wire(item: Memory | MemoryPrefix, view: str) -> dict[str, Any]:
    if isinstance(item, MemoryPrefix):
        return {"type": "memory_prefix", "path": item.path}
    return memory_wire(item, view)


class VersionShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_version"])
    memory_store_id = serializers.CharField()
    memory_id = serializers.CharField()
    operation = serializers.ChoiceField(choices=["created", "modified", "deleted"])
    path = serializers.CharField(allow_null=True)
    content = serializers.CharField(allow_null=True, allow_blank=True)
    content_size_bytes = serializers.IntegerField(allow_null=True)
    content_sha256 = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())
    redacted_at = serializers.DateTimeField(allow_null=True)
    redacted_by = serializers.DictField(child=serializers.CharField(), allow_null=True)


def _author_wire(version: MemoryVersion) -> dict[str, str] | None:
    author = actor_wire(version.created_by_type, version.created_by_id)
    if author is None or version.work_id is None:
        return author
    return author | {"work_id": ids.to_wire(ids.WORK, version.work_id)}


def version_wire(version: MemoryVersion, view: str) -> dict[str, Any]:
    return {
        "id": version.wire_id,
        "type": "memory_version",
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, version.store_id),
        "memory_id": version.memory_wire_id,
        "operation": version.operation,
        "path": version.path,
        "content": version.content if view == "full" else None,
        "content_size_bytes": version.content_size_bytes,
        "content_sha256": version.content_sha256,
        "created_at": to_wire(version.created_at),
        "created_by": _author_wire(version),
        "redacted_at": optional_to_wire(version.redacted_at),
        "redacted_by": actor_wire(version.redacted_by_type, version.redacted_by_id),
    }
