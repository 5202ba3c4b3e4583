"""A hub is backed up while it writes, and restored into an empty folder: same memories, same keys, nothing broken."""

import shutil
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from authority.canonical import parse
from memoryhub.embedded import EmbeddedPostgres
from memoryhub.exits import Exit
from tests.authority.doubles import entity
from tests.up.hubs import RunningHub, new_data_dir, run_command

MEMORIES_MIN = 20


def write_until(hub: RunningHub, store_id: str, done: threading.Event, written: list[str]) -> None:
    """Create memories one after the other; `written` gets the path of each that was acknowledged."""
    for number in range(5_000):
        if done.is_set():
            return
        path = f"/{number:05d}"
        status, _ = hub.call(
            "POST", f"/v1/memory_stores/{store_id}/memories", {"path": path, "content": path}
        )
        if status == 200:
            written.append(path)


def commit_until(hub: RunningHub, space: str, done: threading.Event, heads: list[dict[str, Any]]) -> None:
    """Put records into a space one after the other; `heads` gets the head of each commit that was acknowledged."""
    while not done.is_set():
        number = len(heads)
        put = parse(entity(f"note:{number}").text)
        body = {
            "actorId": "writer.backup",
            "changes": [{"kind": "put", "record": put, "v": 1}],
            "expectedHead": {
                name: heads[-1][name] if heads else empty
                for name, empty in (("operationSha256", None), ("sequence", 0))
            },
            "operationId": f"op_{number}",
            "v": 1,
        }
        status, _ = hub.call("POST", f"/v1/spaces/{space}/commit", body)
        assert status == 200
        heads.append(hub.call("GET", f"/v1/spaces/{space}/head")[1])


def wait_for_memories(written: list[str], count: int) -> None:
    done = threading.Event()
    for _ in range(600):
        if len(written) >= count:
            return
        done.wait(0.05)
    raise AssertionError(f"only {len(written)} memories were written")


def test_a_backup_under_load_is_restored_into_an_empty_folder(data_dir: Path, tmp_path: Path) -> None:
    data_dir /= "hub"
    hub = RunningHub(data_dir)
    store_id = hub.call("POST", "/v1/memory_stores", {"name": "Notes"})[1]["id"]
    written: list[str] = []
    done = threading.Event()
    writer = threading.Thread(target=write_until, args=(hub, store_id, done, written))
    place = {"spaceId": "backup", "realmId": "realm:b", "profileKind": "canonical", "authorityId": "label.b"}
    space = hub.call("POST", "/v1/spaces", place)[1]["id"]
    heads: list[dict[str, Any]] = []
    committer = threading.Thread(target=commit_until, args=(hub, space, done, heads))
    writer.start()
    committer.start()
    wait_for_memories(written, MEMORIES_MIN)
    before, heads_before = list(written), len(heads)
    file = tmp_path / "hub.dump"
    made = run_command(data_dir, "backup", str(file))
    during = len(written)
    wait_for_memories(written, during + MEMORIES_MIN)
    done.set()
    writer.join(30)
    committer.join(30)
    assert (made.returncode, made.stdout) == (0, f"{file}\n"), made.stderr
    assert f"{data_dir}/secrets.json" in made.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    secret = (data_dir / "secrets.json").read_text().split('"')[3]
    assert secret.encode() not in file.read_bytes()
    key = hub.facts["api_key"]
    assert hub.stop()[0] == 0

    with new_data_dir() as other:
        shutil.copy(data_dir / "secrets.json", other / "secrets.json")
        restored = run_command(other, "restore", str(file))
        assert restored.returncode == 0, restored.stderr
        assert "ok    version_content" in restored.stderr
        assert "secrets.json is new" not in restored.stderr
        second = RunningHub(other)
        status, page = second.call("GET", f"/v1/memory_stores/{store_id}/memories?limit=100", key=key)
        assert status == 200
        shown = [memory["path"] for memory in page["data"]]
        assert shown == written[: len(shown)]
        assert len(shown) >= min(len(before), 100)
        made_after = second.call(
            "POST", f"/v1/memory_stores/{store_id}/memories", {"path": "/new", "content": ""}, key=key
        )
        assert made_after[0] == 200  # numbers go on behind those of the dump
        assert second.call("GET", f"/v1/spaces/{space}/head", key=key)[1] in heads[heads_before - 1 :]
        assert second.call("POST", f"/v1/spaces/{space}/verify", key=key)[1]["faults"] == []
        checked = run_command(other, "check_integrity")
        assert (checked.returncode, "FAULT" in checked.stdout) == (0, False), checked.stdout
        again = run_command(other, "restore", str(file))
        assert again.returncode == Exit.BUSY
        assert second.stop()[0] == 0
        again = run_command(other, "restore", str(file))
        assert (again.returncode, "is not empty" in again.stderr) == (Exit.FOREIGN_FOLDER, True)


