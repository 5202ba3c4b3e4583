"""The shapes of searching and erasing a text wherever it stands."""

from typing import Any, ClassVar

from rest_framework import serializers

from memoryhub import ids
from memoryhub.erasure import Elsewhere, Sought
from memoryhub.fields import Choice, Flag, Integer, Sha256, StrictSerializer, Text
from memoryhub.pagination import LIST_LIMIT_MAX
from stores.models import Memory, MemoryVersion
from stores.reasons import REASON_LENGTH_MAX
from stores.redactions import (
    CONTAINS_LENGTH_MAX,
    CONTAINS_LENGTH_MIN,
    Found,
    Redaction,
)
from stores.serializers import VersionShape, version_wire

ELSEWHERE_SHOWN_MAX = 200


class SoughtBody(StrictSerializer):
    """What both take. The text stands in the body, so that no URL and no log line holds it."""

    null_is_absent: ClassVar[bool] = True
    content_sha256 = Sha256(required=False)
    contains = Text(length_max=CONTAINS_LENGTH_MAX, required=False)
    memory_store_id = Text(required=False)
    environment = Text(length_max=64, required=False)
    page = Text(required=False)

    def validate_contains(self, value: str) -> str:
        if sum(not character.isspace() for character in value) < CONTAINS_LENGTH_MIN:
            raise serializers.ValidationError(
                f"This must hold at least {CONTAINS_LENGTH_MIN} characters that are no white space."
            )
        return value

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if ("contains" in values) == ("content_sha256" in values):
            raise serializers.ValidationError("Give either contains or content_sha256.")
        return values


class SearchVersionsBody(SoughtBody):
    limit = Integer(required=False, min_value=1, max_value=LIST_LIMIT_MAX)


class ReasonBody(StrictSerializer):
    reason = Text(length_min=1, length_max=REASON_LENGTH_MAX, plain=True, required=False)


class RedactionBody(SoughtBody, ReasonBody):
    heads = Choice(choices=["refuse", "delete"], required=False)
    dry_run = Flag(required=False)


def sought_of(body: dict[str, Any]) -> Sought:
    return Sought(body.get("contains"), body.get("content_sha256"))


def sought_filters(body: dict[str, Any]) -> dict[str, Any]:
    """What binds a cursor to its search."""
    names = ("contains", "content_sha256", "memory_store_id", "environment")
    return {name: body.get(name) for name in names}


class FoundShape(VersionShape):
    is_head = serializers.BooleanField()


def found_wire(found: Found) -> dict[str, Any]:
    return {**version_wire(found.version, "basic"), "is_head": found.is_head}


class RedactionCountsShape(serializers.Serializer[Any]):
    memory_versions_redacted = serializers.IntegerField()
    memories_deleted = serializers.IntegerField()
    memory_versions_left = serializers.IntegerField()
    copies_blanked = serializers.IntegerField()
    records_deleted = serializers.IntegerField()
    records_left = serializers.IntegerField()


class RecordElsewhereShape(serializers.Serializer[Any]):
    """Of an endpoint, in a partition; or remembered for an agent, in a scope."""

    type = serializers.ChoiceField(choices=["external_record", "external_item", "memory_record"])
    id = serializers.CharField()
    endpoint_id = serializers.CharField(required=False)
    partition_id = serializers.CharField(required=False)
    agent = serializers.CharField(required=False)
    scope = serializers.CharField(required=False)


class RemotePartitionShape(serializers.Serializer[Any]):
    """`known`: whether what the hub keeps of its calls shows that the text went there or came from there."""

    environment_id = serializers.CharField()
    resource = serializers.CharField()
    namespace = serializers.CharField()
    partition = serializers.CharField()
    endpoint = serializers.CharField()
    known = serializers.BooleanField()


class SpaceElsewhereShape(serializers.Serializer[Any]):
    """A history of operations, which never changes; one of the kind `working` can be purged."""

    id = serializers.CharField()
    space = serializers.CharField()
    profile_kind = serializers.ChoiceField(choices=["canonical", "working"])
    records = serializers.IntegerField()
    nominations = serializers.IntegerField()


class ElsewhereShape(serializers.Serializer[Any]):
    """Of each list the first ELSEWHERE_SHOWN_MAX. `copies`: how many, by what they were."""

    copies = serializers.DictField(child=serializers.IntegerField())
    deleted = RecordElsewhereShape(many=True)
    left = RecordElsewhereShape(many=True)
    remote = RemotePartitionShape(many=True)
    spaces = SpaceElsewhereShape(many=True)


class RedactedMemoryShape(serializers.Serializer[Any]):
    memory_store_id = serializers.CharField()
    memory_id = serializers.CharField()


class RedactedVersionShape(RedactedMemoryShape):
    memory_version_id = serializers.CharField()


class LeftVersionShape(RedactedVersionShape):
    reason = serializers.ChoiceField(choices=["is_head", "store_archived"])


class RedactionShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["redaction"])
    dry_run = serializers.BooleanField()
    complete = serializers.BooleanField()
    next_page = serializers.CharField(allow_null=True)
    counts = RedactionCountsShape()
    redacted = RedactedVersionShape(many=True)
    deleted = RedactedMemoryShape(many=True)
    left = LeftVersionShape(many=True)
    elsewhere = ElsewhereShape()


def redaction_wire(redaction: Redaction, *, dry_run: bool) -> dict[str, Any]:
    return {
        "type": "redaction",
        "dry_run": dry_run,
        "complete": redaction.next_page is None,
        "next_page": redaction.next_page,
        "counts": {
            "memory_versions_redacted": len(redaction.redacted),
            "memories_deleted": len(redaction.deleted),
            "memory_versions_left": len(redaction.left),
            "copies_blanked": redaction.elsewhere.copies_count,
            "records_deleted": len(redaction.elsewhere.deleted),
            "records_left": len(redaction.elsewhere.left),
        },
        "redacted": [_version_ids(version) for version in redaction.redacted],
        "deleted": [_memory_ids(memory) for memory in redaction.deleted],
        "left": [{**_version_ids(version), "reason": reason} for version, reason in redaction.left],
        "elsewhere": _elsewhere_wire(redaction.elsewhere),
    }


def _elsewhere_wire(elsewhere: Elsewhere) -> dict[str, Any]:
    return {
        "copies": dict(elsewhere.copies),
        "deleted": elsewhere.deleted[:ELSEWHERE_SHOWN_MAX],
        "left": elsewhere.left[:ELSEWHERE_SHOWN_MAX],
        "remote": elsewhere.remote[:ELSEWHERE_SHOWN_MAX],
        "spaces": elsewhere.spaces[:ELSEWHERE_SHOWN_MAX],
    }


def _memory_ids(memory: Memory) -> dict[str, str]:
    return {
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, memory.store_id),
        "memory_id": memory.wire_id,
    }


def _version_ids(version: MemoryVersion) -> dict[str, str]:
    return {
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, version.store_id),
        "memory_id": version.memory_wire_id,
        "memory_version_id": version.wire_id,
    }
