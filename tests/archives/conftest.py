"""Exports read one moment in a transaction of their own, so what they export is committed here, in fresh projects."""

import pytest

from tests.world import Caller, Tenant


@pytest.fixture
def call(committed: Tenant) -> Caller:
    return committed.call()


@pytest.fixture
def store_id(call: Caller) -> str:
    return str(call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"])
