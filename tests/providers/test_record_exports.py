"""Whole scopes of records: out of one hub and into another, over REST and on the hub's machine."""

import hashlib
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoryhub.source_files import OneFile
from providers.record_imports import ImportOrder, import_records
from providers.record_sources.exported import LINE_KEYS, closing_line, header_line, record_line
from providers.record_sources.items import Wishes
from tests.answers import Answer
from tests.providers.record_desk import BOB, RecordDesk, Scripted, unavailable
from tests.providers.test_record_imports import QUERY, counts, elsewhere, memory, rows, send
from tests.world import Caller, Tenant, make_tenant


@pytest.fixture
def tenant(committed: Tenant) -> Tenant:
    """An export reads a moment of its own, so what it reads is committed."""
    return committed


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


@pytest.fixture
def host(tenant: Tenant) -> Caller:
    return tenant.caller("host")


KEEP = ["  keep  ", "tab\there", "line\r\nend\r", "\u2028", "é vs e\u0301", "🙂", '"\\', "\x01", "a" * 8_192]


def export(call: Caller, **query: Any) -> Answer:
    return call("GET", "/v1/records/export", query=QUERY | query)


def test_an_export_holds_every_byte_of_every_record(host: Caller, desk: RecordDesk) -> None:
    ids_of = [desk.save(text, thread="t", author="a", title="n", tags=["x"]) for text in KEEP]
    desk.forget(desk.save("Forgotten."))
    desk.save("Of Bob.", of=BOB)
    answer = export(host)
    assert answer.status == 200 and answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.content.decode().split("\n")[:-1]]
    assert lines[0] == {
        "agent": "support",
        "format": "memoryhub.records",
        "format_version": 1,
        "scope": "api/alice",
    }
    assert [(line["id"], line["text"]) for line in lines[1:-1]] == list(zip(ids_of, KEEP, strict=True))
    assert lines[-1]["records"] == len(KEEP) == int(answer.headers["records"])
    assert export(host).content == answer.content, "the same bytes each time"


def test_an_export_is_imported_once_wherever_it_goes(host: Caller, desk: RecordDesk) -> None:
    for text in KEEP:
        desk.save(text, thread="t", author="a", title="n", tags=["x"], occurred_at=None)
    gone = desk.save("Forgotten later.")
    exported = export(host).content
    desk.forget(gone)
    assert counts(send(host, "memoryhub", exported)) == {"present": len(KEEP), "forgotten": 1}

    other = make_tenant()
    there = other.caller("host")
    assert counts(send(there, "memoryhub", exported)) == {"added": len(KEEP) + 1}
    assert counts(send(there, "memoryhub", exported)) == {"present": len(KEEP) + 1}
    here, moved = rows(desk.tenant)[: len(KEEP)], rows(other)[: len(KEEP)]
    for old, new in zip(here, moved, strict=True):
        kept = ("text", "origin", "thread", "author", "title", "tags", "occurred_at")
        assert [getattr(old, name) for name in kept] == [getattr(new, name) for name in kept]
        assert old.provenance is not None and new.provenance is not None
        came = f"import:memoryhub:{old.record_id}"
        assert new.provenance["event_ids"] == [*old.provenance["event_ids"], came]
    back = export(there).content
    assert counts(send(host, "memoryhub", back)) == {"present": len(KEEP), "forgotten": 1}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: lines[:-1], "The export is cut off"),
        (lambda lines: lines[:1] + lines[2:], "are not those that were exported"),
        (lambda lines: [*lines, lines[1]], "Something stands behind the end"),
        (lambda lines: lines[1:], "no export of records of a version"),
        (lambda lines: [lines[0], b" " + lines[1], *lines[2:]], "not in canonical form"),
        (lambda lines: [lines[0], b"x\n", *lines[2:]], "no line of an export"),
        (lambda lines: lines[:1], "The export is cut off after 1 lines"),
        (lambda lines: [lines[0], b'"' + b"x" * 131_072, *lines[2:]], "longer than 131072 bytes"),
    ],
)
def test_an_export_that_was_changed_saves_nothing(
    host: Caller, desk: RecordDesk, spoil: Callable[[list[bytes]], list[bytes]], message: str
) -> None:
    desk.save("One.")
    desk.save("Two.")
    lines = export(host).content.splitlines(keepends=True)
    answer = send(host, "memoryhub", b"".join(spoil(lines)), subject="bob")
    assert (answer.status, answer.error_code) == (400, "import_invalid")
    assert message in answer.message
    assert desk.find("one two", of=BOB) == []


