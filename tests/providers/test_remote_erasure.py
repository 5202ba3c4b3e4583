"""What an erasure says of records at other services: those it knows by their whole text, and every scope that may hold it."""

import uuid
from typing import Any

import pytest

from memoryhub.digests import sha256_hex
from providers.models import RemoteRecord
from tests.providers.test_adapters import Adapt, Adapted, adapt  # noqa: F401 - a fixture
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_text_erasure import redact


@pytest.fixture
def made(adapt: Adapt) -> Adapted:  # noqa: F811
    return adapt("letta")


def elsewhere(made: Adapted, **body: Any) -> Any:
    return redact(made.tenant, **body).body["elsewhere"]


def test_a_record_whose_whole_text_is_sought_is_named(made: Adapted) -> None:
    canary = f"canary{uuid.uuid4().hex}"
    record_id = made.save(canary)
    made.save(f"{canary} and more", "k2", scope=made.scope("bob"))
    assert tables_with(canary) == [] and tables_with(sha256_hex(canary)) == []
    wanted = {"type": "memory_record", "id": record_id, "agent": "support", "scope": "api/alice"}
    for sought in ({"contains": canary}, {"content_sha256": sha256_hex(canary)}):
        found = elsewhere(made, heads="delete", **sought)
        assert (found["left"], found["deleted"]) == ([wanted], [])
        known = [(one["namespace"], one["known"]) for one in found["remote"] if one["resource"] == "letta"]
        assert known == [("support api/alice", True), ("support api/bob", False)]


def test_what_was_forgotten_is_named_no_more(made: Adapted) -> None:
    canary = f"canary{uuid.uuid4().hex}"
    made.forget(made.save(canary))
    assert elsewhere(made, contains=canary)["left"] == []
    assert RemoteRecord.objects.get(scope__environment=made.tenant.development).text_seal is None
