"""A start that cannot be: one sentence on standard error, its exit code, and nothing changed."""

import fcntl
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from memoryhub.exits import Exit
from tests.up.hubs import ROOT, UP, clean_environment, run_command, run_up


def refuse(done: subprocess.CompletedProcess[str], code: Exit, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("memoryhub: ") and lines[0].endswith("."), done.stderr
    assert all(word in lines[0] for word in words), done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORYHUB_WEB_THREADS", "many"),
        ("MEMORYHUB_DATABASE_POOL_SIZE", "-1"),
        ("MEMORYHUB_BASE_URL", "example.org"),
        ("DATABASE_URL", "mysql://u:p@h/x"),
        ("MEMORYHUB_LOG_LEVEL", "loud"),
        ("MEMORYHUB_SECRET_KEY_FILE", "/nowhere/at/all"),
    ],
)
def test_a_bad_setting(data_dir: Path, name: str, value: str) -> None:
    refuse(run_up(data_dir, **{name: value}), Exit.SETTING, name)


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_a_bad_port(data_dir: Path, port: str) -> None:
    done = subprocess.run(
        UP,
        env=clean_environment(data_dir, PORT=port),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    refuse(done, Exit.SETTING, "PORT", port)


def test_a_host_that_is_not_ours(data_dir: Path) -> None:
    refuse(run_up(data_dir, MEMORYHUB_BIND_HOST="192.0.2.1"), Exit.SETTING, "MEMORYHUB_BIND_HOST")


def test_a_taken_port(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refuse(run_up(data_dir, "--port", port), Exit.PORT_TAKEN, port, "PORT=")
    assert not (data_dir / "pgdata").exists()


def test_a_wrong_argument(data_dir: Path) -> None:
    refuse(run_up(data_dir, "--jsno"), Exit.USAGE, "--jsno")


def test_a_foreign_folder_is_not_touched(data_dir: Path) -> None:
    (data_dir / "thesis.txt").write_text("mine")
    refuse(run_up(data_dir), Exit.FOREIGN_FOLDER, str(data_dir), "MEMORYHUB_DATA_DIR")
    assert [path.name for path in data_dir.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder(data_dir: Path) -> None:
    (data_dir / "data").write_text("")
    refuse(run_up(data_dir / "data"), Exit.FOREIGN_FOLDER, "not a folder")


def test_a_folder_that_cannot_be_made(data_dir: Path) -> None:
    refuse(run_up(Path("/proc/memoryhub")), Exit.FOLDER, "/proc/memoryhub")


def test_a_damaged_folder(data_dir: Path) -> None:
    (data_dir / "hub.json").write_text("{")
    refuse(run_up(data_dir), Exit.FOREIGN_FOLDER, "hub.json", "backup")


@pytest.mark.parametrize("data_format", [2, "one", None])
def test_a_folder_of_a_newer_version(data_dir: Path, data_format: object) -> None:
    (data_dir / "hub.json").write_text(json.dumps({"data_format": data_format, "version": "9.1.0"}))
    refuse(run_up(data_dir), Exit.NEWER, "9.1.0")


def test_a_folder_in_use(data_dir: Path) -> None:
    (data_dir / "hub.json").write_text('{"data_format": 1}')
    with open(data_dir / "up.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refuse(run_up(data_dir), Exit.BUSY, str(data_dir))


def test_missing_programs(data_dir: Path) -> None:
    refuse(run_up(data_dir, MEMORYHUB_PG_BIN="/nowhere"), Exit.PROGRAM_MISSING, "MEMORYHUB_PG_BIN")


def test_a_database_that_is_not_there(data_dir: Path) -> None:
    url = f"postgresql://u:hunter2@/x?host={data_dir}"
    done = run_up(data_dir, DATABASE_URL=url, REDIS_URL=os.environ["REDIS_URL"])
    refuse(done, Exit.DATABASE, "DATABASE_URL", "cannot be reached")
    assert "hunter2" not in done.stderr


def test_a_queue_that_is_not_there(data_dir: Path) -> None:
    done = run_up(data_dir, DATABASE_URL=os.environ["DATABASE_URL"], REDIS_URL=f"unix://{data_dir}/none.sock")
    refuse(done, Exit.DATABASE, "REDIS_URL", "cannot be reached")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("create_key --project default --scope bogus", "'bogus'"),
        ("create_key --scope read", "--project"),
        ("create_kye", "create_kye"),
        ("help", "./hub help"),
        ("restore", "file"),
        ("backup one two", "two"),
        ("up --jsno", "--jsno"),
    ],
)
def test_what_a_command_cannot_read(data_dir: Path, arguments: str, word: str) -> None:
    done = run_command(data_dir, *arguments.split(), MEMORYHUB_SECRET_KEY="x")
    refuse(done, Exit.USAGE, word, "./hub ")
    assert list(data_dir.iterdir()) == []


def test_every_command_shows_how_it_is_called(data_dir: Path) -> None:
    done = run_command(data_dir, "create_key", "--help", MEMORYHUB_SECRET_KEY="x")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ./hub create_key ") and "--settings" not in done.stdout


def test_commands_without_a_hub(data_dir: Path) -> None:
    refuse(run_command(data_dir / "none", "migrate"), Exit.SETTING, "./hub up")
    refuse(
        run_command(data_dir / "none", "migrate", PORT="http", MEMORYHUB_SECRET_KEY="x"), Exit.SETTING, "PORT"
    )
    refuse(
        run_command(data_dir / "none", "migrate", MEMORYHUB_SECRET_KEY="x", MEMORYHUB_DATABASE_POOL_SIZE="0"),
        Exit.DATABASE,
        "start the hub",
    )
