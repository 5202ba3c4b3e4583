"""The REST door of the history of a store."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.pagination import LIST_LIMIT_DEFAULT
from stores import history
from stores.history_serializers import (
    ChangesQuery,
    ChangesShape,
    DiffQuery,
    DiffShape,
    RestoreBody,
    RestoredShape,
    SnapshotQuery,
    SnapshotShape,
    changes_wire,
    diff_wire,
    restored_wire,
    snapshot_wire,
)
from stores.serializers import ViewQuery, list_request
from stores.views import StoreView

type Values = dict[str, Any]


class VersionRestore(StoreView):
    @operation(
        "memory_versions.restore",
        "Restore a memory version",
        body=RestoreBody,
        query=ViewQuery,
        answer=RestoredShape,
    )
    def post(self, store_id: str, version_id: str, *, body: Values, query: Values, actor: Actor) -> Values:
        restored = history.restore_version(
            store_id,
            version_id,
            expected_sha256=body["precondition"]["content_sha256"] if "precondition" in body else None,
            actor=actor,
        )
        return restored_wire(restored, version_id, query.get("view", "basic"))


class VersionDiff(StoreView):
    @operation("memory_versions.diff", "Compare two memory versions", query=DiffQuery, answer=DiffShape)
    def get(self, store_id: str, version_id: str, *, query: Values, actor: Actor) -> Values:
        return diff_wire(
            history.diff_version(store_id, version_id, against_id=query.get("against"), actor=actor)
        )


class StoreSnapshot(StoreView):
    @operation(
        "memory_stores.snapshot",
        "List a memory store as it was at a time",
        query=SnapshotQuery,
        answer=SnapshotShape,
        lists=True,
    )
    def get(self, store_id: str, *, query: Values, actor: Actor) -> Values:
        view, path_prefix = query.get("view", "basic"), query.get("path_prefix", "/")
        filters = {"store": store_id, "at": query["at"].isoformat(), "path_prefix": path_prefix}
        page = history.list_snapshot(
            store_id,
            list_request("snapshot", query, filters),
            at=query["at"],
            path_prefix=path_prefix,
            with_content=view == "full",
            actor=actor,
        )
        return page.as_wire(lambda version: snapshot_wire(version, view))


class StoreChanges(StoreView):
    @operation(
        "memory_stores.changes",
        "List what changed in a memory store",
        query=ChangesQuery,
        answer=ChangesShape,
    )
    def get(self, store_id: str, *, query: Values, actor: Actor) -> Values:
        if query.get("from_now"):
            return changes_wire(history.find_last_sequence(store_id, actor=actor))
        changes = history.list_changes(
            store_id,
            after=query.get("after", 0),
            limit=query.get("limit", LIST_LIMIT_DEFAULT),
            actor=actor,
        )
        return changes_wire(changes)
