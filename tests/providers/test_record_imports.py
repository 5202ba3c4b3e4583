"""Records of other products, imported over REST: what is counted, what is told, and what a repeat does."""

import io
import json
import zipfile
from typing import Any

import pytest

from memoryhub.actors import RecordScope
from memoryhub.models import AuditEvent
from providers import record_exports, record_imports, record_transfers_api
from providers.contract import Err, Ok, ProviderError, RecordRef
from providers.models import MemoryEffect, MemoryRecord
from tests.answers import Answer
from tests.providers.record_desk import ALICE, RecordDesk, Scripted, bind, unavailable
from tests.world import Caller, Tenant

QUERY = {"agent": "support", "issuer": "api", "subject": "alice"}
COUNTS = ("added", "present", "forgotten", "uncertain", "left_out", "refused", "left")


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


@pytest.fixture
def host(tenant: Tenant) -> Caller:
    return tenant.caller("host")


def send(call: Caller, source: str, content: Any, **query: Any) -> Answer:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return call(
        "POST",
        "/v1/records/import",
        raw=raw,
        content_type="application/octet-stream",
        query=QUERY | {"format": source} | query,
    )


def counts(answer: Answer) -> dict[str, int]:
    """Those that are not 0."""
    return {name: answer.body[name] for name in COUNTS if answer.body[name]}


def memory(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "memory": f"Fact number {number}."} | more


def rows(tenant: Tenant, of: RecordScope = ALICE) -> list[MemoryRecord]:
    return list(MemoryRecord.objects.filter(scope=RecordDesk(tenant).row(of)).order_by("id"))


# --- import ---


def test_a_dry_run_counts_and_changes_nothing(host: Caller, desk: RecordDesk) -> None:
    answer = send(host, "mem0", [memory(1), memory(2), {"id": "3"}], dry_run="true")
    assert answer.status == 200 and counts(answer) == {"added": 2, "refused": 1}
    assert answer.body["dry_run"] is True and answer.body["format"] == "mem0"
    assert answer.body["refusals"] == [
        {"where": "body, memory 3", "reason": "It has no memory, which is its text."}
    ]
    assert desk.find("fact") == []
    assert not AuditEvent.objects.filter(
        project=desk.tenant.project, action="memory_record.imported"
    ).exists()


def test_an_import_twice_adds_nothing(host: Caller, desk: RecordDesk) -> None:
    export = [memory(1, run_id="r", actor_id="Al", categories=["c"]), memory(2), memory(2)]
    first, again = send(host, "mem0", export), send(host, "mem0", export)
    assert counts(first) == {"added": 2, "present": 1} and counts(again) == {"present": 3}
    assert counts(send(host, "mem0", [*export, memory(3)])) == {"added": 1, "present": 3}
    held = rows(desk.tenant)
    assert [row.text for row in held] == ["Fact number 1.", "Fact number 2.", "Fact number 3."]
    assert (held[0].thread, held[0].author, held[0].tags, held[0].origin) == ("r", "Al", ["c"], "host")
    assert held[0].provenance["thread_id"] == "import"
    noted = AuditEvent.objects.filter(project=desk.tenant.project, action="memory_record.imported")
    assert [one.details["records"] for one in noted.order_by("id")] == [2, 1], "none for what added nothing"
    assert MemoryEffect.objects.filter(scope=desk.row()).count() == 3, "each is in the ledger"


def test_what_was_forgotten_stays_forgotten(host: Caller, desk: RecordDesk) -> None:
    send(host, "mem0", [memory(1), memory(2)])
    desk.forget(rows(desk.tenant)[0].record_id)
    for dry_run in ("true", "false"):
        answer = send(host, "mem0", [memory(1), memory(2)], dry_run=dry_run)
        assert counts(answer) == {"present": 1, "forgotten": 1}
    assert desk.find("fact") == ["Fact number 2."]


def test_what_was_changed_in_the_source_is_told_and_changes_nothing(host: Caller, desk: RecordDesk) -> None:
    send(host, "mem0", [memory(1)])
    answer = send(host, "mem0", [memory(1, memory="Other."), memory(2), memory(2, memory="Two.")])
    assert counts(answer) == {"added": 1, "refused": 2}
    assert {one["where"]: one["reason"] for one in answer.body["refusals"]} == {
        "body, memory 1": "Another record was saved under its id before; forget that one first, or leave this one out.",
        "body, memory 3": "The source gives another record under the same id.",
    }
    assert sorted(row.text or "" for row in rows(desk.tenant)) == ["Fact number 1.", "Fact number 2."]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"memory": "x" * 8_192}, None),
        ({"memory": "x" * 8_193}, "text must have 1 to 8192 bytes."),
        ({"memory": ""}, "text must have 1 to 8192 bytes."),
        ({"run_id": "x" * 256}, None),
        ({"run_id": "x" * 257}, "thread must have 1 to 256 bytes."),
        ({"actor_id": 7}, "author must be a string."),
        ({"categories": [str(number) for number in range(16)]}, None),
        ({"categories": [str(number) for number in range(17)]}, "tags has at most 16 items."),
        ({"categories": "x"}, "tags must be a list."),
    ],
)
def test_a_record_has_its_limits(host: Caller, fields: dict[str, Any], reason: str | None) -> None:
    for dry_run in ("true", "false"):
        answer = send(host, "mem0", [memory(1, **fields)], dry_run=dry_run)
        assert counts(answer) == ({"refused": 1} if reason else {"added": 1})
        assert [one["reason"] for one in answer.body["refusals"]] == ([reason] if reason else [])


