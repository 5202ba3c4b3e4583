"""`./hub check`: what is looked at besides the tests. Prints each step; exits 1 when one fails."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
STEPS: dict[str, list[str]] = {
    "ruff": [str(BIN / "ruff"), "check", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "mypy": [str(BIN / "mypy"), "memoryhub", "stores", "tools"],
    "arrows": [str(BIN / "lint-imports")],
    "migrations": [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
}


def main() -> int:
    failed = [name for name, command in STEPS.items() if not run(name, command)]
    print(f"check: {len(STEPS) - len(failed)} passed, {len(failed)} failed", *failed)
    return 1 if failed else 0


def run(name: str, command: list[str]) -> bool:
    print(f"== {name}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
