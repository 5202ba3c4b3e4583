from collections.abc import Iterator
from pathlib import Path

import pytest

from stores import memory_stores
from tests.live import LiveHub
from tests.mount.ground import Bench, FaultyTransport
from tests.stores.shelf import Shelf
from tests.world import Tenant


@pytest.fixture
def bench(live: LiveHub, live_tenant: Tenant, tmp_path: Path) -> Iterator[Bench]:
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=live_tenant.actor
    )
    with FaultyTransport(live.url, live_tenant.key) as transport:
        yield Bench(Shelf(store.wire_id, live_tenant.actor), transport, tmp_path)
