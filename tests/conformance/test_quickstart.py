"""The shell lines of the quickstart and of the other pages, run as they stand."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memoryhub.models import Membership
from memoryhub.projects import create_operator
from tests.conformance.packages import ROOT
from tests.live import LiveHub
from tests.world import Tenant

DOCS = ROOT / "docs"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "export MEMORYHUB_URL=http://127.0.0.1:8000\n"
KEY = "export MEMORYHUB_KEY=mh_...\n"
# A page of examples is no success when one of its calls is refused.
STRICT_CURL = 'curl() { command curl -sS --fail-with-body "$@"; }\n'
PAGES = (
    "files",
    "history",
    "search",
    "redaction",
    "archives",
    "operations",
    "keys-and-people",
    "declared-memory",
    "sessions",
    "session-records",
    "workers",
    "documents",
)


def shell_of(name: str) -> str:
    """A page's blocks as one script, without the hub's own commands, which need the hub's folder, and what a reader fills in."""
    blocks = SHELL_BLOCK.findall((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    left_out = ("./hub ", "manage.py", "…")
    return "\n".join(block for block in blocks if not any(words in block for words in left_out))


def run_shell(script: str, live: LiveHub, folder: Path, *, shell: str = "bash", **values: str) -> str:
    """What the script prints; the first command that fails ends it."""
    named = {**values, "MEMORYHUB_URL": live.url}
    done = subprocess.run(
        [shell, "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, **named},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (done.stdout[-1_000:], done.stderr)
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_quickstart_writes_conflicts_searches_compares_restores_and_redacts(
    live: LiveHub, live_tenant: Tenant, tmp_path: Path, shell: str
) -> None:
    script = shell_of("quickstart")
    assert script.count(ADDRESS) == script.count(KEY) == 1
    script = script.replace(ADDRESS, "").replace(KEY, "")
    printed = run_shell(script, live, tmp_path, shell=shell, MEMORYHUB_KEY=live_tenant.key)
    answers: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    store, memory, changed, refused, found, versions, diff, restored, redacted, shown = answers
    assert (store["type"], memory["path"]) == ("memory_store", "/deploy.md")
    assert (changed["id"], changed["content_sha256"]) != (memory["id"], memory["content_sha256"])
    assert refused["error"]["type"] == "memory_precondition_failed_error"
    assert [hit["id"] for hit in found["data"]] == [memory["id"]]
    new, old = versions["data"]
    assert "-We deploy on Fridays." in diff["unified"].splitlines()
    assert restored["restored_version_id"] == old["id"]
    assert restored["content_sha256"] == memory["content_sha256"]
    assert (redacted["id"], redacted["content"]) == (new["id"], None) and redacted["redacted_at"]
    assert shown == redacted


@pytest.mark.parametrize("page", PAGES)
def test_the_calls_of_a_page_succeed(live: LiveHub, live_tenant: Tenant, tmp_path: Path, page: str) -> None:
    script = shell_of(page).replace("second-product", f"{live_tenant.project.name}-2")
    assert "curl " in script
    (tmp_path / "notes.md").write_text("We deploy on Fridays.\n")
    key = live_tenant.new_key("admin", whole=page == "keys-and-people")
    values = {**stored(live, live_tenant), **joined(live, live_tenant)}
    assert run_shell(STRICT_CURL + script, live, tmp_path, MEMORYHUB_KEY=key, **values)


def stored(live: LiveHub, tenant: Tenant) -> dict[str, str]:
    """A store, a memory and a version, by the variables of the pages; and the resource that they speak of."""
    call = live.caller(tenant.key)
    store = call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    body = {"path": "/deploy.md", "content": "We deploy on Fridays.\n"}
    memory = call("POST", f"/v1/memory_stores/{store}/memories", body).body
    declared = {"resource": {"id": "playbook", "description": "How this team works."}}
    assert call("POST", "/v1/memory_resources", declared).status == 201
    return {
        "STORE": store,
        "MEMORY": memory["id"],
        "VERSION": memory["memory_version_id"],
        "PROJECT": tenant.project.wire_id,
    }


def joined(live: LiveHub, tenant: Tenant) -> dict[str, str]:
    """A key, an invitation and a member."""
    call = live.caller(tenant.new_key("admin", whole=True))
    key = call("POST", "/v1/api_keys", {"name": "one", "scopes": ["read"]}).body
    invitation = call("POST", "/v1/invitations", {"email": "bo@example.com", "role": "viewer"}).body
    user = create_operator(email=f"{tenant.project.name}@example.org", name="Cy", password=None)
    member = Membership.objects.create(project=tenant.project, user=user, role="viewer")
    return {"KEY_ID": key["id"], "INVITATION": invitation["id"], "MEMBER": member.wire_id}
