"""Namespaces of HTTP resources, and the partition key that stands for each at its endpoint. Source: contract, section 5."""

import structlog
from django.conf import settings

from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from providers.models import Namespace, Resource
from providers.partition_keys import partition_key

log = structlog.get_logger("memoryhub.namespaces")


def open_namespace(resource: Resource, namespace_id: str) -> Namespace:
    """A step: the namespace, made at its first use. The partition that was stored first is kept, whatever the key is now.

    Two that open it at once wait for each other at the unique constraint.
    """
    partition = _partition(resource, namespace_id)
    found = find_row(Namespace.objects.filter(resource=resource, namespace_id=namespace_id))
    if found is None:
        found, _ = Namespace.objects.get_or_create(
            resource=resource,
            namespace_id=namespace_id,
            defaults={
                "project_id": resource.project_id,
                "environment_id": resource.environment_id,
                "partition": partition,
            },
        )
    if found.partition != partition:
        log.error("partition_key_changed", resource=resource.resource_id, namespace=str(found.id))
    return found


def _partition(resource: Resource, namespace_id: str) -> str:
    key = settings.PARTITION_KEY
    assert key is not None, "a session is refused before, when there is no key"
    return partition_key(
        key,
        project_id=resource.project_id,
        environment_id=resource.environment_id,
        resource_id=resource.resource_id,
        namespace_id=namespace_id,
    )


def list_namespaces(resource: Resource, page: ListRequest) -> Page[Namespace]:
    """Newest first. Raises: InvalidRequest for a foreign cursor."""
    namespaces = Namespace.objects.filter(resource=resource)
    return cut_newest(namespaces, page)
