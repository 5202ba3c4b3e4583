"""The examples of docs/mcp.md, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.mcp.conftest import Desk

PAGE = (Path(settings.BASE_DIR) / "docs" / "mcp.md").read_text(encoding="utf-8")


def run(desk: Desk, *command: str, folder: Path) -> str:
    named = {"MEMORYHUB_MCP": desk.server.url, "MEMORYHUB_KEY": desk.agent().key}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **named}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def block(language: str) -> str:
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def test_the_example_in_python_lists_tools_and_stores(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(block("python"), encoding="utf-8")
    shown = run(desk, sys.executable, "-W", "error", "program.py", folder=tmp_path)
    assert "list_memory_stores\n" in shown and desk.store_id in shown


def test_the_example_in_the_shell_lists_stores(desk: Desk, tmp_path: Path) -> None:
    assert desk.store_id in run(desk, "sh", "-c", block("sh"), folder=tmp_path)
