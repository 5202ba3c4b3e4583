"""`./hub export_store` and `./hub import_store`: the same verbs for who runs the hub, without the bound of a download."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.archives.written import export
from tests.world import Caller, Tenant, unused_id


def run(*arguments: str, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def archive(call: Caller, store_id: str, tmp_path: Path, settings: Any) -> Path:
    call("POST", f"/v1/memory_stores/{store_id}/memories", {"path": "/a", "content": "x"})
    settings.ARCHIVE_BYTES_MAX = 1
    said = run("export_store", store_id, str(tmp_path / "store.tar"))[1]
    assert said.startswith("1 memories, 1 versions, ")
    settings.ARCHIVE_BYTES_MAX = 10_000_000
    return tmp_path / "store.tar"


def test_the_command_writes_what_the_api_gives(call: Caller, store_id: str, archive: Path) -> None:
    assert archive.read_bytes() == export(call, store_id)


def test_a_store_is_imported_into_the_named_environment(
    committed: Tenant, call: Caller, store_id: str, archive: Path
) -> None:
    call("DELETE", f"/v1/memory_stores/{store_id}")
    place = {"project": committed.project.name, "environment": "production"}
    out, said = run("import_store", str(archive), **place, name="Copy")
    assert out == f"{store_id}\n"
    assert "memory_versions 1" in said
    production = Caller(committed.production_key)
    assert production("GET", f"/v1/memory_stores/{store_id}").body["name"] == "Copy"


def test_a_file_that_is_there_is_not_overwritten(store_id: str, archive: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(CommandError, match="cannot be written: File exists"):
        run("export_store", store_id, str(archive))
    assert archive.read_bytes() == before


def test_what_is_not_there_is_said_in_one_sentence(committed: Tenant, tmp_path: Path) -> None:
    place = {"project": committed.project.name, "environment": "development"}
    with pytest.raises(CommandError, match="There is no memory store"):
        run("export_store", unused_id("memstore"), str(tmp_path / "x"))
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_store", str(tmp_path / "missing"), **place)
    (tmp_path / "text").write_text("x")
    with pytest.raises(CommandError, match="archive: The archive is cut off after 1 bytes"):
        run("import_store", str(tmp_path / "text"), **place)
