"""The database and this version of the hub: newer data is refused, older data is backed up and migrated."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from psycopg import errors as postgres_errors

from memoryhub import backups
from memoryhub.data_version import newer_sentence, read_state
from memoryhub.exits import Exit, UpError

MIGRATION_LOCK = 0x6D68_7570  # an advisory lock: of several servers on one database one migrates


def bring_up_to_date(data_dir: Path, *, embedded: bool) -> None:
    """Migrate when something is pending, after a backup of the embedded database.

    Raises: UpError, EmbeddedError.
    """
    reach_database(embedded=embedded)
    if not has_pending(MigrationExecutor(connection), data_dir):
        return
    with _migration_lock():
        executor = MigrationExecutor(connection)  # read again: another server may have migrated meanwhile
        if not has_pending(executor, data_dir):
            return
        if embedded and executor.loader.applied_migrations:
            version = read_state(data_dir).get("version", "unknown")
            backups.back_up_before_upgrade(data_dir, version=str(version))
        _migrate()


def has_pending(executor: MigrationExecutor, data_dir: Path) -> bool:
    """Raises: UpError when the database has migrations this version does not know."""
    applied, known = executor.loader.applied_migrations, executor.loader.disk_migrations or {}
    if set(applied) - set(known):
        raise UpError(Exit.NEWER, newer_sentence("The database", read_state(data_dir)))
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def reach_database(*, embedded: bool) -> None:
    """Connect, and lift the bounds that are meant for requests. Raises: UpError."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
    except OperationalError as error:
        cause = (str(error).strip().splitlines() or ["no reason given"])[-1].strip().rstrip(".")
        name = "The embedded database" if embedded else "The database that DATABASE_URL names"
        raise UpError(Exit.DATABASE, f"{name} cannot be reached ({cause}): check that it runs.") from error


@contextmanager
def _migration_lock() -> Iterator[None]:
    """Of the session, not of a transaction: each migration has its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def _migrate() -> None:
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        if isinstance(error.__cause__, postgres_errors.DiskFull):
            raise UpError(
                Exit.DISK_FULL, "The disk of the database is full: free some space and start again."
            ) from error
        raise
