"""The README's Python lines, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conformance.packages import ROOT
from tests.live import LiveHub
from tests.world import Tenant

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_block(page: Path) -> str:
    """The one block of Python in a page."""
    (block,) = PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))
    return str(block)


def test_its_python_writes_conflicts_searches_compares_restores_and_redacts(
    live: LiveHub, live_tenant: Tenant, tmp_path: Path
) -> None:
    program = tmp_path / "first_memory.py"
    program.write_text(python_block(ROOT / "README.md"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "MEMORYHUB_URL": live.url, "MEMORYHUB_KEY": live_tenant.key},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "conflict: memory_precondition_failed_error" in lines
    assert "found: ['/formatting.md']" in lines
    assert "-Always use tabs." in lines and "+Always use two spaces. Password: hunter2." in lines
    assert "restored: Always use tabs." in lines
    assert re.fullmatch(r"redacted: \d{4}-\d\d-\d\d .* None", lines[-1])
