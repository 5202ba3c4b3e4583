"""Where the data folder is, and the secrets made in it once."""

import errno
import os
import pwd
import stat
from pathlib import Path
from threading import Thread

import pytest

from memoryhub.embedded import DiskFullError, FolderError, data_folder, ensure_secrets, folder, read_secrets
from memoryhub.environ import SettingError


def test_the_setting_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORYHUB_DATA_DIR", str(tmp_path / "a" / ".." / "b"))
    assert data_folder() == tmp_path / "b"


@pytest.mark.parametrize(("may_reach", "expected"), [(True, "project/data"), (False, "/var/lib/memoryhub")])
def test_without_it_the_project_holds_the_data_unless_postgres_could_not_reach_it(
    monkeypatch: pytest.MonkeyPatch, may_reach: bool, expected: str
) -> None:
    monkeypatch.delenv("MEMORYHUB_DATA_DIR")
    monkeypatch.setattr(folder, "project_folder", lambda: Path("project"))
    monkeypatch.setattr(folder, "run_as_user", lambda: pwd.getpwuid(os.getuid()))
    monkeypatch.setattr(folder, "can_reach", lambda path, user: may_reach)
    assert str(data_folder()) == expected


def test_reaching_a_folder_needs_every_one_above_it(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    stranger = pwd.struct_passwd(("s", "x", 54_321, 54_321, "", "/", "/bin/sh"))
    for path in (inner, *inner.parents):
        if path.stat().st_uid == os.getuid() and tmp_path.parent.parent in path.parents:
            path.chmod(0o711)
    inner.parent.chmod(0o700)
    assert not folder.can_reach(inner, stranger)
    assert folder.can_reach(inner, pwd.getpwuid(os.getuid()))


def test_secrets_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    made = ensure_secrets(tmp_path / "data")
    assert set(made) == set(folder.SECRET_NAMES) and len(set(made.values())) == len(made)
    assert ensure_secrets(tmp_path / "data") == made == read_secrets(tmp_path / "data")
    assert stat.S_IMODE((tmp_path / "data" / "secrets.json").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secrets.json"]


def test_a_secret_that_a_newer_version_needs_is_added_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text('{"secret_key": "kept"}')
    secrets = ensure_secrets(tmp_path)
    assert secrets["secret_key"] == "kept" and set(secrets) == set(folder.SECRET_NAMES)


def test_two_starts_at_once_agree(tmp_path: Path) -> None:
    found: list[dict[str, str]] = []
    threads = [Thread(target=lambda: found.append(ensure_secrets(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8 and all(secrets == found[0] for secrets in found)


def test_no_folder_no_secrets(tmp_path: Path) -> None:
    assert read_secrets(tmp_path / "none") == {}


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_damaged_secrets_are_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "secrets.json").write_text(content)
    with pytest.raises(SettingError, match="damaged"):
        ensure_secrets(tmp_path)
    assert (tmp_path / "secrets.json").read_text() == content


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DiskFullError, match="no room left"):
        ensure_secrets(tmp_path / "data")
    assert read_secrets(tmp_path / "data") == {}


def test_a_folder_that_cannot_be_made_is_one_sentence() -> None:
    with pytest.raises(FolderError, match="set MEMORYHUB_DATA_DIR"):
        ensure_secrets(Path("/proc/memoryhub"))
