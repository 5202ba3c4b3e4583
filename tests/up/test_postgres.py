"""The embedded PostgreSQL as real processes: made, found, killed, met by strangers."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memoryhub.embedded import BinaryMissingError, EmbeddedError, EmbeddedPostgres, FolderError, processes
from memoryhub.embedded.binaries import find_postgres_folder, reachable_folder
from memoryhub.embedded.folder import run_as_user
from tests.up.hubs import ROOT, clean_environment, command_line, new_data_dir


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    """One server for the tests of this file, with one table of 1,000 rows. Durable, as in life."""
    with new_data_dir() as folder:
        server = EmbeddedPostgres(folder / "data")
        server.start()
        with psycopg.connect(server.dsn()) as connection:
            connection.execute("CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) n")
        yield server
        server.stop()


@pytest.fixture(autouse=True)
def running(postgres: EmbeddedPostgres) -> None:
    postgres.start()


def count_rows(postgres: EmbeddedPostgres) -> int:
    with psycopg.connect(postgres.dsn()) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def kill(postgres: EmbeddedPostgres) -> int:
    pid = postgres.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert processes.wait_until(lambda: postgres.pid() is None, 5)
    return pid


def show(postgres: EmbeddedPostgres, name: str) -> str:
    with psycopg.connect(postgres.dsn()) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def test_it_is_durable_checked_and_on_no_port(postgres: EmbeddedPostgres) -> None:
    shown = {name: show(postgres, name) for name in ("fsync", "data_checksums", "listen_addresses")}
    assert shown == {"fsync": "on", "data_checksums": "on", "listen_addresses": ""}
    assert show(postgres, "full_page_writes") == show(postgres, "synchronous_commit") == "on"
    assert int(show(postgres, "max_connections")) == 100


def test_the_hubs_role_is_no_superuser_but_can_add_what_migrations_need(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
        assert connection.execute("SELECT current_setting('is_superuser')").fetchone() == ("off",)
        for extension in ("pg_trgm", "btree_gin", "unaccent"):
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")


def test_no_one_enters_without_the_password(postgres: EmbeddedPostgres) -> None:
    for user in ("memoryhub", "postgres"):
        for password in ("", "password=wrong"):
            with pytest.raises(psycopg.OperationalError, match=r"password"):
                psycopg.connect(f"host={postgres.sockets} user={user} dbname=memoryhub {password}")


def test_password_and_sockets_are_closed_to_others(postgres: EmbeddedPostgres) -> None:
    assert stat.S_IMODE((postgres.data_dir / "pg.password").stat().st_mode) == 0o600
    assert stat.S_IMODE(postgres.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(postgres.cluster.stat().st_mode) == 0o700


def test_the_log_holds_no_content(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE one (word text PRIMARY KEY)")
        connection.execute("INSERT INTO one VALUES ('quicksilver')")
        for statement in ("INSERT INTO one VALUES ('quicksilver')", "SELECT 'quicksilver' FROM nowhere"):
            with pytest.raises(psycopg.Error):
                connection.execute(statement)
    log = postgres.log.read_text()
    assert "duplicate key" in log and "quicksilver" not in log


def test_a_second_start_finds_the_running_server(postgres: EmbeddedPostgres) -> None:
    pid = postgres.pid()
    postgres.start()
    other = EmbeddedPostgres(postgres.data_dir)
    other.start()
    assert other.pid() == postgres.pid() == pid and other.ready()


def test_stopping_twice_and_starting_again(postgres: EmbeddedPostgres) -> None:
    postgres.stop()
    postgres.stop()
    assert postgres.pid() is None and not postgres.ready()
    postgres.start()
    assert count_rows(postgres) == 1000


def test_a_killed_postmaster_is_not_taken_for_a_running_one(postgres: EmbeddedPostgres) -> None:
    for _ in range(3):
        old = kill(postgres)
        assert not postgres.ready()
        postgres.start()
        assert postgres.pid() not in (None, old) and count_rows(postgres) == 1000


def test_backends_that_outlive_the_postmaster_are_ended(postgres: EmbeddedPostgres) -> None:
    with closing(psycopg.connect(postgres.dsn())) as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1000000000)")
        assert processes.wait_until(lambda: _busy_backends(postgres) == 1, 5)
        kill(postgres)
        postgres.start()
        assert _busy_backends(postgres) == 0 and count_rows(postgres) == 1000


def _busy_backends(postgres: EmbeddedPostgres) -> int:
    here = (pid for pid in processes.list_processes() if processes.folder_of(pid) == postgres.cluster)
    return sum("[local] SELECT" in command_line(pid) for pid in here)


@pytest.mark.parametrize("status", ["ready   ", "starting"])
def test_a_strangers_pid_in_the_pid_file_is_no_server(postgres: EmbeddedPostgres, status: str) -> None:
    pid_file = postgres.cluster / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    postgres.stop()
    owner = postgres.cluster.stat()
    for stranger in (os.getpid(), os.getppid(), 1):
        lines[0], lines[7] = str(stranger), status
        pid_file.write_text("\n".join(lines) + "\n")
        os.chown(pid_file, owner.st_uid, owner.st_gid)
        assert postgres.pid() is None
        postgres.start()
        assert postgres.pid() not in (None, stranger) and count_rows(postgres) == 1000
        postgres.stop()


def test_a_dead_server_that_nobody_collected_is_no_server(postgres: EmbeddedPostgres) -> None:
    """In a container nobody may collect orphans, and kill(pid, 0) says they live."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    assert processes.wait_until(lambda: not processes.is_running(child.pid), 5)
    os.kill(child.pid, 0)
    assert child.wait(5) == 0


