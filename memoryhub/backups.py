"""Dumps of a hub's database: pg_dump writes them, pg_restore reads them. Imports nothing of Django."""

import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoryhub.embedded import DiskFullError, EmbeddedError
from memoryhub.embedded.binaries import find_postgres_folder
from memoryhub.embedded.connections import database_settings
from memoryhub.embedded.folder import make_folder

UPGRADE_BACKUPS_MAX = 5
UPGRADE_PREFIX = "before-upgrade-"
DUMP_SECONDS_MAX = 3_600

type Database = dict[str, Any]
"""A fragment of Django's DATABASES: NAME, USER, PASSWORD, HOST, PORT, OPTIONS."""


def back_up_before_upgrade(data_dir: Path, *, version: str) -> Path:
    """Write the dump `backups/before-upgrade-<time>-<version that wrote the data>.dump`; the last five stay.

    Raises: EmbeddedError, DiskFullError: without it nothing is migrated.
    """
    path = new_backup_path(data_dir, UPGRADE_PREFIX, version)
    dump_database(database_settings(data_dir), path)
    others = sorted(set(path.parent.glob(f"{UPGRADE_PREFIX}*.dump")) - {path})
    for old in others[: 1 - UPGRADE_BACKUPS_MAX]:
        old.unlink()
    return path


def new_backup_path(data_dir: Path, prefix: str, version: str) -> Path:
    """In `backups/` of the data folder, which is made. Raises: FolderError, DiskFullError."""
    folder = data_dir / "backups"
    make_folder(folder, mode=0o700)
    return folder / f"{prefix}{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{version}.dump"


def dump_database(database: Database, path: Path) -> None:
    """Dump a running database in pg_dump's custom format: one moment of it, whole or not at all, mode 0600.

    Raises: EmbeddedError, DiskFullError.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)  # pg_dump keeps the mode
    except OSError as error:
        raise EmbeddedError(
            f"{partial} cannot be written ({error.strerror}): name a file in a folder that is yours."
        ) from error
    os.close(descriptor)
    done = _run_program("pg_dump", f"--file={partial}", "--format=custom", database=database)
    if done.returncode:
        partial.unlink(missing_ok=True)
        raise _dump_error(done.stderr, path)
    partial.rename(path)


def restore_database(database: Database, path: Path) -> None:
    """Read a dump into an empty database, whole or not at all.

    Raises: EmbeddedError, DiskFullError.
    """
    done = _run_program(
        "pg_restore",
        "--single-transaction",
        "--exit-on-error",
        "--no-owner",
        "--no-privileges",
        "--no-comments",  # an extension's is its owner's to make
        f"--dbname={database['NAME']}",
        str(path),
        database=database,
    )
    if done.returncode:
        raise _failure(done.stderr, f"The restore of {path} failed, so the database stays empty")


def list_migrations(path: Path) -> set[tuple[str, str]]:
    """(app, name) of each migration the dumped database had. Raises: EmbeddedError for a file that is no dump of a hub."""
    done = _run_program("pg_restore", "--data-only", "--table=django_migrations", "--file=-", str(path))
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    found = {(row[1], row[2]) for row in rows if len(row) == 4}
    if done.returncode or not found:
        raise EmbeddedError(f"{path} is no dump that a hub's backup wrote: name another file.")
    return found


def _run_program(
    name: str, *arguments: str, database: Database | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs. The connection stands in a private file: no argument shows a password."""
    with tempfile.NamedTemporaryFile("w", prefix="memoryhub-", encoding="utf-8") as service:
        environment = {"PATH": os.defpath, "LC_ALL": "C"}
        if database is not None:
            service.write(_service_text(database))
            service.flush()
            environment |= {"PGSERVICEFILE": service.name, "PGSERVICE": "hub"}
        return subprocess.run(
            [str(find_postgres_folder() / name), "--no-password", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=DUMP_SECONDS_MAX,
            check=False,
        )


def _service_text(database: Database) -> str:
    lines = [f"{name}={value}" for name, value in connection_parameters(database).items()]
    return "\n".join(["[hub]", *lines, ""])


def connection_parameters(database: Database) -> dict[str, str]:
    """The database in libpq's words; what is not named is left to libpq."""
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    values = {libpq: database[ours] for ours, libpq in named.items() if database[ours]}
    options: dict[str, str] = database["OPTIONS"]
    return values | options


def _dump_error(said: str, path: Path) -> EmbeddedError:
    if "No space left on device" in said:
        return DiskFullError(f"The backup {path} does not fit on the disk: free some space and start again.")
    return _failure(said, f"The backup {path} failed, so nothing was changed")


def _failure(said: str, what: str) -> EmbeddedError:
    lines = [line for line in said.strip().splitlines() if "error" in line.lower()] or ["it said nothing"]
    if "No space left on device" in said:
        return DiskFullError(f"{what}: the disk of the database is full.")
    return EmbeddedError(f"{what}: {lines[0].rstrip('.')}.")
