"""Where a memory provider keeps what a host writes: the scope of a partition.

Source: contract of the memory provider, section 9.7. A tenant is a project and an environment and cannot name the endpoint, so the
subject does: partitions of one name at two endpoints are two scopes.
"""

from collections.abc import Iterable

from providers.contract import Scope, scope_of
from providers.endpoint_models import Endpoint, ExternalPartition
from providers.record_models import RecordScope
from providers.record_scopes import find_scope, tenant_of

AGENT, ISSUER = "http", "oc"


def scope_of_partition(endpoint: Endpoint, partition: str) -> Scope:
    tenant = tenant_of(endpoint.project_id, endpoint.environment_id)
    return Scope(tenant, AGENT, _name(endpoint, partition))


def _name(endpoint: Endpoint, partition: str) -> str:
    return scope_of(ISSUER, f"{endpoint.wire_id}/{partition}")


def find_scope_of(endpoint: Endpoint, partition: ExternalPartition) -> RecordScope | None:
    """None where nothing was ever written."""
    return find_scope(scope_of_partition(endpoint, partition.partition))


def find_scopes(endpoint: Endpoint, partitions: Iterable[ExternalPartition]) -> dict[str, RecordScope]:
    """By the partition's name, of those in which something was ever written: one query."""
    names = {_name(endpoint, one.partition): one.partition for one in partitions}
    held = RecordScope.objects.filter(environment_id=endpoint.environment_id, agent=AGENT)
    rows = held.filter(project_id=endpoint.project_id, scope__in=list(names))
    return {names[row.scope]: row for row in rows}
