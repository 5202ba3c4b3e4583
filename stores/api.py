"""The REST door of the fourteen operations. Source: contract stores 4."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.shapes import DeletedShape, deleted_wire
from stores import memories, memory_stores, memory_versions, search
from stores.search_serializers import found_wire, search_request
from stores.serializers import (
    CreateMemoryBody,
    CreateStoreBody,
    DeleteMemoryQuery,
    ListMemoriesQuery,
    ListStoresQuery,
    ListVersionsQuery,
    MemoryShape,
    StoreShape,
    UpdateMemoryBody,
    UpdateStoreBody,
    VersionShape,
    ViewQuery,
    list_request,
    memory_item_wire,
    memory_wire,
    store_wire,
    version_wire,
)
from stores.views import StoreView

type Values = dict[str, Any]


class Stores(HubView):
    @operation("memory_stores.create", "Create a memory store", body=CreateStoreBody, answer=StoreShape)
    def post(self, *, body: Values, actor: Actor) -> Values:
        store = memory_stores.create_store(
            environment=body.get("environment"),
            name=body["name"],
            description=body.get("description", ""),
            metadata=body.get("metadata", {}),
            actor=actor,
        )
        return store_wire(store)

    @operation(
        "memory_stores.list", "List memory stores", query=ListStoresQuery, answer=StoreShape, lists=True
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        filters = {name: str(value) for name, value in query.items() if name not in ("limit", "page")}
        filters["project"], filters["reach"] = actor.project_id.hex, str(actor.environment_id)
        page = memory_stores.list_stores(
            list_request("memory_stores", query, filters),
            environment=query.get("environment"),
            created_from=query.get("created_from"),
            created_to=query.get("created_to"),
            include_archived=query.get("include_archived", False),
            actor=actor,
        )
        return page.as_wire(store_wire)


class Store(StoreView):
    @operation("memory_stores.get", "Get a memory store", answer=StoreShape)
    def get(self, store_id: str, *, actor: Actor) -> Values:
        return store_wire(memory_stores.get_store(store_id, actor=actor))

    @operation("memory_stores.update", "Update a memory store", body=UpdateStoreBody, answer=StoreShape)
    def post(self, store_id: str, *, body: Values, actor: Actor) -> Values:
        return store_wire(memory_stores.update_store(store_id, **body, actor=actor))

    patch = post

    @operation("memory_stores.delete", "Delete a memory store", answer=DeletedShape)
    def delete(self, store_id: str, *, actor: Actor) -> Values:
        return deleted_wire(memory_stores.delete_store(store_id, actor=actor), "memory_store_deleted")


class StoreArchive(StoreView):
    @operation("memory_stores.archive", "Archive a memory store", answer=StoreShape)
    def post(self, store_id: str, *, actor: Actor) -> Values:
        return store_wire(memory_stores.archive_store(store_id, actor=actor))


class Memories(StoreView):
    @operation(
        "memories.create", "Create a memory", body=CreateMemoryBody, query=ViewQuery, answer=MemoryShape
    )
    def post(self, store_id: str, *, body: Values, query: Values, actor: Actor) -> Values:
        memory = memories.create_memory(store_id, path=body["path"], content=body["content"], actor=actor)
        return memory_wire(memory, query.get("view", "basic"))

    @operation("memories.list", "List memories", query=ListMemoriesQuery, answer=MemoryShape, lists=True)
    def get(self, store_id: str, *, query: Values, actor: Actor) -> Values:
        if "query" in query:
            return found_wire(search.search_store(store_id, search_request(query), actor=actor), query)
        view, depth = query.get("view", "basic"), int(query.get("depth", "0"))
        path_prefix = query.get("path_prefix", "/")
        filters = {"store": store_id, "path_prefix": path_prefix, "depth": depth}
        page = memories.list_memories(
            store_id,
            list_request("memories", query, filters),
            path_prefix=path_prefix,
            depth=depth,
            with_content=view == "full",
            actor=actor,
        )
        return page.as_wire(lambda item: memory_item_wire(item, view))


class Memory(StoreView):
    @operation("memories.get", "Get a memory", query=ViewQuery, answer=MemoryShape)
    def get(self, store_id: str, memory_id: str, *, query: Values, actor: Actor) -> Values:
        view = query.get("view", "full")
        return memory_wire(
            memories.get_memory(store_id, memory_id, with_content=view == "full", actor=actor), view
        )

    @operation(
        "memories.update", "Update a memory", body=UpdateMemoryBody, query=ViewQuery, answer=MemoryShape
    )
    def post(self, store_id: str, memory_id: str, *, body: Values, query: Values, actor: Actor) -> Values:
        memory = memories.update_memory(
            store_id,
            memory_id,
            path=body.get("path"),
            content=body.get("content"),
            expected_sha256=body["precondition"]["content_sha256"] if "precondition" in body else None,
            actor=actor,
        )
        return memory_wire(memory, query.get("view", "basic"))

    patch = post

    @operation("memories.delete", "Delete a memory", query=DeleteMemoryQuery, answer=DeletedShape)
    def delete(self, store_id: str, memory_id: str, *, query: Values, actor: Actor) -> Values:
        deleted = memories.delete_memory(
            store_id, memory_id, expected_sha256=query.get("expected_content_sha256"), actor=actor
        )
        return deleted_wire(deleted, "memory_deleted")


class Versions(StoreView):
    @operation(
        "memory_versions.list",
        "List memory versions",
        query=ListVersionsQuery,
        answer=VersionShape,
        lists=True,
    )
    def get(self, store_id: str, *, query: Values, actor: Actor) -> Values:
        view = query.get("view", "basic")
        filters = {name: str(value) for name, value in query.items() if name not in ("limit", "page", "view")}
        sources = {
            "session_id": "session_actor",
            "api_key_id": "api_actor",
            "service_account_id": "service_account_actor",
        }
        page = memory_versions.list_versions(
            store_id,
            list_request("memory_versions", query, {**filters, "store": store_id}),
            memory_id=query.get("memory_id"),
            operation=query.get("operation"),
            created_by={sources[name]: value for name, value in query.items() if name in sources},
            created_from=query.get("created_from"),
            created_to=query.get("created_to"),
            with_content=view == "full",
            actor=actor,
        )
        return page.as_wire(lambda version: version_wire(version, view))


class Version(StoreView):
    @operation("memory_versions.get", "Get a memory version", query=ViewQuery, answer=VersionShape)
    def get(self, store_id: str, version_id: str, *, query: Values, actor: Actor) -> Values:
        view = query.get("view", "full")
        version = memory_versions.get_version(store_id, version_id, with_content=view == "full", actor=actor)
        return version_wire(version, view)


class VersionRedact(StoreView):
    @operation("memory_versions.redact", "Redact a memory version", answer=VersionShape)
    def post(self, store_id: str, version_id: str, *, actor: Actor) -> Values:
        return version_wire(
            memory_versions.redact_version(store_id, version_id, reason=None, actor=actor), "full"
        )
