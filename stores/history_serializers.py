"""The shapes of what the versions of a store tell."""

from typing import Any, ClassVar

from rest_framework import serializers

from memoryhub import ids
from memoryhub.fields import Flag, Integer, Moment, StrictSerializer, Text
from memoryhub.pagination import LIST_LIMIT_MAX
from memoryhub.shapes import PageQuery
from stores.diffs import Hunk, unified_text
from stores.history import Changes, Restored, VersionDiff
from stores.models import MemoryVersion
from stores.serializers import (
    MemoryShape,
    PreconditionBody,
    VersionShape,
    ViewQuery,
    memory_wire,
    version_wire,
)

SEQUENCE_MAX = 2**63 - 1


class RestoreBody(StrictSerializer):
    null_is_absent: ClassVar[bool] = True
    may_be_absent: ClassVar[bool] = True
    precondition = PreconditionBody(required=False)


class RestoredShape(MemoryShape):
    restored_version_id = serializers.CharField()
    is_new_memory = serializers.BooleanField()


def restored_wire(restored: Restored, version_id: str, view: str) -> dict[str, Any]:
    return {
        **memory_wire(restored.memory, view),
        "restored_version_id": version_id,
        "is_new_memory": restored.is_new_memory,
    }


class DiffQuery(StrictSerializer):
    against = Text(required=False)


class DiffSideShape(serializers.Serializer[Any]):
    memory_version_id = serializers.CharField(allow_null=True)
    memory_id = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=["present", "none", "deleted", "redacted", "removed"])
    path = serializers.CharField(allow_null=True)
    content_size_bytes = serializers.IntegerField(allow_null=True)
    content_sha256 = serializers.CharField(allow_null=True)


class DiffRunShape(serializers.Serializer[Any]):
    operation = serializers.ChoiceField(choices=["equal", "delete", "insert"])
    lines = serializers.ListField(child=serializers.CharField())


class HunkShape(serializers.Serializer[Any]):
    before_start = serializers.IntegerField()
    before_lines = serializers.IntegerField()
    after_start = serializers.IntegerField()
    after_lines = serializers.IntegerField()
    runs = DiffRunShape(many=True)


class DiffShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["memory_version_diff"])
    memory_store_id = serializers.CharField()
    before = DiffSideShape()
    after = DiffSideShape()
    lines_added = serializers.IntegerField(allow_null=True)
    lines_removed = serializers.IntegerField(allow_null=True)
    coarse = serializers.BooleanField(allow_null=True)
    unified = serializers.CharField(allow_null=True, allow_blank=True)
    hunks = HunkShape(many=True, allow_null=True)


def diff_wire(diff: VersionDiff) -> dict[str, Any]:
    found, states = diff.difference, diff.states
    return {
        "type": "memory_version_diff",
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, diff.after.store_id),
        "before": _side_wire(diff.before, states[0]),
        "after": _side_wire(diff.after, states[1]),
        "lines_added": None if found is None else found.lines_added,
        "lines_removed": None if found is None else found.lines_removed,
        "coarse": None if found is None else found.coarse,
        "unified": None if found is None else unified_text(found, _name(diff.before), _name(diff.after)),
        "hunks": None if found is None else [_hunk_wire(hunk) for hunk in found.hunks],
    }


def _side_wire(version: MemoryVersion | None, state: str) -> dict[str, Any]:
    return {
        "memory_version_id": None if version is None else version.wire_id,
        "memory_id": None if version is None else version.memory_wire_id,
        "state": state,
        "path": None if version is None else version.path,
        "content_size_bytes": None if version is None else version.content_size_bytes,
        "content_sha256": None if version is None else version.content_sha256,
    }


def _name(version: MemoryVersion | None) -> str:
    """The name of a side in the unified text; `/dev/null` where there is no file, as `patch` expects."""
    return "/dev/null" if version is None or version.content is None else version.wire_id


def _hunk_wire(hunk: Hunk) -> dict[str, Any]:
    return {
        "before_start": hunk.before_start,
        "before_lines": hunk.before_lines,
        "after_start": hunk.after_start,
        "after_lines": hunk.after_lines,
        "runs": [{"operation": run.operation, "lines": run.lines} for run in hunk.runs],
    }


class SnapshotQuery(PageQuery, ViewQuery):
    at = Moment()
    path_prefix = Text(required=False)


class SnapshotShape(VersionShape):
    redacted = serializers.BooleanField()


def snapshot_wire(version: MemoryVersion, view: str) -> dict[str, Any]:
    return {**version_wire(version, view), "redacted": version.redacted_at is not None}


class ChangesQuery(StrictSerializer):
    after = Integer(required=False, min_value=0, max_value=SEQUENCE_MAX)
    limit = Integer(required=False, min_value=1, max_value=LIST_LIMIT_MAX)
    from_now = Flag(required=False)


class ChangeShape(VersionShape):
    sequence = serializers.IntegerField()


class ChangesShape(serializers.Serializer[Any]):
    data = ChangeShape(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)
    last_sequence = serializers.IntegerField()


def changes_wire(changes: Changes) -> dict[str, Any]:
    return {
        "data": [
            {**version_wire(version, "basic"), "sequence": version.number} for version in changes.versions
        ],
        "has_more": changes.has_more,
        "next_page": None,
        "last_sequence": changes.last_sequence,
    }