@pytest.fixture(scope="module")
def stopped() -> object:
    """A folder whose hub has ended, with its backup."""
    with new_data_dir() as folder:
        hub = RunningHub(folder / "hub")
        assert hub.stop()[0] == 0
        made = run_command(hub.data_dir, "backup")
        assert made.returncode == 0, made.stderr
        yield hub.data_dir, Path(made.stdout.strip())


def test_a_hub_that_does_not_run_is_backed_up_into_its_folder(stopped: tuple[Path, Path]) -> None:
    folder, file = stopped
    assert file.parent == folder / "backups"
    assert file.name.startswith("backup-") and file.name.endswith(".dump")
    assert EmbeddedPostgres(folder).pid() is None


def test_without_the_old_secrets_new_ones_are_made_and_said(
    stopped: tuple[Path, Path], data_dir: Path
) -> None:
    restored = run_command(data_dir, "restore", str(stopped[1]))
    assert restored.returncode == 0, restored.stderr
    assert f"{data_dir}/secrets.json is new" in restored.stderr
    assert EmbeddedPostgres(data_dir).pid() is None


def back_up_changed(folder: Path, file: Path, *changes: str) -> None:
    """A backup of the stopped hub with these changes, which are not kept in it."""
    postgres = EmbeddedPostgres(folder)
    postgres.start()
    change, undo = changes
    try:
        with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
            connection.execute("ALTER TABLE stores_memoryversion DISABLE TRIGGER USER")
            connection.execute(change)
            made = run_command(folder, "backup", str(file))
            connection.execute(undo)
    finally:
        postgres.stop()
    assert made.returncode == 0, made.stderr


def test_a_damaged_row_of_the_dump_is_named(
    stopped: tuple[Path, Path], data_dir: Path, tmp_path: Path
) -> None:
    file, content = tmp_path / "damaged.dump", "UPDATE stores_memoryversion SET content = "
    back_up_changed(stopped[0], file, f"{content} content || '!'", f"{content} left(content, -1)")
    restored = run_command(data_dir, "restore", str(file))
    assert restored.returncode == Exit.FOREIGN_FOLDER
    assert "FAULT version_content" in restored.stderr
    assert "What was restored is damaged" in restored.stderr


def test_a_dump_of_a_newer_version_is_refused_before_anything_is_written(
    stopped: tuple[Path, Path], data_dir: Path, tmp_path: Path
) -> None:
    file, named = tmp_path / "newer.dump", "'9999_future'"
    back_up_changed(
        stopped[0],
        file,
        f"INSERT INTO django_migrations (app, name, applied) VALUES ('stores', {named}, now())",
        f"DELETE FROM django_migrations WHERE name = {named}",
    )
    refused = run_command(data_dir, "restore", str(file))
    assert (refused.returncode, "newer MemoryHub" in refused.stderr) == (Exit.NEWER, True)
    postgres = EmbeddedPostgres(data_dir)
    postgres.start()
    with psycopg.connect(postgres.dsn()) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    postgres.stop()
    assert found == (0,)


def test_what_is_no_dump_is_refused(data_dir: Path, tmp_path: Path) -> None:
    missing = run_command(data_dir, "restore", str(tmp_path / "missing.dump"))
    assert (missing.returncode, "cannot be read" in missing.stderr) == (Exit.USAGE, True)
    file = tmp_path / "text.dump"
    file.write_text("not a dump")
    refused = run_command(data_dir, "restore", str(file))
    assert (refused.returncode, "is no dump" in refused.stderr) == (Exit.PART_FAILED, True)


def test_a_folder_without_a_database_and_a_file_that_cannot_be_written_are_refused(
    stopped: tuple[Path, Path], data_dir: Path, tmp_path: Path
) -> None:
    empty = run_command(data_dir, "backup")
    assert (empty.returncode, "holds no database" in empty.stderr) == (Exit.DATABASE, True)
    refused = run_command(stopped[0], "backup", str(tmp_path / "missing" / "hub.dump"))
    assert (refused.returncode, "cannot be written" in refused.stderr) == (Exit.PART_FAILED, True)
