"""The REST door of how long the versions of a store are kept."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import operation
from stores import retention
from stores.retention_serializers import (
    PlanBody,
    PolicyShape,
    RemovalShape,
    RetentionShape,
    policy_of,
    removal_wire,
    retention_wire,
)
from stores.views import StoreView

type Values = dict[str, Any]


class StoreRetention(StoreView):
    @operation("retention.get", "Say how long a memory store keeps versions", answer=RetentionShape)
    def get(self, store_id: str, *, actor: Actor) -> Values:
        return retention_wire(retention.get_retention(store_id, actor=actor))

    @operation(
        "retention.set",
        "Set how long a memory store keeps versions",
        body=PolicyShape,
        answer=RetentionShape,
    )
    def put(self, store_id: str, *, body: Values, actor: Actor) -> Values:
        return retention_wire(retention.set_retention(store_id, policy=policy_of(body), actor=actor))


class RetentionPlan(StoreView):
    @operation(
        "retention.plan",
        "Count the versions that a retention would remove",
        body=PlanBody,
        answer=RemovalShape,
    )
    def post(self, store_id: str, *, body: Values, actor: Actor) -> Values:
        plan = retention.plan_removal(store_id, policy=policy_of(body), actor=actor)
        return removal_wire(store_id, plan, dry_run=True)


class RetentionRun(StoreView):
    @operation("retention.run", "Remove versions past a memory store's retention", answer=RemovalShape)
    def post(self, store_id: str, *, actor: Actor) -> Values:
        return removal_wire(store_id, retention.remove_old_versions(store_id, actor=actor), dry_run=False)
