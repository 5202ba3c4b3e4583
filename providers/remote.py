"""What other services keep of an environment: its namespaces and the scopes of its records, each with the name that it has there."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memoryhub import ids
from providers.models import Namespace
from providers.remote_models import RemoteScope


def list_remote_scopes(environment_ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """The shape of `list_remote`: `resource` is the provider, `namespace` the agent and its principal's scope."""
    remotes = RemoteScope.objects.filter(scope__environment_id__in=environment_ids).select_related("scope")
    return [
        {
            "environment_id": ids.to_wire(ids.ENVIRONMENT, one.scope.environment_id),
            "resource": one.provider,
            "namespace": f"{one.scope.agent} {one.scope.scope}",
            "partition": one.home or one.identity,
            "endpoint": one.origin,
        }
        for one in remotes.order_by("provider", "scope__agent", "scope__scope")
    ]


def list_remote(environment_ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """`[{"environment_id", "resource", "namespace", "partition", "endpoint"}]`, by resource and namespace."""
    namespaces = Namespace.objects.filter(environment_id__in=environment_ids).select_related("resource")
    return [
        {
            "environment_id": ids.to_wire(ids.ENVIRONMENT, one.environment_id),
            "resource": one.resource.resource_id,
            "namespace": one.namespace_id,
            "partition": one.partition,
            "endpoint": f"{one.resource.provider['origin']}{one.resource.provider['path']}",
        }
        for one in namespaces.order_by("resource__resource_id", "namespace_id")
    ]
