"""Every operation with the releases of the official Python SDK that differ on the wire: the newest, and 0.121.0."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import packages
from tests.live import LiveHub
from tests.world import Tenant

INSTALLED = "2.14.0"
OLDER = "0.121.0"  # sends X-Api-Key, ?beta=true and another anthropic-version
SEEN = {
    "store": ["memory_store", "Python", "d", {"k": "v", "gone": "x"}],
    "updated_store": ["Renamed", "", {"k": "v"}],
    "retrieved_is_updated": True,
    "listed": True,
    "made": ["memory", "/a b/ü.md", "one\n", 4],
    "retrieved": "one\n",
    "updated": [None, 4],
    "conflict": [409, "memory_precondition_failed_error"],
    "taken": ["memory_path_conflict_error", "/c.md"],
    "children": [["memory_prefix", "/a b/"], ["memory", "/c.md"]],
    "below": ["/a b/ü.md"],
    "versions": [["modified", "api_actor"], ["created", "api_actor"]],
    "version": "one\n",
    "redacted": [None, None, True],
    "head": 400,
    "deleted": "memory_deleted",
    "missing": 404,
    "archived": True,
    "store_deleted": "memory_store_deleted",
}


@pytest.mark.parametrize("release", [INSTALLED, OLDER])
def test_all_fourteen_operations(live: LiveHub, live_tenant: Tenant, release: str) -> None:
    environment = {**os.environ, "MEMORYHUB_URL": live.url, "MEMORYHUB_KEY": live_tenant.key}
    if release != INSTALLED:
        environment["PYTHONPATH"] = str(_folder_of(release))
    walk = Path(__file__).with_name("walk.py")
    done = subprocess.run(
        [sys.executable, str(walk)], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SEEN | {"sdk": release}


def _folder_of(release: str) -> Path:
    try:
        return packages.python_package(f"anthropic=={release}")
    except packages.FetchError as error:
        pytest.fail(str(error), pytrace=False)
