"""The tools of records in a session whose environment keeps them at another service: between two transactions, once, and ended."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Gone
from providers import record_calls, record_effects, records, sessions, stale_calls
from providers.contract import Ok, RecordRef, refuse
from providers.guard import ScopedMemory
from providers.models import MemoryEffect, ProviderCall, RecalledItem, ToolCall
from providers.session_serializers import tool_call_wire
from tests.providers.record_desk import Scripted, bind, hits_of, unavailable
from tests.providers.record_sessions import ALICE, RecordSessions
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_text_erasure import redact
from tests.world import Tenant


@pytest.fixture
def notes(committed: Tenant) -> RecordSessions:
    return RecordSessions(committed)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return use(Scripted(), monkeypatch)


def use(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setattr(record_calls, "provider_of", lambda environment_id: bind(provider))
    monkeypatch.setattr(records, "find_provider", lambda name: bind(provider))
    return provider


def found(notes: RecordSessions, scripted: Scripted, *texts: str) -> None:
    """What the next searches find."""
    hits = hits_of(notes.desk.memory(scripted, notes.tenant_scope(ALICE)), scripted, *texts)
    scripted.hits = lambda k: hits[:k]


def test_a_save_is_sent_outside_of_any_transaction_and_told_once(
    notes: RecordSessions, scripted: Scripted
) -> None:
    states = []

    def look() -> None:
        states.append(ToolCall.objects.get(model_request__session__project=notes.tenant.project).state)
        connection.close()

    def answer() -> Any:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return Ok(RecordRef("r1", "1"))

    scripted.answers = [answer]
    session = notes.open()
    request = notes.begin(session)
    call = notes.call(session, request, "save_memory", call_id="c", text="Tea.")
    assert (call.state, call.output, call.arguments) == ("done", {"id": "r1", "version": "1"}, None)
    assert states == ["started"]  # another connection saw it: it was committed
    [record] = scripted.records
    assert (record.text, record.origin, record.thread) == ("Tea.", "user", session)
    assert notes.call(session, request, "save_memory", call_id="c", text="Tea.").output == call.output
    assert len(scripted.sent) == 1


def test_what_is_found_is_kept_beside_the_call(notes: RecordSessions, scripted: Scripted) -> None:
    session = notes.open()
    request = notes.begin(session)
    found(notes, scripted, "One.", "Two.")
    call = notes.search(session, request, "x")
    assert [item["text"] for item in tool_call_wire(call)["items"]] == ["One.", "Two."]
    assert notes.forget(session, request, "h1").output == "forgot h1"
    assert [one.text for one in notes.recall(session, "r2").items] == ["One."]


def test_an_uncertain_save_tells_so_and_waits_for_a_person(notes: RecordSessions, scripted: Scripted) -> None:
    scripted.answers = [unavailable()]
    session = notes.open()
    request = notes.begin(session)
    assert notes.save(session, request, "Tea.", call_id="c") == {"status": "uncertain"}
    assert notes.save(session, request, "Tea.", call_id="c") == {"status": "uncertain"}
    effect = MemoryEffect.objects.get(scope__project=notes.tenant.project)
    assert (effect.state, effect.created_by_type, len(scripted.sent)) == ("unknown", "session_actor", 1)


def test_a_forget_that_is_decided_later_takes_the_copies_then(
    notes: RecordSessions, scripted: Scripted
) -> None:
    session = notes.open()
    request = notes.begin(session)
    found(notes, scripted, "One.")
    notes.search(session, request, "x")
    scripted.answers = [unavailable()]
    assert notes.forget(session, request, "h0").output == {"status": "uncertain"}
    assert RecalledItem.objects.get(scope__project=notes.tenant.project).text == "One."
    effect = MemoryEffect.objects.get(scope__project=notes.tenant.project, state="unknown")
    record_effects.resolve_effect(effect.wire_id, decision="done", actor=notes.actor)
    assert RecalledItem.objects.get(scope__project=notes.tenant.project).text is None


def test_a_forget_that_was_sent_again_and_refused_hides_nothing(
    notes: RecordSessions, scripted: Scripted
) -> None:
    session = notes.open()
    request = notes.begin(session)
    found(notes, scripted, "One.")
    notes.search(session, request, "x")
    scripted.answers = [unavailable()]
    notes.forget(session, request, "h0")
    assert notes.search(session, request, "x").output == "no memories found", "it may be under way"
    effect = MemoryEffect.objects.get(scope__project=notes.tenant.project, state="unknown")
    scripted.answers = [refuse("It is kept.")]
    resolved = record_effects.resolve_effect(effect.wire_id, decision="not_done", actor=notes.actor)
    assert (resolved.state, (resolved.outcome or {})["code"]) == ("resolved", "invalid")
    call = notes.search(session, request, "x")
    assert [item["text"] for item in tool_call_wire(call)["items"]] == ["One."]


def test_what_is_forgotten_while_it_is_recalled_is_not_kept(
    notes: RecordSessions, scripted: Scripted
) -> None:
    session = notes.open()
    request = notes.begin(session)
    found(notes, scripted, "One.", "Two.")
    memory = notes.desk.memory(scripted, notes.tenant_scope(ALICE))
    hits = scripted.hits

    def meanwhile(k: int) -> Any:
        thread = threading.Thread(target=lambda: (memory.forget("h0", "f"), connection.close()))
        thread.start()
        thread.join()
        return hits(k)

    scripted.hits = meanwhile
    call = notes.search(session, request, "x")
    assert [item["text"] for item in tool_call_wire(call)["items"]] == ["Two."]
    assert call.output == "1 memories, shown below as untrusted references"


def test_who_comes_second_waits_for_the_first_and_sends_nothing(
    notes: RecordSessions, scripted: Scripted
) -> None:
    def slow() -> Any:
        time.sleep(0.5)
        return Ok(RecordRef("r1", "1"))

    scripted.answers = [slow]
    session = notes.open()
    request = notes.begin(session)
    outputs: list[Any] = []

    def call() -> None:
        try:
            outputs.append(notes.save(session, request, "Tea.", call_id="c"))
        finally:
            connection.close()

    threads = [threading.Thread(target=call) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert outputs == [{"id": "r1", "version": "1"}] * 4
    assert len(scripted.sent) == 1


def stop_before_sending(
    notes: RecordSessions, monkeypatch: pytest.MonkeyPatch, session: str, request: str, **arguments: Any
) -> ToolCall:
    """A call whose hub stopped when it had begun, long ago."""

    def stop(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(record_calls, "finish_elsewhere", stop)
        notes.call(session, request, "save_memory", call_id="left", **arguments)
    left = ToolCall.objects.filter(model_request__session__project=notes.tenant.project, call_id="left")
    left.update(created_at=ClockTimestamp() - timedelta(seconds=stale_calls.STALE_SECONDS + 1))
    return left.get()


def test_what_a_stopped_hub_left_is_ended_and_sent_at_most_once(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = notes.open()
    request = notes.begin(session)
    left = stop_before_sending(notes, monkeypatch, session, request, text="Tea.")
    assert left.state == "started"
    stale_calls.finish_stale()
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, left.output) == ("done", {"id": "r1", "version": "1"})
    assert len(scripted.sent) == 1


def test_a_save_keeps_the_origin_that_it_had_when_the_model_called(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = notes.open()
    request = notes.begin(session)
    stop_before_sending(notes, monkeypatch, session, request, text="Tea.")
    notes.search(session, request, "anything")  # from now on something untrusted is in the context
    stale_calls.finish_stale()
    [record] = scripted.records
    assert (record.origin, record.author) == ("user", "alice")
    notes.save(session, request, "Coffee.")
    assert scripted.records[-1].origin == "tool_output"


def test_no_write_is_sent_once_the_memory_is_declared_to_take_none(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = notes.open()
    left = stop_before_sending(notes, monkeypatch, session, notes.begin(session), text="Tea.")
    notes.declare("deny")
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, left.output, scripted.sent) == (
        "done",
        {"status": "rejected", "reason": "not_bound", "bound": []},
        [],
    )


@pytest.mark.parametrize("cut_off", ["revoked", "ended"])
def test_what_a_stopped_hub_left_is_not_sent_once_the_session_reaches_the_memory_no_more(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, cut_off: str
) -> None:
    session = notes.open()
    left = stop_before_sending(notes, monkeypatch, session, notes.begin(session), text="Tea.")
    if cut_off == "revoked":
        sessions.revoke_binding(session, "notes", actor=notes.actor)
    else:
        sessions.end_session(session, actor=notes.actor)
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, left.output) == ("done", {"status": "rejected", "reason": "session_closed"})
    assert (left.arguments, scripted.sent) == (None, [])
    assert not MemoryEffect.objects.filter(project=notes.tenant.project).exists()


def test_one_that_was_sent_before_the_stop_is_not_sent_again(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = notes.open()
    request = notes.begin(session)
    left = stop_before_sending(notes, monkeypatch, session, request, text="Tea.")
    memory = notes.desk.memory(scripted, notes.tenant_scope(ALICE))
    fields = {"text": "Tea.", "origin": "user", "provenance": {"thread_id": "x", "event_ids": []}}
    memory.remember(fields, f"{session}:{left.wire_id}")
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.output, len(scripted.sent)) == ({"id": "r1", "version": "1"}, 1)


def test_a_call_whose_text_was_erased_before_it_was_sent_is_ended_without_it(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = f"canary{notes.tenant.project.id.hex}"
    session = notes.open()
    left = stop_before_sending(notes, monkeypatch, session, notes.begin(session), text=canary)
    redact(notes.tenant, contains=canary)
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, left.output, scripted.sent) == ("done", None, [])
    with pytest.raises(Gone):
        notes.call(session, left.model_request.wire_id, "save_memory", call_id="left", text=canary)
    assert not ProviderCall.objects.filter(project=notes.tenant.project).exists()


def test_a_text_that_is_erased_just_before_it_is_sent_is_neither_sent_nor_kept_anew(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = f"canary{notes.tenant.project.id.hex}"

    def erase_first(*_: Any) -> None:
        redact(notes.tenant, contains=canary)

    monkeypatch.setattr(ScopedMemory, "find_written", erase_first)
    session = notes.open()
    request = notes.begin(session)
    with pytest.raises(Gone):
        notes.call(session, request, "save_memory", text=canary)
    call = ToolCall.objects.get(model_request__session__project=notes.tenant.project)
    assert (call.state, call.output, scripted.sent, tables_with(canary)) == ("done", None, [], [])
    assert not MemoryEffect.objects.filter(project=notes.tenant.project).exists()


def test_a_session_that_is_deleted_meanwhile_holds_up_no_other(
    notes: RecordSessions, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = notes.open(), notes.open()
    stop_before_sending(notes, monkeypatch, first, notes.begin(first), text="One.")
    ToolCall.objects.filter(call_id="left", model_request__session__project=notes.tenant.project).update(
        call_id="first"
    )
    left = stop_before_sending(notes, monkeypatch, second, notes.begin(second), text="Two.")
    find_written = ScopedMemory.find_written

    def delete_first(memory: ScopedMemory, tool: Any, key: str) -> Any:
        if key.startswith(first):
            sessions.delete_session(first, actor=notes.actor)
        return find_written(memory, tool, key)

    monkeypatch.setattr(ScopedMemory, "find_written", delete_first)
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, [one.text for one in scripted.records]) == ("done", ["Two."])
