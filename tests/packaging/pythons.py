"""The Pythons of this machine that the hub supports, found by running candidates."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

OLDEST = (3, 12)
_ASK = "import sys; print(*sys.version_info[:2], sys.executable)"


@cache
def supported_pythons() -> dict[str, str]:
    """Version, such as `3.13`, to program; one for each. Our own is always among them."""
    found: dict[str, str] = {}
    for candidate in _candidates():
        done = subprocess.run([candidate, "-I", "-c", _ASK], capture_output=True, text=True, timeout=20)
        if done.returncode:  # a shim of a version manager, for a version that is not there
            continue
        major, minor, program = done.stdout.split(maxsplit=2)
        if (int(major), int(minor)) >= OLDEST:
            found.setdefault(f"{major}.{minor}", program.strip())
    return found


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in range(OLDEST[1], OLDEST[1] + 8):
        program = shutil.which(f"python3.{minor}")
        if program:
            yield program
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(versions.glob("3.*/bin/python")))
