"""Names are taken as they were sent: not trimmed, not made of numbers."""

import pytest

from tests.world import Caller


@pytest.mark.parametrize("agent_id", [0, 1.5, True, None, "", " a", "a ", "a\n", "A", "a--b", "a" * 129])
def test_an_agents_id_is_taken_as_it_was_sent_or_refused(call: Caller, agent_id: object) -> None:
    assert call("POST", "/v1/deployments", {"agent_id": agent_id, "manifest": {}}).status == 400


@pytest.mark.parametrize("name", [0, " A", "A ", "a", "", "A" * 129])
def test_a_secrets_name_is_taken_as_it_was_sent_or_refused(call: Caller, name: object) -> None:
    body = {"name": name, "value": "v", "allowed_origins": ["https://a.example.com"]}
    assert call("PUT", "/v1/secrets", body).status == 400
