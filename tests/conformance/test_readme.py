"""The lines of the README and of the page on SDKs, run as they stand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import anthropic
import pytest

from memoryhub.models import SessionEvent
from tests.conformance.packages import ROOT, typescript_dependencies
from tests.conformance.test_python_sdk_releases import INSTALLED, OLDER
from tests.conformance.test_quickstart import SHELL_BLOCK, STRICT_CURL, run_shell
from tests.live import LiveHub
from tests.world import Tenant

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(page: Path, live: LiveHub, tenant: Tenant, folder: Path) -> list[str]:
    """Run a page's blocks of Python as one program; the lines it prints."""
    program = folder / "program.py"
    blocks = PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=folder,
        env={**os.environ, "MEMORYHUB_URL": live.url, "MEMORYHUB_KEY": tenant.key},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_readme_writes_conflicts_searches_compares_restores_and_redacts(
    live: LiveHub, live_tenant: Tenant, tmp_path: Path
) -> None:
    lines = run_page(ROOT / "README.md", live, live_tenant, tmp_path)
    assert "conflict: memory_precondition_failed_error" in lines
    assert "found: ['/formatting.md']" in lines
    assert "-Always use tabs." in lines and "+Always use two spaces. Password: hunter2." in lines
    assert "restored: Always use tabs." in lines
    assert re.fullmatch(r"redacted: \d{4}-\d\d-\d\d .* None", lines[-1])


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_readme_opens_a_session_saves_conflicts_and_freezes(
    live: LiveHub, live_tenant: Tenant, tmp_path: Path, shell: str
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## A session on a document\n")[2].partition("\n## ")[0]
    script = STRICT_CURL + "\n".join(SHELL_BLOCK.findall(section))
    key = live_tenant.new_key("admin", whole=True)  # as `./hub up` prints it
    lines = run_shell(script, live, tmp_path, shell=shell, MEMORYHUB_KEY=key).splitlines()
    said, outputs = (
        [line for line in lines if line[0] != "{"],
        [json.loads(line) for line in lines if line[0] == "{"],
    )
    assert said == [
        "playbook",
        "Deploy before noon.",
        "memory_save",
        "memory_save",
        "Deploy before ten.",
        "disabled",
        "memory_save",
    ]
    saved, conflict, rejected = outputs
    assert (saved["status"], saved["bytes"]) == ("saved", 21)
    assert conflict == {"status": "conflict", "text": "Deploy before ten.", "summary": ""}
    assert rejected == {"status": "rejected", "reason": "agent_writes_disabled"}
    events = SessionEvent.objects.filter(project=live_tenant.project).order_by("number")
    assert [event.type for event in events].count("memory.saved") == 1


def test_the_page_on_sdks_runs(live: LiveHub, live_tenant: Tenant, tmp_path: Path) -> None:
    listed, conflict, found = run_page(ROOT / "docs" / "sdk.md", live, live_tenant, tmp_path)
    assert listed == "memory_prefix /plans/"
    assert re.fullmatch(r"memory_precondition_failed_error req_[0-9a-f]{32}", conflict)
    assert found == "['/plans/today.md']"


def test_the_page_on_sdks_names_the_tested_releases() -> None:
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8").partition("## Releases")[2]
    assert INSTALLED in page and OLDER in page and anthropic.__version__ == INSTALLED
    assert all(version in page for version in typescript_dependencies().values())
