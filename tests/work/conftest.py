import pytest

from tests.work.bench import Bench
from tests.world import Tenant


@pytest.fixture
def bench(tenant: Tenant) -> Bench:
    return Bench(tenant)
