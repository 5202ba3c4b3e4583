"""Dumps of the embedded database: pg_dump writes them, pg_restore reads them. Imports nothing of Django."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from memoryhub.embedded import DiskFullError, EmbeddedError
from memoryhub.embedded.binaries import find_postgres_folder
from memoryhub.embedded.connections import database_settings
from memoryhub.embedded.folder import make_folder

UPGRADE_BACKUPS_MAX = 5
UPGRADE_PREFIX = "before-upgrade-"
DUMP_SECONDS_MAX = 3_600


def back_up_before_upgrade(data_dir: Path, *, version: str) -> Path:
    """Write the dump `backups/before-upgrade-<time>-<version that wrote the data>.dump`; the last five stay.

    Raises: EmbeddedError, DiskFullError: without it nothing is migrated.
    """
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = data_dir / "backups" / f"{UPGRADE_PREFIX}{time}-{version}.dump"
    make_folder(path.parent, mode=0o700)
    dump_database(data_dir, path)
    for old in sorted(path.parent.glob(f"{UPGRADE_PREFIX}*.dump"))[:-UPGRADE_BACKUPS_MAX]:
        old.unlink()
    return path


def dump_database(data_dir: Path, path: Path) -> None:
    """Dump the running embedded database in pg_dump's custom format, whole or not at all.

    Raises: EmbeddedError, DiskFullError.
    """
    database = database_settings(data_dir)
    partial = path.with_suffix(".partial")
    command = [
        str(find_postgres_folder() / "pg_dump"),
        "--format=custom",
        "--no-password",
        f"--file={partial}",
    ]
    identity = [f"--host={database['HOST']}", f"--port={database['PORT']}", f"--username={database['USER']}"]
    environment = {"PATH": os.defpath, "LC_ALL": "C", "PGPASSWORD": database["PASSWORD"]}
    descriptor = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)  # pg_dump keeps the mode
    os.close(descriptor)
    done = subprocess.run(
        [*command, *identity, database["NAME"]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DUMP_SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        partial.unlink(missing_ok=True)
        raise _dump_error(done.stderr, path)
    partial.rename(path)


def _dump_error(said: str, path: Path) -> EmbeddedError:
    if "No space left on device" in said:
        return DiskFullError(f"The backup {path} does not fit on the disk: free some space and start again.")
    cause = (said.strip().splitlines() or ["it said nothing"])[-1].rstrip(".")
    return EmbeddedError(f"The backup {path} failed, so nothing was changed: {cause}.")
