from contextlib import nullcontext

import pytest

from stores import exports
from tests.console.ground import Ground, make_ground
from tests.console.site import Site, add_person, sign_in
from tests.stores.shelf import Shelf
from tests.world import Tenant


@pytest.fixture
def shelf(tenant: Tenant, store_id: str) -> Shelf:
    return Shelf(store_id, tenant.actor)


@pytest.fixture
def owner(tenant: Tenant) -> Site:
    return sign_in(tenant.owner, tenant.project)


@pytest.fixture
def viewer(tenant: Tenant) -> Site:
    return sign_in(add_person(tenant, "viewer"), tenant.project)


@pytest.fixture
def ground(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """One of each thing, and a person of each role."""
    # A test's own transaction is open to its end, so it cannot become a snapshot.
    monkeypatch.setattr(exports, "snapshot", lambda statement_seconds_max: nullcontext())
    return make_ground(tenant)
