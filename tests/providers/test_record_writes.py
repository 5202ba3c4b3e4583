"""The write policy, and the queue of what waits for a person: parked, approved, rejected, expired, erased; in races too."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection

from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, Gone
from memoryhub.models import AuditEvent, SessionEvent
from providers import record_calls, record_effects, record_writes, records, sessions, tasks
from providers.contract import Ok, RecordRef
from providers.guard import ScopedMemory
from providers.limits import WAITING_WRITE_DAYS, WAITING_WRITES_MAX
from providers.models import MemoryEffect, MemoryRecord, RecalledItem, RecordWrite
from tests.answers import Answer, Call
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.providers.record_desk import Scripted, bind, unavailable
from tests.providers.record_sessions import ALICE, RecordSessions
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_text_erasure import redact
from tests.world import Tenant


@pytest.fixture
def notes(tenant: Tenant) -> RecordSessions:
    return RecordSessions(tenant, "ask")


def rows(notes: RecordSessions) -> list[MemoryRecord]:
    return list(MemoryRecord.objects.filter(scope__project=notes.tenant.project, forgotten_at=None))


def park(notes: RecordSessions, text: str = "Likes tea.") -> str:
    """The id of a write that waits."""
    session = notes.open(ALICE)
    output = notes.save(session, notes.begin(session), text)
    assert output["status"] == "pending", output
    return str(output["id"])


def in_state(notes: RecordSessions, write_id: str, state: str) -> RecordWrite:
    return record_writes.visible_writes(notes.actor).get(
        id=record_writes.get_write(write_id, actor=notes.actor).write.id, state=state
    )


# --- the policy ---


def test_a_write_is_asked_for_and_nothing_is_written(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    request = notes.begin(session)
    call = notes.call(session, request, "save_memory", call_id="c", text="Likes tea.")
    write = RecordWrite.objects.get(project=notes.tenant.project)
    assert call.output == {
        "status": "pending",
        "id": write.wire_id,
        "message": "A person decides whether this is done: the memory notes is declared with memoryWrite ask.",
    }
    assert (call.state, call.is_error, call.arguments) == ("done", False, None)
    assert rows(notes) == [] and not MemoryEffect.objects.filter(project=notes.tenant.project).exists()
    again = notes.call(session, request, "save_memory", call_id="c", text="Likes tea.")
    assert (
        again.output == call.output and RecordWrite.objects.filter(project=notes.tenant.project).count() == 1
    )
    event = SessionEvent.objects.get(session=write.session, type="memory.write_waiting")
    assert event.data == {"resource": "notes", "write_id": write.wire_id}


def test_on_a_clean_turn_a_principal_may_write_and_after_a_recall_a_person_is_asked(
    notes: RecordSessions,
) -> None:
    notes.declare("allow_principal")
    session = notes.open(ALICE)
    request = notes.begin(session)
    saved = notes.save(session, request, "Likes tea.")
    assert saved["version"] == "1"
    again = notes.open(ALICE)
    request = notes.begin(again)
    notes.search(again, request, "tea")
    assert notes.save(again, request, "Likes coffee.")["status"] == "pending"
    assert notes.forget(again, request, saved["id"]).output["status"] == "pending"
    unnamed = notes.open(None)
    assert notes.save(unnamed, notes.begin(unnamed), "x")["status"] == "pending"


def test_a_policy_that_is_changed_is_in_force_at_once(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    request = notes.begin(session)
    assert notes.save(session, request, "One.")["status"] == "pending"
    notes.declare("allow")
    assert notes.save(session, request, "Two.")["version"] == "1"
    notes.declare("ask")
    assert notes.save(session, request, "Three.")["status"] == "pending"


def test_a_session_has_a_limit_of_writes_that_wait(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    request = notes.begin(session)
    first = notes.save(session, request, "One.")["id"]
    write = in_state(notes, first, "waiting")
    for number in range(WAITING_WRITES_MAX - 1):
        call = notes.search(session, request, "x")
        RecordWrite.objects.create(
            project_id=write.project_id, scope=write.scope, session=write.session, tool_call=call,
            tool="save_memory", key=f"k{number}", state="waiting", expires_at=write.expires_at,
        )  # fmt: skip
    full = {"status": "rejected", "reason": "too_many_waiting"}
    assert notes.save(session, request, "One more.") == full
    record_writes.reject_write(first, actor=notes.actor)
    assert notes.save(session, request, "One more.")["status"] == "pending"
    assert notes.save(session, request, "And another.") == full


# --- decisions ---


def test_what_is_approved_is_remembered_as_the_session_said_it(notes: RecordSessions) -> None:
    write_id = park(notes)
    shown = record_writes.get_write(write_id, actor=notes.actor)
    assert shown.text == "Likes tea."
    done = record_writes.approve_write(write_id, actor=notes.actor).write
    [row] = rows(notes)
    session = done.session.wire_id
    assert (done.state, done.payload, done.outcome) == (
        "approved",
        None,
        {"id": row.record_id, "version": "1"},
    )
    assert (row.text, row.origin, row.author, row.thread) == ("Likes tea.", "user", "alice", session)
    effect = MemoryEffect.objects.get(scope__project=notes.tenant.project)
    assert (effect.created_by_type, effect.created_by_id) == ("session_actor", session)
    again = record_writes.approve_write(write_id, actor=notes.actor).write
    assert (again.decided_at, len(rows(notes))) == (done.decided_at, 1)
    with pytest.raises(Conflict) as refused:
        record_writes.reject_write(write_id, actor=notes.actor)
    assert refused.value.error_code == "write_decided"
    noted = AuditEvent.objects.get(project=notes.tenant.project, action="record_write.approved")
    assert (noted.subject_id, noted.actor_id) == (write_id, notes.actor.actor_id)
    event = SessionEvent.objects.get(session=done.session, type="memory.write_decided")
    assert event.data == {"resource": "notes", "write_id": write_id, "state": "approved"}


def test_of_what_is_rejected_nothing_is_written_or_kept(notes: RecordSessions) -> None:
    write_id = park(notes)
    record_writes.reject_write(write_id, actor=notes.actor)
    write = in_state(notes, write_id, "rejected")
    assert (write.payload, write.outcome, rows(notes)) == (None, None, [])
    record_writes.reject_write(write_id, actor=notes.actor)  # again: unchanged
    with pytest.raises(Conflict):
        record_writes.approve_write(write_id, actor=notes.actor)
    assert (
        AuditEvent.objects.filter(project=notes.tenant.project, action="record_write.rejected").count() == 1
    )


def test_a_forget_waits_with_the_text_that_it_would_forget(notes: RecordSessions) -> None:
    record_writes.approve_write(park(notes), actor=notes.actor)
    [row] = rows(notes)
    session = notes.open(ALICE)
    request = notes.begin(session)
    notes.search(session, request, "tea")
    write_id = notes.forget(session, request, row.record_id).output["id"]
    shown = record_writes.get_write(write_id, actor=notes.actor)
    assert (shown.text, shown.write.payload) == ("Likes tea.", {"id": row.record_id})
    assert len(rows(notes)) == 1
    record_writes.approve_write(write_id, actor=notes.actor)
    assert rows(notes) == []
    assert RecalledItem.objects.get(scope__project=notes.tenant.project).text is None


def test_a_write_is_decided_on_after_its_session_has_ended(notes: RecordSessions) -> None:
    write_id = park(notes)
    sessions.end_session(in_state(notes, write_id, "waiting").session.wire_id, actor=notes.actor)
    record_writes.approve_write(write_id, actor=notes.actor)
    assert len(rows(notes)) == 1
    assert not SessionEvent.objects.filter(
        session__project=notes.tenant.project, type="memory.write_decided"
    ).exists()


@pytest.mark.parametrize("ends", [False, True])
def test_once_its_memory_was_revoked_a_write_is_only_rejected(notes: RecordSessions, ends: bool) -> None:
    write_id = park(notes)
    session = in_state(notes, write_id, "waiting").session.wire_id
    sessions.revoke_binding(session, "notes", actor=notes.actor)
    if ends:
        sessions.end_session(session, actor=notes.actor)
    with pytest.raises(Conflict) as refused:
        record_writes.approve_write(write_id, actor=notes.actor)
    assert (refused.value.error_code, rows(notes)) == ("write_not_allowed", [])
    assert record_writes.reject_write(write_id, actor=notes.actor).write.state == "rejected"


def test_once_no_model_may_write_a_write_is_only_rejected(notes: RecordSessions) -> None:
    write_id = park(notes)
    notes.declare("deny")
    with pytest.raises(Conflict) as refused:
        record_writes.approve_write(write_id, actor=notes.actor)
    assert (refused.value.error_code, rows(notes)) == ("write_not_allowed", [])
    assert record_writes.reject_write(write_id, actor=notes.actor).write.state == "rejected"


def test_a_service_that_hangs_keeps_no_text_beyond_its_days(
    notes: RecordSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = in_state(notes, park(notes), "waiting")
    RecordWrite.objects.filter(id=write.id).update(expires_at=ClockTimestamp() - timedelta(seconds=1))

    def hang() -> None:
        raise SystemExit("the time of the job is over")

    monkeypatch.setattr(record_effects, "sweep_effects", hang)
    with pytest.raises(SystemExit):
        tasks.sweep_effects()
    assert in_state(notes, write.wire_id, "expired").payload is None


def test_what_waits_goes_with_its_session(notes: RecordSessions) -> None:
    write = in_state(notes, park(notes), "waiting")
    sessions.delete_session(write.session.wire_id, actor=notes.actor)
    assert not RecordWrite.objects.filter(id=write.id).exists()


@pytest.mark.parametrize("seconds", [60, -1])
def test_a_write_waits_for_its_days_and_no_longer(notes: RecordSessions, seconds: int) -> None:
    write_id = park(notes)
    write = in_state(notes, write_id, "waiting")
    assert write.expires_at - write.created_at == pytest.approx(
        timedelta(days=WAITING_WRITE_DAYS), abs=timedelta(seconds=1)
    )
    RecordWrite.objects.filter(id=write.id).update(expires_at=ClockTimestamp() + timedelta(seconds=seconds))
    if seconds < 0:
        with pytest.raises(Conflict):
            record_writes.approve_write(write_id, actor=notes.actor)
    record_writes.expire_writes()
    state = "waiting" if seconds > 0 else "expired"
    assert (in_state(notes, write_id, state).payload is None) == (seconds < 0)


def test_several_are_rejected_and_one_that_cannot_be_keeps_none_of_the_others(notes: RecordSessions) -> None:
    one, other, approved = park(notes), park(notes), park(notes)
    record_writes.approve_write(approved, actor=notes.actor)
    results = record_writes.reject_all([one, approved, "rwrite_" + "0" * 32, other], actor=notes.actor)
    assert [type(one.error).__name__ for one in results] == ["NoneType", "Conflict", "NotFound", "NoneType"]
    in_state(notes, one, "rejected")
    in_state(notes, other, "rejected")


# --- over REST ---


def test_the_queue_over_rest_takes_who_may_review(tenant: Tenant) -> None:
    notes = RecordSessions(tenant, "ask")
    write_id, other = park(notes), park(notes, "Likes coffee.")
    host, reviewer = tenant.caller("host"), tenant.caller("review")
    listed = host("GET", "/v1/records/writes", query={"state": "waiting"})
    assert [one["id"] for one in listed.body["data"]] == [other, write_id]
    waiting = host("GET", f"/v1/records/writes/{write_id}").body
    assert (waiting["text"], waiting["origin"], waiting["tool"]) == ("Likes tea.", "user", "save_memory")
    assert (waiting["agent"], waiting["scope"], waiting["resource"]) == ("default", "idp/alice", "notes")
    assert (waiting["state"], waiting["outcome"], waiting["decided_by"]) == ("waiting", None, None)
    assert host("POST", f"/v1/records/writes/{write_id}/approve").status == 403
    done = reviewer("POST", f"/v1/records/writes/{write_id}/approve").body
    assert (done["state"], done["outcome"], done["text"]) == ("approved", "done", None)
    assert done["record_id"] == rows(notes)[0].record_id and done["decided_by"]["type"] == "api_actor"
    assert reviewer("POST", f"/v1/records/writes/{other}/reject").body["state"] == "rejected"
    again = reviewer("POST", f"/v1/records/writes/{other}/approve")
    assert (again.status, again.error_code) == (409, "write_decided")
    assert host("GET", "/v1/records/writes", query={"state": "waiting"}).body["data"] == []
    assert host("GET", "/v1/records/writes", query={"state": "open"}).status == 400


# --- other providers ---


@pytest.fixture
def elsewhere(committed: Tenant, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    provider = Scripted()
    for module in (record_calls, record_writes):
        monkeypatch.setattr(module, "provider_of", lambda environment_id: bind(provider))
    return provider


def test_another_service_is_asked_once_it_is_approved(committed: Tenant, elsewhere: Scripted) -> None:
    notes = RecordSessions(committed, "ask")
    write_id = park(notes)
    assert elsewhere.sent == []
    done = record_writes.approve_write(write_id, actor=notes.actor).write
    assert (done.outcome, done.payload) == ({"id": "r1", "version": "1"}, None)
    record_writes.approve_write(write_id, actor=notes.actor)
    assert len(elsewhere.sent) == 1
    elsewhere.answers = [unavailable()]
    uncertain = record_writes.approve_write(park(notes), actor=notes.actor).write
    assert uncertain.outcome == {"status": "uncertain"}


def test_an_approval_that_a_stop_cut_off_is_carried_out_once(
    committed: Tenant, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = RecordSessions(committed, "ask")
    write_id = park(notes)

    def stop(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(record_writes, "_write_elsewhere", stop)
        record_writes.approve_write(write_id, actor=notes.actor)
    write = in_state(notes, write_id, "approved")
    assert write.outcome is None and elsewhere.sent == []
    record_writes.sweep_writes()
    assert elsewhere.sent == []  # whoever approved it may be at it
    RecordWrite.objects.filter(id=write.id).update(decided_at=ClockTimestamp() - timedelta(seconds=61))
    record_writes.sweep_writes()
    record_writes.sweep_writes()
    assert in_state(notes, write_id, "approved").outcome == {"id": "r1", "version": "1"}
    assert len(elsewhere.sent) == 1


def test_who_approves_while_it_is_sent_leaves_the_outcome_to_the_first(
    committed: Tenant, elsewhere: Scripted
) -> None:
    notes = RecordSessions(committed, "ask")
    write_id = park(notes)
    sending, goes_on = threading.Event(), threading.Event()

    def block() -> Any:
        sending.set()
        goes_on.wait(8)
        return Ok(RecordRef("r1", "1"))

    def approve_first() -> None:
        try:
            record_writes.approve_write(write_id, actor=notes.actor)
        finally:
            connection.close()

    elsewhere.answers = [block]
    first = threading.Thread(target=approve_first)
    first.start()
    try:
        assert sending.wait(8)
        second = record_writes.approve_write(write_id, actor=notes.actor).write
    finally:
        goes_on.set()
        first.join()
    assert (second.state, second.outcome) == ("approved", None)
    assert in_state(notes, write_id, "approved").outcome == {"id": "r1", "version": "1"}
    assert len(elsewhere.sent) == 1


def test_what_was_uncertain_gets_the_outcome_that_is_known_later(
    committed: Tenant, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "find_provider", lambda name: bind(elsewhere))
    notes = RecordSessions(committed, "ask")
    elsewhere.answers = [unavailable()]
    write_id = park(notes)
    assert record_writes.approve_write(write_id, actor=notes.actor).write.outcome == {"status": "uncertain"}
    record_writes.sweep_writes()
    assert in_state(notes, write_id, "approved").outcome == {"status": "uncertain"}
    effect = MemoryEffect.objects.get(scope__project=committed.project)
    record_effects.resolve_effect(effect.wire_id, decision="not_done", actor=notes.actor)
    record_writes.sweep_writes()
    assert in_state(notes, write_id, "approved").outcome == {"id": "r1", "version": "1"}
    assert len(elsewhere.sent) == 2


# --- erasure ---


def test_a_text_that_waits_is_erased_and_can_be_written_no_more(committed: Tenant) -> None:
    notes = RecordSessions(committed, "ask")
    canary = f"canary{committed.project.id.hex}"
    write_id = park(notes, f"It is {canary}.")
    assert tables_with(canary) == ["providers_recordwrite"]
    done = redact(committed, contains=canary).body
    assert done["elsewhere"]["copies"] == {"record_writes": 1}
    assert tables_with(canary) == []
    with pytest.raises(Conflict):
        record_writes.approve_write(write_id, actor=notes.actor)


def test_what_was_erased_between_approval_and_sending_ends_without_it(
    committed: Tenant, elsewhere: Scripted
) -> None:
    notes = RecordSessions(committed, "ask")
    write = in_state(notes, park(notes), "waiting")
    RecordWrite.objects.filter(id=write.id).update(payload=None)
    with pytest.raises(Gone):
        record_writes.approve_write(write.wire_id, actor=notes.actor)
    old = ClockTimestamp() - timedelta(seconds=61)
    RecordWrite.objects.filter(id=write.id).update(state="approved", decided_at=old)
    record_writes.sweep_writes()
    assert in_state(notes, write.wire_id, "approved").outcome == {"code": "invalid", "message": "erased"}
    assert elsewhere.sent == []


def test_what_is_erased_just_before_it_is_sent_is_neither_sent_nor_kept_anew(
    committed: Tenant, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = RecordSessions(committed, "ask")
    canary = f"canary{committed.project.id.hex}"
    write_id = park(notes, canary)

    def erase_first(*_: Any) -> None:
        redact(committed, contains=canary)

    monkeypatch.setattr(ScopedMemory, "find_written", erase_first)
    done = record_writes.approve_write(write_id, actor=notes.actor).write
    assert done.outcome == {"code": "invalid", "message": "erased"}
    assert (elsewhere.sent, tables_with(canary)) == ([], [])
    assert not MemoryEffect.objects.filter(project=committed.project).exists()


@pytest.mark.parametrize("taken", ["revoked", "denied"])
def test_what_may_not_be_written_any_more_just_before_it_is_sent_is_not_sent(
    committed: Tenant, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    notes = RecordSessions(committed, "ask")
    write_id = park(notes)
    session = in_state(notes, write_id, "waiting").session.wire_id

    def take_first(*_: Any) -> None:
        if taken == "revoked":
            sessions.revoke_binding(session, "notes", actor=notes.actor)
        else:
            notes.declare("deny")

    monkeypatch.setattr(ScopedMemory, "find_written", take_first)
    done = record_writes.approve_write(write_id, actor=notes.actor).write
    assert done.outcome is not None and done.outcome["code"] == "invalid"
    assert "nothing is written for it any more" in done.outcome["message"]
    assert (done.payload, elsewhere.sent) == (None, [])
    assert not MemoryEffect.objects.filter(project=committed.project).exists()


def test_what_was_sent_before_its_memory_was_revoked_keeps_its_outcome(
    committed: Tenant, elsewhere: Scripted
) -> None:
    notes = RecordSessions(committed, "ask")
    write_id = park(notes)
    write = in_state(notes, write_id, "waiting")

    def revoke() -> None:
        sessions.revoke_binding(write.session.wire_id, "notes", actor=notes.actor)
        connection.close()

    def revoke_meanwhile() -> Any:
        with ThreadPoolExecutor(1) as beside:
            beside.submit(revoke).result(8)
        return Ok(RecordRef("r1", "1"))

    elsewhere.answers = [revoke_meanwhile]
    done = record_writes.approve_write(write_id, actor=notes.actor).write
    assert done.outcome == {"id": "r1", "version": "1"}


def test_a_session_that_is_deleted_while_it_is_swept_holds_up_no_other(
    committed: Tenant, elsewhere: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = RecordSessions(committed, "ask")
    writes = [in_state(notes, park(notes, text), "waiting") for text in ("One.", "Two.")]
    for seconds, write in zip((90, 70), writes, strict=True):
        old = ClockTimestamp() - timedelta(seconds=seconds)
        RecordWrite.objects.filter(id=write.id).update(state="approved", decided_at=old)
    find_written = ScopedMemory.find_written

    def delete_first(memory: ScopedMemory, tool: Any, key: str) -> Any:
        if key == writes[0].key:
            sessions.delete_session(writes[0].session.wire_id, actor=notes.actor)
        return find_written(memory, tool, key)

    monkeypatch.setattr(ScopedMemory, "find_written", delete_first)
    record_writes.sweep_writes()
    assert [one.text for one in elsewhere.records] == ["Two."]
    assert in_state(notes, writes[1].wire_id, "approved").outcome == {"id": "r1", "version": "1"}


# --- at the same moment ---


def test_of_those_who_decide_at_once_one_does(live: LiveHub, live_tenant: Tenant) -> None:
    notes = RecordSessions(live_tenant, "ask")
    for _ in range(3):
        before = len(rows(notes))
        write_id = park(notes)
        answers: list[Answer] = []
        lock = threading.Lock()

        def decide(word: str, call: Call, url: str, into: list[Answer], held: threading.Lock) -> None:
            answer = call("POST", f"{url}/{word}")
            with held:
                into.append(answer)

        url = f"/v1/records/writes/{write_id}"
        acts: list[Callable[[], None]] = [
            partial(decide, word, live.caller(live_tenant.key), url, answers, lock)
            for word in ("approve", "reject") * 4
        ]
        run_together(acts)
        state = record_writes.get_write(write_id, actor=notes.actor).write.state
        assert sorted(answer.status for answer in answers) == [200] * 4 + [409] * 4
        assert len(rows(notes)) - before == (state == "approved")
