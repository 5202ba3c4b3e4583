"""What other services keep of an environment: its namespaces, each with the partition that names it there."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memoryhub import ids
from providers.models import Namespace


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
