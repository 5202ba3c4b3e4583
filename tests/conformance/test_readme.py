"""The Python lines of the README and of the page on SDKs, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import anthropic

from tests.conformance.packages import ROOT, typescript_dependencies
from tests.conformance.test_python_sdk_releases import INSTALLED, OLDER
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


def test_the_page_on_sdks_runs(live: LiveHub, live_tenant: Tenant, tmp_path: Path) -> None:
    listed, conflict, found = run_page(ROOT / "docs" / "sdk.md", live, live_tenant, tmp_path)
    assert listed == "memory_prefix /plans/"
    assert re.fullmatch(r"memory_precondition_failed_error req_[0-9a-f]{32}", conflict)
    assert found == "['/plans/today.md']"


def test_the_page_on_sdks_names_the_tested_releases() -> None:
    page = (ROOT / "docs" / "sdk.md").read_text(encoding="utf-8").partition("## Releases")[2]
    assert INSTALLED in page and OLDER in page and anthropic.__version__ == INSTALLED
    assert all(version in page for version in typescript_dependencies().values())