def test_a_zip_of_notes_is_imported(host: Caller, desk: RecordDesk) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("notes/tea.md", "---\ntitle: Tea\n---\n- [taste] Green is best\n- likes [[Cups]]\n")
        archive.writestr("notes/tea.png", b"\x89PNG")
        archive.writestr("../up.md", b"x")
    answer = send(host, "basic_memory", made.getvalue())
    assert counts(answer) == {"added": 2, "refused": 2}
    assert {one["where"] for one in answer.body["refusals"]} == {"notes/tea.png", "../up.md"}
    assert desk.find("green cups") != []
    assert counts(send(host, "basic_memory", made.getvalue())) == {"present": 2, "refused": 2}


def test_what_is_wrong_with_the_source_saves_nothing(host: Caller, desk: RecordDesk) -> None:
    several = send(host, "mem0", [memory(1, user_id="a"), memory(2, user_id="b")])
    assert (several.status, several.error_code) == (400, "import_of_several_users")
    assert counts(send(host, "mem0", [memory(1, user_id="a"), memory(2, user_id="b")], user="b")) == {
        "added": 1,
        "left_out": 1,
    }
    assert [row.text for row in rows(desk.tenant)] == ["Fact number 2."]
    broken = send(host, "text", b"PK\x03\x04 and no more")
    assert (broken.status, broken.error_code) == (400, "import_invalid")


@pytest.mark.parametrize("count", [3, 4])
def test_an_import_has_so_many_records_and_no_more(
    host: Caller, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(record_transfers_api, "IMPORT_REQUEST_RECORDS_MAX", 3)
    answer = send(host, "mem0", [memory(number) for number in range(count)])
    if count == 3:
        assert counts(answer) == {"added": 3}
    else:
        assert (answer.status, answer.error_code) == (400, "import_too_large")
        assert desk.find("fact") == []


def test_so_many_refusals_are_listed_and_all_are_counted(
    host: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_imports, "IMPORT_REFUSALS_SHOWN_MAX", 2)
    for count in (2, 3):
        answer = send(host, "mem0", [{} for _ in range(count)])
        assert answer.body["refused"] == count and len(answer.body["refusals"]) == 2
        assert answer.body["has_more"] is (count == 3)


def test_batches_meet(host: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_imports, "LOOKED_AT_ONCE", 2)
    export = [memory(number) for number in (1, 2, 3, 1, 4, 5)]
    assert counts(send(host, "mem0", export)) == {"added": 5, "present": 1}
    assert counts(send(host, "mem0", export)) == {"present": 6}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"format": "notion"}, 400),
        ({"dry_run": "perhaps"}, 400),
        ({"agent": ""}, 400),
        ({"environment": "nowhere"}, 404),
        ({"subject": "é" * 200}, 400),
    ],
)
def test_a_query_is_read_strictly(host: Caller, query: dict[str, Any], status: int) -> None:
    assert send(host, "mem0", [memory(1)], **query).status == status


def test_the_content_type_says_bytes(host: Caller) -> None:
    answer = host("POST", "/v1/records/import", [memory(1)], query=QUERY | {"format": "mem0"})
    assert answer.status == 400 and "application/octet-stream" in answer.message


def test_a_body_has_its_limit(host: Caller, settings: Any) -> None:
    settings.ARCHIVE_BYTES_MAX = 1_024
    raw = json.dumps([memory(1)]).encode()
    assert send(host, "mem0", raw + b" " * (1_024 - len(raw))).status == 200
    assert send(host, "mem0", raw + b" " * (1_025 - len(raw))).status == 413


def test_an_agent_and_a_reader_import_nothing(tenant: Tenant) -> None:
    agent = tenant.caller("agent", record_scope=ALICE)
    for call in (agent, tenant.caller("read"), tenant.caller("review")):
        assert send(call, "mem0", [memory(1)]).status == 403
    assert agent("GET", "/v1/records/export", query=QUERY).status == 403


# --- a provider that is elsewhere ---


def elsewhere(monkeypatch: pytest.MonkeyPatch, provider: Any) -> None:
    monkeypatch.setattr(record_imports, "provider_of", lambda environment_id: bind(provider))


def test_an_import_stops_when_the_provider_does_not_serve_and_goes_on_later(
    host: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = [memory(number) for number in range(4)]
    elsewhere(monkeypatch, Scripted(Ok(RecordRef("r1", "1")), unavailable()))
    stopped = send(host, "mem0", export)
    assert stopped.status == 202 and counts(stopped) == {"added": 1, "uncertain": 1, "left": 3}
    assert stopped.body["stopped"].startswith("body, memory 2: The memory provider did not serve")
    again = send(host, "mem0", export)
    assert again.status == 202 and counts(again) == {"added": 2, "present": 1, "uncertain": 1}
    assert again.body["stopped"] is None, "what is uncertain waits for a person, and the rest goes on"


def test_what_the_provider_refuses_is_told(host: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, Scripted(Err(ProviderError("invalid", "Too long for me."))))
    answer = send(host, "mem0", [memory(1), memory(2)])
    assert answer.status == 200 and counts(answer) == {"added": 1, "refused": 1}
    assert answer.body["refusals"] == [{"where": "body, memory 1", "reason": "Too long for me."}]
    assert counts(send(host, "mem0", [memory(1), memory(2)], dry_run="true")) == {"added": 1, "present": 1}


def test_records_of_a_service_are_not_exported(host: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_exports, "provider_of", lambda environment_id: bind(Scripted()))
    answer = host("GET", "/v1/records/export", query=QUERY)
    assert (answer.status, answer.error_code) == (409, "records_elsewhere")
