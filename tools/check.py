"""`./hub check`: what is looked at besides the tests. Prints each step; exits 1 when one fails."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
STEPS: dict[str, list[str]] = {
    "ruff": [str(BIN / "ruff"), "check", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "mypy": [str(BIN / "mypy"), "memoryhub", "stores", "providers", "authority", "tools"],
    "arrows": [str(BIN / "lint-imports")],
    "templates": [str(BIN / "djlint"), "templates", "--lint", "--quiet"],
    "migrations": [sys.executable, "-W", "ignore", "manage.py", "makemigrations", "--check", "--dry-run"],
}
# The settings are read, and nothing is reached with them.
ENVIRONMENT = {**os.environ, "MEMORYHUB_SECRET_KEY": "only-to-read-the-settings-of-a-hub-that-never-runs"}


def main() -> int:
    failed = [name for name, command in STEPS.items() if not run(name, command)]
    print(f"check: {len(STEPS) - len(failed)} passed, {len(failed)} failed", *failed)
    return 1 if failed else 0


def run(name: str, command: list[str]) -> bool:
    print(f"== {name}", flush=True)
    return subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