def test_an_export_whose_text_was_changed_is_told(host: Caller, desk: RecordDesk) -> None:
    desk.save("One.")
    head, line, _ = export(host).content.splitlines(keepends=True)
    changed = line.replace(b"One.", b"Two.")
    digest = hashlib.sha256(head + changed).hexdigest()
    body = head + changed + f'{{"records":1,"sha256":"{digest}"}}\n'.encode()
    answer = send(host, "memoryhub", body)
    assert counts(answer) == {"refused": 1}
    assert answer.body["refusals"][0]["reason"] == "The record of this id says something else here."


def test_a_download_has_its_limit(host: Caller, desk: RecordDesk, settings: Any) -> None:
    desk.save("x" * 2_000)
    settings.ARCHIVE_BYTES_MAX = len(export(host).content)
    assert export(host).status == 200
    settings.ARCHIVE_BYTES_MAX = 2_000
    answer = export(host)
    assert (answer.status, answer.error_code) == (400, "archive_too_large")


def test_a_scope_that_was_never_written_exports_nothing(host: Caller) -> None:
    answer = export(host, subject="nobody")
    assert answer.headers["records"] == "0" and len(answer.content.splitlines()) == 2
    assert counts(send(host, "memoryhub", answer.content)) == {}


# --- on the hub's machine ---


def run(*arguments: str, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def place(tenant: Tenant) -> dict[str, str]:
    return {"project": tenant.project.name, "environment": "development", **QUERY}


def test_a_folder_is_imported_and_the_scope_exported(
    tmp_path: Path, place: dict[str, str], desk: RecordDesk
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Green tea.")
    (folder / "link").symlink_to("/etc/passwd")
    said, told = run("import_records", "text", str(folder), dry_run=True, **place)
    assert said.startswith("1 would be added, 0 there already") and "1 refused" in said
    assert told == "link: It is a link, and none is followed.\n"
    assert desk.find("tea") == []
    assert run("import_records", "text", str(folder), **place)[0].startswith("1 added")
    said, _ = run("import_records", "text", str(folder), json=True, **place)
    assert json.loads(said)["present"] == 1
    assert desk.find("tea") == ["Green tea."]
    file = tmp_path / "records.ndjson"
    assert run("export_records", str(file), **place)[1].startswith("1 records, ")
    bob = place | {"subject": "bob"}
    assert run("import_records", "memoryhub", str(file), **bob)[0].startswith("1 added")
    assert desk.find("tea", of=BOB) == ["Green tea."]
    with pytest.raises(CommandError, match="File exists"):
        run("export_records", str(file), **place)
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_records", "text", str(tmp_path / "nowhere"), **place)


def test_a_command_that_stopped_ends_badly(
    tmp_path: Path, place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere(monkeypatch, Scripted(unavailable()))
    (tmp_path / "e.json").write_text(json.dumps([memory(1), memory(2)]))
    with pytest.raises(CommandError, match="2 records are left: repeat the command"):
        run("import_records", "mem0", str(tmp_path / "e.json"), **place)


def test_an_export_need_not_fit_into_memory(desk: RecordDesk, tmp_path: Path) -> None:
    """24 MiB are read in a fraction of that."""
    digest, path = hashlib.sha256(), tmp_path / "records.ndjson"
    with path.open("wb") as file:
        for line in lines_of(3_000):
            file.write(line)
            digest.update(line)
        file.write(closing_line(3_000, digest.hexdigest()))
    order = ImportOrder("memoryhub", Wishes(None), dry_run=True, records_max=3_000)
    with path.open("rb") as file:
        tracemalloc.start()
        try:
            done = import_records(desk.wanted(), OneFile("records", file), order, actor=desk.actor)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (done.added, done.refused) == (3_000, 0)
    assert path.stat().st_size > 24_000_000 > 2 * peak


def lines_of(count: int) -> Iterator[bytes]:
    yield header_line("support", "api/alice")
    wire: dict[str, Any] = dict.fromkeys(LINE_KEYS)
    wire |= {"origin": "host", "version": "1", "tags": [], "provenance": {"thread_id": "t", "event_ids": []}}
    for number in range(count):
        yield record_line(wire | {"id": f"mrec_{number}", "text": f"{number} " + "x" * 8_000})
