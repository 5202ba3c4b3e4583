"""Every page of the console with one of each thing behind its URL, and the people who ask for it by role."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from memoryhub.models import User
from memoryhub.operations import ROLES, Operation, allows
from tests.authorization.plots import Plot, make_plot
from tests.authorization.test_routes import routes
from tests.console.site import Site, add_person, sign_in
from tests.world import Tenant

# What a URL's parameter is filled with, for those that are no id of a plot. A new parameter fails until it stands here.
SEEDS: dict[str, Callable[[Plot], str]] = {
    "environment": lambda plot: plot.environment.name,
    "other_id": lambda plot: plot.environment.wire_id,
    "job_id": lambda plot: plot.job_id,
    "resource_id": lambda plot: plot.resource_id,
    "document_id": lambda plot: plot.canary,
    "scope_id": lambda plot: plot.record_scope_id,
    "violation_id": lambda plot: plot.violation_id,
    "memory_record_id": lambda plot: plot.memory_record_id,
}
# What a page needs behind its URL, by the end of its route.
QUERIES: dict[str, Callable[[Plot], str]] = {
    "/stores/{store_id}/compare": lambda plot: f"?after={plot.head_version_id}",
    "/review/{authority_id}/{nomination_sha256}/record": lambda plot: "?key=waiting",
}


def page_routes() -> dict[str, Operation]:
    """URL with its parameters -> the operation that the page asks for."""
    return {url: view.hub_page for url, view in routes() if hasattr(view, "hub_page")}


def is_allowed(role: str, operation: Operation) -> bool:
    return allows(ROLES[role], operation)


@dataclass(frozen=True)
class Ground:
    plot: Plot

    def url(self, route: str) -> str:
        named = re.findall(r"{(\w+)}", route)
        missing = [name for name in named if name not in self.plot.path_ids and name not in SEEDS]
        assert not missing, f"UNSEEDED: give {missing} a line in tests/console/ground.py"
        seeds = {name: SEEDS[name](self.plot) for name in named if name in SEEDS}
        query = next((make(self.plot) for end, make in QUERIES.items() if route.endswith(end)), "")
        return route.format(**self.plot.path_ids | seeds) + query

    @cached_property
    def people(self) -> dict[str, User]:
        tenant = self.plot.tenant
        return {"owner": tenant.owner} | {role: add_person(tenant, role) for role in ROLES if role != "owner"}

    def sign_in(self, role: str) -> Site:
        return sign_in(self.people[role], self.plot.tenant.project)


def make_ground(tenant: Tenant) -> Ground:
    return Ground(make_plot(tenant, tenant.development))
