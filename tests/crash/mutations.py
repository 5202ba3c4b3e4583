"""Every request that changes something: one for each such operation of the API document, on a project of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection

from providers import external_partitions
from providers.models import Resource
from stores import freezes, memory_stores
from tests.answers import Answer
from tests.authorization.attempts import attempt_on
from tests.authorization.plots import Plot, make_plot
from tests.authorization.snapshots import columns_by_table, snapshot_project
from tests.documented import DocumentedOperation, documented_operations
from tests.stores.aged import age_memory
from tests.stores.shelf import Shelf
from tests.world import make_tenant

MUTATIONS = [operation for operation in documented_operations() if operation.rights.writes]
EVERY_MUTATION = pytest.mark.parametrize("operation", MUTATIONS, ids=lambda operation: operation.name)

# What must stand there first, so that the request changes something.
FIRST: dict[str, Callable[[Plot], object]] = {
    "memory_stores.unfreeze": lambda plot: memory_stores.freeze_store(plot.store_id, actor=plot.tenant.actor),
    "retention.run": lambda plot: age_memory(Shelf(plot.store_id, plot.tenant.actor), "/old", [900, 800]),
    "memories.unfreeze": lambda plot: freezes.freeze_memory(
        plot.store_id, plot.memory_id, actor=plot.tenant.actor
    ),
    "external_partitions.unfreeze": lambda plot: external_partitions.freeze_partition(
        plot.endpoint_id, plot.partition_id, actor=plot.tenant.actor
    ),
    "deployments.promote": lambda plot: Resource.objects.filter(environment=plot.environment).update(
        description="Of another deployment."
    ),
}


# What a request commits before its last transaction, and what repeating it makes of that: the tables of the first part.
FIRST_PARTS = {
    # The limits bind older sessions too, so they are written first; a promotion that is repeated finds them.
    "deployments.promote": {"providers_resource", "stores_memorystore"},
    # The request is there before anything is recalled; it is recalled again under the same id.
    "model_requests.create": {"providers_modelrequest"},
    # That somebody imports is noted first; each record is a transaction of its own, and the import goes on when it is repeated.
    "records.import": {"memoryhub_auditevent"},
}


# The operations on an authority and its spaces, and those that end or search all that there is.
ON_AUTHORITIES = {"authorities", "spaces", "host_calls", "nominations"}
ON_EVERYTHING = {"projects", "environments", "redactions", "memory_versions"}


@dataclass
class Mutation:
    operation: DocumentedOperation
    plot: Plot

    def ask(self, call: Any) -> Answer:
        return attempt_on(self.operation, self.plot).made_by(call)

    def state(self, *, with_first_part: bool = False) -> object:
        """Everything the project holds, and how many rows each table has in all, but for what a first part commits."""
        first = set() if with_first_part else FIRST_PARTS.get(self.operation.name, set())
        tables = ["memoryhub_project", "memoryhub_user", *columns_by_table()]
        counted = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)
        with connection.cursor() as cursor:
            cursor.execute(counted)
            counts = dict(cursor.fetchall())
        held = snapshot_project(self.plot.tenant.project)
        return [{name: of[name] for name in of if name not in first} for of in (counts, held)]

    def new_key(self) -> str:
        return self.plot.tenant.new_key("admin", whole=True)


def make_mutation(operation: DocumentedOperation) -> Mutation:
    """Committed."""
    tenant = make_tenant()
    room = operation.name.partition(".")[0]
    plot = make_plot(tenant, tenant.development, with_authority=room in ON_AUTHORITIES | ON_EVERYTHING)
    FIRST.get(operation.name.removesuffix(".patch"), lambda plot: None)(plot)
    return Mutation(operation, plot)
