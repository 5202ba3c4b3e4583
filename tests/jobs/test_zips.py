"""The current files of a store as a ZIP."""

import io
import json
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.test import override_settings

from memoryhub.errors import NotFound
from stores import memory_versions, store_jobs
from tests.jobs.desk import Desk, chunks_of, file_of
from tests.world import make_tenant


def made(desk: Desk) -> bytes:
    done = desk.run(store_jobs.start_zip(desk.shelf.store_id, actor=desk.tenant.actor))
    assert (done.state, done.file_name) == ("done", "Notes.zip")
    assert done.file_bytes == len(file_of(done))
    return file_of(done)


def test_it_holds_the_current_texts_byte_by_byte_and_nothing_of_former_ones(desk: Desk) -> None:
    memory = desk.shelf.put("/a/b.md", "former")
    desk.shelf.update(memory, content=" two\r\nlines\u200b")
    gone = desk.shelf.put("/gone.md", "gone")
    desk.shelf.delete(gone)
    desk.shelf.put("/empty", "")
    with zipfile.ZipFile(io.BytesIO(made(desk))) as files:
        assert files.testzip() is None
        assert {name: files.read(name).decode() for name in files.namelist()} == {
            "a/b.md": " two\r\nlines\u200b",
            "empty": "",
        }
        [mode] = {member.external_attr >> 16 for member in files.infolist()}
        assert stat.S_ISREG(mode) and stat.S_IMODE(mode) == 0o644


def test_what_is_renamed_is_told(desk: Desk) -> None:
    for path in ("/Read.md", "/read.md", "/a?b"):
        desk.shelf.put(path, path)
    with zipfile.ZipFile(io.BytesIO(made(desk))) as files:
        told = json.loads(files.read("_renamed/names.json"))
        assert told == {"_renamed/0001-read.md": "/read.md", "a%3Fb": "/a?b"}
        for name, path in told.items():
            assert files.read(name).decode() == path


TOOLS = {
    "zipfile": [sys.executable, "-m", "zipfile", "-e", "x.zip", "out"],
    "unzip": ["unzip", "-q", "x.zip", "-d", "out"],
    "bsdtar": ["bsdtar", "-xf", "x.zip", "-C", "out"],
}


@pytest.mark.parametrize("tool", [name for name in TOOLS if name == "zipfile" or shutil.which(name)])
def test_a_tool_of_this_machine_unpacks_it_inside_the_folder(desk: Desk, tool: str, tmp_path: Path) -> None:
    paths = ["/Read.md", "/read.md", "/a/b", "/A", "/con", "/日本/é.md", "/end."]
    for path in paths:
        desk.shelf.put(path, path)
    archive, folder = tmp_path / "x.zip", tmp_path / "out"
    archive.write_bytes(made(desk))
    folder.mkdir()
    subprocess.run(TOOLS[tool], cwd=tmp_path, check=True, timeout=30)
    found = [file for file in folder.rglob("*") if file.is_file()]
    texts = [file.read_text() for file in found if file.name != "names.json"]
    assert sorted(texts) == sorted(paths)
    assert sorted(tmp_path.iterdir()) == [folder, archive]


def test_it_goes_when_text_of_the_store_is_erased(desk: Desk) -> None:
    memory = desk.shelf.put("/a.md", "the secret")
    job = desk.run(store_jobs.start_zip(desk.shelf.store_id, actor=desk.tenant.actor))
    assert job.file_bytes is not None
    former = desk.shelf.versions()[0]
    desk.shelf.update(memory, content="clean")
    memory_versions.redact_version(desk.shelf.store_id, former.wire_id, reason=None, actor=desk.tenant.actor)
    job.refresh_from_db()
    assert (job.file_bytes, job.file_removed, chunks_of(job)) == (None, "erased", 0)


def test_a_store_of_just_the_size_is_taken_and_one_of_a_byte_more_is_not(desk: Desk) -> None:
    desk.shelf.put("/a.md", "x" * 50_000)
    with override_settings(ARCHIVE_BYTES_MAX=50_000):
        made(desk)
    with override_settings(ARCHIVE_BYTES_MAX=49_999):
        failed = desk.run(store_jobs.start_zip(desk.shelf.store_id, actor=desk.tenant.actor))
    assert failed.state == "failed"
    assert "50000 bytes, more than the 49999" in failed.problem


def test_a_foreign_store_is_not_there(desk: Desk) -> None:
    with pytest.raises(NotFound):
        store_jobs.start_zip(desk.shelf.store_id, actor=make_tenant().actor)
