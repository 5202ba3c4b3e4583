"""Requests made from the served document, good ones and bad ones, alone and in chains: every answer is one it documents.

schemathesis calls a real hub. MEMORYHUB_TEST_SCHEMA_EXAMPLES asks for more of them, MEMORYHUB_TEST_SCHEMA_SEED for others.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import LiveHub
from tests.world import Tenant

EXAMPLES = os.environ.get("MEMORYHUB_TEST_SCHEMA_EXAMPLES", "6")
SECONDS_MAX = 300 + 5 * int(EXAMPLES)
SEED = os.environ.get("MEMORYHUB_TEST_SCHEMA_SEED", "20261130")
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")

# A run that could end its own key or leave its own project would only see 401 from then on; an archive is no text that
# can be made from a schema (tests/archives has its own hostile ones).
# A stream of events answers for minutes.
LEFT_OUT = (
    "api_keys.revoke",
    "api_keys.rotate",
    "memory_stores.import",
    "records.import",
    "session_events.stream",
)
# A project is seen only with a key of its own, the one that came with it: who created it is told that there is none.
ALONE = "projects.create"
# A schema says what a body looks like. What the state of a thing or a rule between fields forbids is a 400 by the contract
# (an archived store, a path that is no path, the last owner), which this check would take for a fault.
NOT_CHECKED = "positive_data_acceptance"
WHOLE_PROJECT = ("projects", "environments", "members", "invitations", "audit_events")

pytestmark = pytest.mark.timeout(SECONDS_MAX + 30)


def run(live: LiveHub, key: str, *options: str) -> None:
    """Raises: AssertionError with schemathesis' report."""
    command = [str(SCHEMATHESIS), "--no-color", "run", f"{live.url}/openapi.yaml", "--url", live.url]
    command += [
        "--header",
        f"Authorization: Bearer {key}",
        "--checks",
        "all",
        "--exclude-checks",
        NOT_CHECKED,
    ]
    # A made-up X-Api-Key beside the good Authorization is refused with 401, and nothing else would be tried.
    command += ["--generation-with-security-parameters", "false", "--generation-allow-x00", "true"]
    command += ["--generation-database", "none", "--max-examples", EXAMPLES, "--seed", SEED]
    command += ["--continue-on-failure", "--warnings", "off", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert ended.returncode == 0, f"seed {SEED}\n{ended.stdout[-20_000:]}{ended.stderr[-2_000:]}"
    assert " passed" in ended.stdout


def test_every_answer_to_a_key_of_one_environment_is_documented(live: LiveHub, live_tenant: Tenant) -> None:
    left_out = [word for name in LEFT_OUT for word in ("--exclude-operation-id", name)]
    run(live, live_tenant.key, *left_out)


def test_every_answer_to_a_key_of_the_whole_project_is_documented(live: LiveHub, live_tenant: Tenant) -> None:
    tags = [word for tag in WHOLE_PROJECT for word in ("--include-tag", tag)]
    run(live, live_tenant.new_key("admin", whole=True), *tags, "--exclude-operation-id", ALONE)


def test_every_answer_to_who_creates_a_project_is_documented(live: LiveHub, live_tenant: Tenant) -> None:
    key = live_tenant.new_key("admin", whole=True)
    run(live, key, "--include-operation-id", ALONE, "--phases", "coverage,fuzzing")


@pytest.mark.parametrize("operation", LEFT_OUT[:2])
def test_every_answer_about_a_key_is_documented(live: LiveHub, live_tenant: Tenant, operation: str) -> None:

    run(live, live_tenant.key, "--include-operation-id", operation, "--phases", "coverage,fuzzing")
