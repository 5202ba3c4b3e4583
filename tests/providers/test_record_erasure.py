"""A text that is erased wherever it stands is gone from records, their index, their counts and the ledger. Promises E1, E3 and E5."""

import threading
import time
import uuid

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub.digests import sha256_hex
from memoryhub.erasure import hold_copies
from providers import record_search
from providers.models import MemoryRecord
from tests.providers.record_desk import ALICE, BOB, RecordDesk
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_text_erasure import redact
from tests.world import Tenant


@pytest.fixture
def desk(committed: Tenant) -> RecordDesk:
    return RecordDesk(committed)


@pytest.fixture
def canary() -> str:
    """Another one in each test: committed rows stay."""
    return f"canary{uuid.uuid4().hex}"


def test_records_that_hold_a_text_are_forgotten_or_named(desk: RecordDesk, canary: str) -> None:
    held = [
        desk.save(f"It is {canary}."),
        desk.save("By its thread.", thread=canary),
        desk.save("By its author.", author=canary, of=BOB),
        desk.save("By its title.", title=f"On {canary}"),
        desk.save("By its tag.", tags=["one", canary]),
        desk.save("By its key.", key=canary),
    ]
    other = desk.save("Nothing of it.")
    planned = redact(desk.tenant, contains=canary, dry_run=True).body
    assert planned["counts"]["records_left"] == 6 and tables_with(canary)
    left = redact(desk.tenant, contains=canary).body
    assert {one["id"] for one in left["elsewhere"]["left"]} == set(held)
    assert left["elsewhere"]["left"][0] == {
        "type": "memory_record",
        "id": held[0],
        "agent": "support",
        "scope": "api/alice",
    }
    done = redact(desk.tenant, contains=canary, heads="delete").body
    assert {one["id"] for one in done["elsewhere"]["deleted"]} == set(held)
    assert tables_with(canary) == []
    assert desk.find("Nothing its thread author title tag key") == ["Nothing of it."]
    assert MemoryRecord.objects.get(scope=desk.row(ALICE), record_id=other).text == "Nothing of it."
    again = redact(desk.tenant, contains=canary, heads="delete").body
    assert again["counts"]["records_deleted"] == 0


def test_a_whole_text_is_found_by_its_digest(desk: RecordDesk, canary: str) -> None:
    desk.save(canary)
    desk.save(f"{canary} and more")
    done = redact(desk.tenant, content_sha256=sha256_hex(canary), heads="delete").body
    assert len(done["elsewhere"]["deleted"]) == 1
    assert tables_with(sha256_hex(canary)) == []
    assert desk.find(canary) == [f"{canary} and more"]


def test_records_of_another_environment_stay(desk: RecordDesk, committed: Tenant, canary: str) -> None:
    call = committed.caller("host", whole=True)
    scope = {"agent": "support", "principal": {"issuer": "api", "subject": "alice"}}
    body = {"environment": "production", "scope": scope, "text": canary}
    assert call("POST", "/v1/records/save", body, headers={"Idempotency-Key": "k"}).status == 201
    assert redact(desk.tenant, contains=canary, heads="delete").body["counts"]["records_deleted"] == 0
    assert MemoryRecord.objects.get(text=canary).forgotten_at is None


def test_an_erasure_waits_for_a_save_that_is_under_way(desk: RecordDesk, canary: str) -> None:
    """What was begun before the erasure is erased by it."""
    held, go = threading.Event(), threading.Event()

    def save() -> None:
        with atomic():
            hold_copies(desk.tenant.development.id)
            held.set()
            go.wait(10)
        connection.close()

    def erase() -> None:
        redact(desk.tenant, contains=canary, heads="delete")
        connection.close()

    desk.save(canary)
    saving, erasing = threading.Thread(target=save), threading.Thread(target=erase)
    saving.start()
    held.wait(10)
    erasing.start()
    erasing.join(0.5)
    assert erasing.is_alive(), "it did not wait"
    go.set()
    erasing.join(20)
    saving.join(20)
    assert desk.find(canary) == []


def test_a_forget_waits_for_a_count_so_that_no_forgotten_word_is_kept(
    desk: RecordDesk, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_search, "COUNTED_ROWS_MIN", 1)
    ids = [desk.save(f"{number} {canary}") for number in range(3)]
    desk.find(canary)
    counting, seconds = threading.Event(), 0.5
    rows = record_search._rows

    def slow(sql: str, values: object) -> list[object]:
        found = rows(sql, values)  # type: ignore[arg-type]
        if sql is record_search._SIZE:
            counting.set()
            time.sleep(seconds)
        return found

    def count() -> None:
        record_search.count_records(desk.row().id)
        connection.close()

    monkeypatch.setattr(record_search, "_rows", slow)
    thread = threading.Thread(target=count)
    thread.start()
    counting.wait(10)
    for number, record_id in enumerate(ids):
        desk.forget(record_id, key=f"f{number}")
    thread.join(20)
    assert tables_with(canary) == []


def test_the_trail_and_the_log_hold_nothing_of_a_record(desk: RecordDesk, canary: str) -> None:
    desk.save(canary)
    desk.find(canary)
    assert set(tables_with(canary)) == {"providers_memoryrecord", "providers_recordindex"}
