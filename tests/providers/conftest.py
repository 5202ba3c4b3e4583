import pytest

from tests.providers.desk import Desk
from tests.world import Tenant


@pytest.fixture
def desk(tenant: Tenant) -> Desk:
    made = Desk(tenant)
    made.declare()
    return made