def test_a_first_start_that_was_cut_off_is_made_again() -> None:
    with new_data_dir() as data_dir:
        (data_dir / "pgdata.new").mkdir()
        (data_dir / "pgdata.new" / "half").write_text("")
        server = EmbeddedPostgres(data_dir)
        server.start()
        assert server.ready() and not (data_dir / "pgdata.new").exists()
        server.stop()


@pytest.mark.parametrize("name", ["with space, and comma", "x" * 120])
def test_any_folder_name_will_do(name: str) -> None:
    with new_data_dir() as folder:
        server = EmbeddedPostgres(folder / name)
        server.start()
        try:
            with psycopg.connect(server.dsn()) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            with psycopg.connect(server.url()) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        finally:
            server.stop()
            shutil.rmtree(server.sockets.parent, ignore_errors=True)


def test_it_ends_with_the_process_that_started_it(postgres: EmbeddedPostgres) -> None:
    code = (
        "import os, sys, pathlib\nfrom memoryhub.embedded import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(pathlib.Path(sys.argv[1])); server.start(); print(server.pid(), flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    postgres.stop()
    done = subprocess.run(
        [sys.executable, "-c", code, str(postgres.data_dir)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=clean_environment(postgres.data_dir),
        timeout=30,
        check=False,
    )
    pid = int(done.stdout)
    assert processes.wait_until(lambda: not processes.is_running(pid), 10)
    assert "database system is shut down" in postgres.log.read_text().splitlines()[-1]


def test_a_server_that_does_not_start_says_why(postgres: EmbeddedPostgres) -> None:
    postgres.stop()
    broken = EmbeddedPostgres(postgres.data_dir, settings={"shared_buffers": "lots"})
    with pytest.raises(EmbeddedError, match=r"^PostgreSQL did not start: .*shared_buffers.*\.$"):
        broken.start()


def test_programs_of_another_version_are_one_sentence(postgres: EmbeddedPostgres) -> None:
    postgres.stop()
    version = postgres.cluster / "PG_VERSION"
    version.write_text("17\n")
    try:
        with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 17 and the programs here are 18"):
            postgres.start()
    finally:
        version.write_text("18\n")


def test_a_folder_without_programs_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORYHUB_PG_BIN", str(tmp_path))
    with pytest.raises(BinaryMissingError, match="MEMORYHUB_PG_BIN"):
        find_postgres_folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's PostgreSQL runs as another user")
def test_roots_postgres_runs_as_another_user_or_says_it_cannot(
    tmp_path: Path, postgres: EmbeddedPostgres
) -> None:
    pid = postgres.pid()
    assert (processes.PROC / str(pid)).stat().st_uid != 0
    tmp_path.chmod(0o700)
    with pytest.raises(FolderError, match="cannot be reached by"):
        EmbeddedPostgres(tmp_path / "data").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's PostgreSQL runs as another user")
def test_programs_in_a_closed_home_are_copied_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    user = run_as_user()
    assert user is not None
    tmp_path.chmod(0o700)
    package = find_postgres_folder().parent.parent
    for source in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(source, tmp_path / source.name, symlinks=True)
    closed = tmp_path / package.name / "pginstall" / "bin"
    with new_data_dir() as data_dir:
        copied = reachable_folder(closed, user, data_dir)
        assert data_dir in copied.parents and reachable_folder(closed, user, data_dir) == copied
        monkeypatch.setenv("MEMORYHUB_PG_BIN", str(closed))
        server = EmbeddedPostgres(data_dir)
        server.start()
        assert server.ready()
        server.stop()
