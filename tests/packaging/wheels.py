"""A wheel of this tree, and an environment that holds it and what it needs, without the test tools."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEP_SECONDS_MAX = 240
# What a build reads. A copy, so that it leaves nothing in the tree.
SOURCES = ("memoryhub", "stores", "providers", "authority", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class Installed:
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def size_bytes(self) -> int:
        """Of all files, as they are; the Python itself is not among them."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if path.is_file())

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python, with nothing of this tree or of our own settings in reach."""
        kept = {
            name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")
        }
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            env={**kept, "DJANGO_SETTINGS_MODULE": "memoryhub.settings", **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )


def build_wheel(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    _run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, *, python: str, folder: Path) -> Installed:
    """Into a new environment: the locked packages that run a hub, and then the wheel, which must need no others."""
    installed = Installed(folder / "venv")
    uv = [sys.executable, "-m", "uv"]
    _run([*uv, "venv", "--quiet", "--no-project", "--python", python, str(installed.folder)])
    into = ["--quiet", "--python", installed.python]
    _run([*uv, "pip", "sync", *into, "--require-hashes", str(ROOT / "requirements-server.lock")])
    _run([*uv, "pip", "install", *into, "--no-deps", str(wheel)])
    _run([*uv, "pip", "check", *into])
    return installed


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_SECONDS_MAX)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}"
