import pytest

from tests.stores.shelf import Shelf
from tests.world import Tenant


@pytest.fixture
def shelf(tenant: Tenant, store_id: str) -> Shelf:
    return Shelf(store_id, tenant.actor)
