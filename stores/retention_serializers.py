"""The shapes of how long the versions of a store are kept."""

from typing import Any, ClassVar

from rest_framework import serializers

from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire
from memoryhub.fields import Integer, StrictSerializer
from stores.limits import RETENTION_DAYS_MAX, RETENTION_VERSIONS_MAX
from stores.retention import Policy, Removal, Retention

VERSIONS_MIN_DEFAULT = 1


class PolicyShape(StrictSerializer):
    """`days` null: versions are kept for ever."""

    days = Integer(min_value=1, max_value=RETENTION_DAYS_MAX, allow_null=True)
    versions_min = Integer(required=False, min_value=1, max_value=RETENTION_VERSIONS_MAX)


class PlanBody(StrictSerializer):
    """Without `days` the policy of the store."""

    null_is_absent: ClassVar[bool] = True
    may_be_absent: ClassVar[bool] = True
    days = Integer(required=False, min_value=1, max_value=RETENTION_DAYS_MAX)
    versions_min = Integer(required=False, min_value=1, max_value=RETENTION_VERSIONS_MAX)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "versions_min" in values and "days" not in values:
            raise serializers.ValidationError("Give days with versions_min.")
        return values


def policy_of(body: dict[str, Any]) -> Policy | None:
    if body.get("days") is None:
        return None
    return Policy(body["days"], body.get("versions_min", VERSIONS_MIN_DEFAULT))


class RetentionShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["memory_store_retention"])
    memory_store_id = serializers.CharField()
    days = serializers.IntegerField(allow_null=True)
    versions_min = serializers.IntegerField(allow_null=True)
    set_at = serializers.DateTimeField(allow_null=True)
    set_by = serializers.DictField(child=serializers.CharField(), allow_null=True)
    ran_at = serializers.DateTimeField(allow_null=True)
    history_from = serializers.DateTimeField(allow_null=True)


def retention_wire(retention: Retention) -> dict[str, Any]:
    store, row = retention.store, retention.row
    return {
        "type": "memory_store_retention",
        "memory_store_id": store.wire_id,
        "days": row.days if row else None,
        "versions_min": row.versions_min if row else None,
        "set_at": optional_to_wire(row.set_at if row else None),
        "set_by": actor_wire(row.set_by_type, row.set_by_id) if row else None,
        "ran_at": optional_to_wire(row.ran_at if row else None),
        "history_from": optional_to_wire(store.history_from),
    }


class RemovalShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["memory_store_removal"])
    memory_store_id = serializers.CharField()
    dry_run = serializers.BooleanField()
    complete = serializers.BooleanField()
    days = serializers.IntegerField()
    versions_min = serializers.IntegerField()
    memory_versions = serializers.IntegerField()
    memories = serializers.IntegerField()
    size_bytes = serializers.IntegerField()
    memory_versions_held = serializers.IntegerField()


def removal_wire(store_id: str, removal: Removal, *, dry_run: bool) -> dict[str, Any]:
    return {
        "type": "memory_store_removal",
        "memory_store_id": store_id,
        "dry_run": dry_run,
        "complete": removal.is_complete,
        "days": removal.policy.days,
        "versions_min": removal.policy.versions_min,
        **removal.counts(),
        "memory_versions_held": removal.held,
    }
