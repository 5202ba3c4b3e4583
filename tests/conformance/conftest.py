from collections.abc import Iterator

import pytest
from anthropic import Anthropic, DefaultHttpxClient

from tests.conformance.sent import Sent
from tests.live import LiveHub
from tests.world import Tenant


@pytest.fixture
def sent() -> Sent:
    """The requests that `client` sent."""
    return Sent()


@pytest.fixture
def client(live: LiveHub, live_tenant: Tenant, sent: Sent) -> Iterator[Anthropic]:
    """The official SDK with its own settings, but for the address and the key."""
    http_client = DefaultHttpxClient(event_hooks={"request": [sent.note], "response": [sent.lose]})
    with Anthropic(base_url=live.url, api_key=live_tenant.key, http_client=http_client) as client:
        yield client


@pytest.fixture
def store_id(client: Anthropic) -> str:
    return client.beta.memory_stores.create(name="Notes").id
