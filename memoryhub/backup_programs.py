"""`./hub backup [FILE]` and `./hub restore FILE`: programs of their own, for a database that may not run yet.

A backup is one dump of the database. The secrets of the data folder are not in it, so that the two can be kept apart.
Exit codes are those of `./hub up`; a restore whose rows break an invariant ends with 65.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import psycopg
import psycopg.conninfo

from memoryhub import __version__, backups, data_version
from memoryhub.backups import Database
from memoryhub.embedded import (
    EmbeddedPostgres,
    data_folder,
    database_settings,
    ensure_secrets,
    parse_database_url,
)
from memoryhub.environ import read_text
from memoryhub.exits import FORESEEN, ArgumentParser, Exit, UpError, explain_exit

BACKUP_PREFIX = "backup-"


def backup(arguments: list[str]) -> int:
    """Dump the database of the hub, running or not, and print the file's path."""
    parser = ArgumentParser(prog="./hub backup", description="Write a dump of the database.")
    parser.add_argument(
        "file", nargs="?", type=Path, help="left out: a new file in backups/ of the data folder"
    )
    return _answer(lambda: _back_up(parser.parse_args(arguments).file))


def restore(arguments: list[str]) -> int:
    """Read a dump into an empty data folder, or the empty database that DATABASE_URL names, and check it."""
    parser = ArgumentParser(prog="./hub restore", description="Read a dump into an empty hub.")
    parser.add_argument("file", type=Path, help="a dump that ./hub backup wrote")
    return _answer(lambda: _restore(parser.parse_args(arguments).file))


def _answer(run: Callable[[], None]) -> int:
    try:
        run()
    except FORESEEN as error:
        code, sentence = explain_exit(error)
        _tell(sentence)
        return code
    return 0


def _tell(sentence: str) -> None:
    sys.stderr.write(f"memoryhub: {sentence}\n")


def _back_up(file: Path | None) -> None:
    data_dir = data_folder()
    with _database(data_dir) as database:
        path = file.absolute() if file else backups.new_backup_path(data_dir, BACKUP_PREFIX, __version__)
        backups.dump_database(database, path)
    sys.stdout.write(f"{path}\n")
    _tell(f"Not in it, and needed beside it: {data_dir / 'secrets.json'}. Keep a copy of it apart.")


@contextmanager
def _database(data_dir: Path) -> Iterator[Database]:
    """The hub's database, started for the while when it does not run."""
    if url := read_text("DATABASE_URL"):
        yield parse_database_url(url)
    elif not (data_dir / "pgdata" / "PG_VERSION").exists():
        raise UpError(
            Exit.DATABASE, f"{data_dir} holds no database: set MEMORYHUB_DATA_DIR, or DATABASE_URL."
        )
    elif EmbeddedPostgres(data_dir).ready():
        yield database_settings(data_dir)
    else:
        with data_version.claim_folder(data_dir), _started_database(data_dir) as database:
            yield database


@contextmanager
def _started_database(data_dir: Path) -> Iterator[Database]:
    postgres = EmbeddedPostgres(data_dir)
    try:
        postgres.start()
        yield database_settings(data_dir)
    finally:
        postgres.stop()


def _restore(file: Path) -> None:
    data_dir = data_folder()
    if not os.access(file, os.R_OK):
        raise UpError(Exit.USAGE, f"{file} cannot be read: name a dump that ./hub backup wrote.")
    with data_version.claim_folder(data_dir):
        had_secrets = (data_dir / "secrets.json").exists()
        ensure_secrets(data_dir)
        with _restore_target(data_dir) as database:
            _restore_into(database, file, data_dir)
    _tell(f"Restored from {file} into {data_dir}; ./hub up starts it.")
    if not had_secrets:
        _tell(
            f"{data_dir / 'secrets.json'} is new: put the old hub's there before the start, if you have it."
        )


def _restore_target(data_dir: Path) -> AbstractContextManager[Database]:
    url = read_text("DATABASE_URL")
    return nullcontext(parse_database_url(url)) if url else _started_database(data_dir)


def _restore_into(database: Database, file: Path, data_dir: Path) -> None:
    _require_empty(database)
    _load_django()
    _refuse_newer(file)
    backups.restore_database(database, file)
    _bring_up_to_date(data_dir)
    _require_sound()


def _require_empty(database: Database) -> None:
    conninfo = psycopg.conninfo.make_conninfo(**backups.connection_parameters(database))
    try:
        with psycopg.connect(conninfo) as connection:
            found = connection.execute(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            ).fetchone()
    except psycopg.OperationalError as error:
        raise UpError(Exit.DATABASE, "The database cannot be reached: check that it runs.") from error
    if found and found[0]:
        raise UpError(
            Exit.FOREIGN_FOLDER, "The database is not empty: restore into an empty data folder or database."
        )


def _load_django() -> None:
    """Only now: the settings read the data folder."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    os.environ["MEMORYHUB_DATABASE_POOL_SIZE"] = "0"
    import django

    django.setup()


def _refuse_newer(file: Path) -> None:
    """Before anything is written. Raises: UpError when the dump has migrations this version does not know."""
    from django.db.migrations.loader import MigrationLoader

    known = MigrationLoader(None).disk_migrations or {}
    if backups.list_migrations(file) - set(known):
        raise UpError(Exit.NEWER, data_version.newer_sentence(str(file), {}))


def _bring_up_to_date(data_dir: Path) -> None:
    from memoryhub import migrating

    migrating.bring_up_to_date(data_dir, embedded=False)  # the dump itself is the backup


def _require_sound() -> None:
    from django.core.management import CommandError, call_command

    try:
        call_command("check_integrity", stdout=sys.stderr)
    except CommandError as error:
        raise UpError(Exit.FOREIGN_FOLDER, f"What was restored is damaged: {error}") from error
