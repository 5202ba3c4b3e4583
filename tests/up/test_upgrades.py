"""Data of an older version is backed up and migrated, data of a newer one is refused."""

import json
import os
import subprocess
from pathlib import Path

import psycopg

from memoryhub import backups
from memoryhub.embedded import EmbeddedError, EmbeddedPostgres, ensure_secrets
from memoryhub.exits import Exit
from tests.up.hubs import RunningHub, run_command, run_up
from tests.up.test_refusals import refuse


def make_older_folder(data_dir: Path) -> None:
    """As a version left it that knew one migration only, with one table of its own."""
    (data_dir / "hub.json").write_text(json.dumps({"data_format": 1, "version": "0.0.9"}))
    ensure_secrets(data_dir)
    postgres = EmbeddedPostgres(data_dir)
    postgres.start()
    done = run_command(data_dir, "migrate", "memoryhub", "0001")
    assert done.returncode == 0, done.stderr
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute("CREATE TABLE witness AS SELECT 'kept' AS word")
    postgres.stop()


def test_older_data_is_dumped_then_migrated_and_newer_data_is_refused(data_dir: Path) -> None:
    make_older_folder(data_dir)
    hub = RunningHub(data_dir)
    assert hub.is_ready()
    [dump] = (data_dir / "backups").iterdir()
    assert dump.name.startswith("before-upgrade-") and dump.name.endswith("-0.0.9.dump")
    assert dump.stat().st_mode & 0o777 == 0o600
    assert hub.stop() == (0, "")

    postgres = EmbeddedPostgres(data_dir)
    postgres.start()
    listed = subprocess.run(
        [postgres.program("pg_restore"), "--list", dump],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "TABLE DATA public witness" in listed.stdout
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('stores', '9999_future', now())"
        )
    postgres.stop()
    refuse(run_up(data_dir), Exit.NEWER, "The database", "newer MemoryHub")
    assert [path.name for path in (data_dir / "backups").iterdir()] == [dump.name]


def test_the_last_five_dumps_stay(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir)
    postgres.start()
    folder = data_dir / "backups"
    folder.mkdir()
    for day in range(1, 8):
        (folder / f"before-upgrade-2025010{day}T000000Z-0.0.{day}.dump").write_text("")
    (folder / "my-own.dump").write_text("")
    made = [backups.back_up_before_upgrade(data_dir, version="0.0.8") for _ in range(2)]
    names = sorted(os.listdir(folder))
    assert names[-3:] == [*(one.name for one in made), "my-own.dump"]
    assert len(names) == backups.UPGRADE_BACKUPS_MAX + 1
    for number in range(7):  # of a machine whose clock went before
        (folder / f"before-upgrade-2999010{number + 1}T000000Z-0.1.{number}.dump").write_text("")
    newest = backups.back_up_before_upgrade(data_dir, version="0.0.8")
    kept = sorted(folder.glob("before-upgrade-*"))
    assert kept[0] == newest and len(kept) == backups.UPGRADE_BACKUPS_MAX
    postgres.stop()


def test_a_dump_that_fails_leaves_nothing_and_says_why(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir)
    postgres.start()
    postgres.stop()
    try:
        backups.back_up_before_upgrade(data_dir, version="0.0.8")
    except EmbeddedError as error:
        assert str(error).startswith("The backup ") and str(error).endswith(".") and "\n" not in str(error)
    else:
        raise AssertionError("a dump of a server that does not run")
    assert list((data_dir / "backups").iterdir()) == []
