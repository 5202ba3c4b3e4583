import pytest

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
