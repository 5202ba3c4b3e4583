"""A running MCP server, and committed tenants for it."""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from memoryhub.actors import RecordScope
from stores import memory_stores
from tests.live import url_of
from tests.mcp.live import Agent, LiveMcp
from tests.world import Tenant, make_tenant


@pytest.fixture(scope="session")
def mcp_process(test_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveMcp]:
    server = LiveMcp(
        tmp_path_factory.mktemp("mcp"),
        database_url=url_of(connection.settings_dict),
        settings={"MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": "0", "MEMORYHUB_LOG_LEVEL": "INFO"},
    )
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(mcp_process: LiveMcp, django_db_blocker: DjangoDbBlocker) -> Iterator[LiveMcp]:
    """What the test arranges in this process is committed and stays: make tenants of its own."""
    with django_db_blocker.unblock():
        yield mcp_process
        connection.close()


class Desk:
    """A tenant with a store of its own, and agents that may use it."""

    def __init__(self, server: LiveMcp) -> None:
        self.server = server
        self.tenant: Tenant = make_tenant()
        self.call = self.tenant.call()
        store = memory_stores.create_store(
            environment="development", name="Notes", description="", metadata={}, actor=self.tenant.actor
        )
        self.store, self.store_id = store, store.wire_id

    def agent(
        self, access: str = "read_write", *, of: RecordScope | None = None, mode: str = "auto"
    ) -> Agent:
        stores = {self.store.id: access} if access else None
        return Agent(self.server.url, self.tenant.new_key("agent", stores=stores, record_scope=of), mode=mode)


@pytest.fixture
def desk(server: LiveMcp) -> Desk:
    return Desk(server)


@pytest.fixture
def other(server: LiveMcp) -> Desk:
    return Desk(server)
