"""A session's token remembers, recalls and forgets as the session's model does: its scope, its access, its policy, its end."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memoryhub import keys
from memoryhub.errors import AuthenticationFailed
from memoryhub.integrity import check_all
from memoryhub.models import ApiKey, AuditEvent, SessionEvent
from providers import (
    record_calls,
    record_vectors,
    record_writes,
    records,
    session_tokens,
    sessions,
    stale_calls,
)
from providers.contract import Ok, RecordRef
from providers.models import MemoryRecord, ModelRequest, RecordWrite, ToolCall
from providers.record_access import WantedScope
from tests.answers import Answer
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.providers.embeddings import PATH, Meanings
from tests.providers.record_desk import Scripted, bind, unavailable
from tests.providers.record_sessions import ALICE, BOB, RecordSessions
from tests.world import Caller, Tenant, make_tenant

READS = {"notes": {"scope": "records"}}
SCOPE = {"agent": "default", "principal": {"issuer": "idp", "subject": "alice"}}


@pytest.fixture
def notes(tenant: Tenant) -> RecordSessions:
    return RecordSessions(tenant)


class Runner:
    """What runs a session, with a token of it."""

    def __init__(self, notes: RecordSessions, session: str | None = None, **more: Any) -> None:
        self.notes, self.session = notes, session or notes.open(**more)
        issued = session_tokens.create_token(self.session, seconds=600, actor=notes.actor)
        self.token, self.token_id = issued.secret, issued.key.wire_id
        self.call = Caller(issued.secret)
        self.keys = 0

    def _write(self, name: str, body: dict[str, Any], key: str | None) -> Answer:
        self.keys += 1
        headers = {"Idempotency-Key": key or f"k{self.keys}"}
        return self.call("POST", f"/v1/records/{name}", body, headers=headers)

    def save(self, text: str, key: str | None = None, **more: Any) -> Answer:
        return self._write("save", {"text": text} | more, key)

    def forget(self, record_id: str, key: str | None = None, **more: Any) -> Answer:
        return self._write("forget", {"id": record_id} | more, key)

    def search(self, query: str, **more: Any) -> Answer:
        return self.call("POST", "/v1/records/search", {"query": query} | more)

    def find(self, query: str) -> list[str]:
        return [hit["text"] for hit in self.search(query).body["hits"]]


@pytest.fixture
def runner(notes: RecordSessions) -> Runner:
    return Runner(notes)


def rows(notes: RecordSessions) -> list[MemoryRecord]:
    return list(MemoryRecord.objects.filter(project=notes.tenant.project).order_by("id"))


def test_it_remembers_recalls_and_forgets_for_the_sessions_principal(
    notes: RecordSessions, runner: Runner
) -> None:
    saved = runner.save(
        "Prefers tea at four.", title="Tea", tags=["drinks"], occurred_at="2026-01-02T03:04:05Z"
    )
    assert saved.status == 201, saved.body
    [row] = rows(notes)
    assert saved.body == {"id": row.record_id, "version": "1"}
    assert (row.thread, row.author, row.origin, row.title, row.tags) == (
        runner.session,
        None,
        "model",
        "Tea",
        ["drinks"],
    )
    assert row.scope.scope == ALICE.scope and row.occurred_at is not None
    later = Runner(notes)
    found = later.search("tea").body
    assert [(hit["id"], hit["text"], hit["origin"]) for hit in found["hits"]] == [
        (row.record_id, "Prefers tea at four.", "model")
    ]
    assert found["references"].startswith("<reference") and found["cut"] == {"k": 0, "bytes": 0}
    assert later.forget(row.record_id).status == 204
    assert (later.find("tea"), runner.find("tea")) == ([], [])
    trail = AuditEvent.objects.filter(project=notes.tenant.project, action__startswith="memory_record.")
    assert [
        (one.action, one.actor_type, one.actor_id, one.details["token_id"])
        for one in trail.order_by("number")
    ] == [
        ("memory_record.saved", "session_actor", runner.session, runner.token_id),
        ("memory_record.forgotten", "session_actor", later.session, later.token_id),
    ]
    events = SessionEvent.objects.filter(session__project=notes.tenant.project).order_by("id")
    assert [one.type for one in events] == ["memory.saved", "memory.forgotten"]


def test_a_scope_in_the_body_is_refused_whatever_else_is_wrong(runner: Runner) -> None:
    bodies = {"save": {"text": "x", "thread": "t"}, "search": {"query": "x"}, "forget": {"id": "x"}}
    for name, body in bodies.items():
        answer = runner.call("POST", f"/v1/records/{name}", body | {"scope": SCOPE})
        assert (answer.status, answer.error_code) == (403, "scope_violation"), name
    assert not ToolCall.objects.filter(model_request__session__project=runner.notes.tenant.project).exists()


def test_an_environment_that_is_not_its_own_is_not_there(runner: Runner) -> None:
    own, other = runner.notes.tenant.development.wire_id, runner.notes.tenant.production.wire_id
    assert runner.search("x", environment=own).status == 200
    assert runner.search("x", environment=other).status == 404
    assert runner.save("x", environment=other).status == 404


def test_no_other_session_principal_environment_or_project_is_reached(
    notes: RecordSessions, runner: Runner
) -> None:
    record_id = runner.save("Alice likes tea.").body["id"]
    abroad, production = RecordSessions(make_tenant()), RecordSessions(notes.tenant)
    production.environment = notes.tenant.production.wire_id
    production.declare("allow")
    strangers = [
        Runner(notes, principal=BOB),
        Runner(notes, principal=None),
        Runner(production),
        Runner(abroad),
    ]
    for stranger in strangers:
        assert stranger.find("tea") == []
        foreign = stranger.forget(record_id)
        assert foreign.status == 422
        unknown = stranger.forget("mrec_" + "0" * 24)
        assert foreign.message.replace(record_id, "") == unknown.message.replace("mrec_" + "0" * 24, "")
    assert runner.find("tea") == ["Alice likes tea."]


def test_a_record_that_the_session_was_not_given_is_not_forgotten(
    notes: RecordSessions, runner: Runner
) -> None:
    record_id = runner.save("Likes tea.").body["id"]
    refused = Runner(notes).forget(record_id)
    assert (refused.status, refused.error_code) == (422, "invalid")
    assert refused.message == f"not_found: memory {record_id} was not recalled in this thread"
    assert runner.find("tea") == ["Likes tea."]


@pytest.mark.parametrize("memory", [{}, {"playbook": {"scope": "collection"}}])
def test_a_session_that_binds_no_records_reaches_none(notes: RecordSessions, memory: dict[str, Any]) -> None:
    if memory:
        from tests.providers.desk import Desk

        Desk(notes.tenant).declare()
    runner = Runner(notes, memory=memory, principal=None)
    for answer in (runner.save("x"), runner.search("x"), runner.forget("x")):
        assert (answer.status, answer.error_code) == (403, "records_not_bound")


def test_a_binding_that_was_revoked_reaches_none(notes: RecordSessions, runner: Runner) -> None:
    sessions.revoke_binding(runner.session, "notes", actor=notes.actor)
    for answer in (runner.save("x"), runner.search("x"), runner.forget("x")):
        assert (answer.status, answer.error_code) == (403, "records_not_bound")


def test_with_read_access_or_a_policy_that_denies_it_only_searches(
    notes: RecordSessions, runner: Runner
) -> None:
    record_id = runner.save("Likes tea.").body["id"]
    reading = Runner(notes, memory=READS)
    notes.declare("deny")
    for one in (reading, runner):
        assert one.find("tea") == ["Likes tea."]
        for answer in (one.save("x"), one.forget(record_id)):
            assert (answer.status, answer.error_code) == (403, "records_read_only")
    assert len(rows(notes)) == 1


@pytest.mark.parametrize("policy", ["ask", "allow_principal"])
def test_a_write_that_waits_is_answered_as_the_models_tool_answers(
    notes: RecordSessions, policy: str
) -> None:
    notes.declare(policy)
    runner = Runner(notes)
    notes.recall(
        runner.session
    )  # a principal's input, and yet the hub cannot know whose words a token brings
    saved = runner.save("Likes tea.", "k", title="Tea")
    write = RecordWrite.objects.get(session__project=notes.tenant.project)
    assert (saved.status, saved.body["status"], saved.body["id"]) == (202, "pending", write.wire_id)
    assert f"memoryWrite {policy}" in saved.body["message"]
    assert runner.save("Likes tea.", "k", title="Tea").body == saved.body
    listed = Caller(notes.tenant.key)("GET", "/v1/records/writes?state=waiting").body["data"]
    assert [(one["text"], one["title"], one["origin"]) for one in listed] == [("Likes tea.", "Tea", "model")]
    assert (runner.find("tea"), rows(notes)) == ([], [])
    record_writes.approve_write(write.wire_id, actor=notes.actor)
    done = runner.save("Likes tea.", "k", title="Tea")
    [row] = rows(notes)
    assert (done.status, done.body["id"], row.title, row.thread) == (
        200,
        row.record_id,
        "Tea",
        runner.session,
    )
    assert runner.find("tea") == ["Likes tea."]
    forgotten = runner.forget(row.record_id, "f")
    assert (forgotten.status, forgotten.body["status"]) == (202, "pending")
    record_writes.reject_write(forgotten.body["id"], actor=notes.actor)
    again = runner.forget(row.record_id, "f")
    assert (again.status, again.error_code) == (409, "write_decided")
    assert runner.find("tea") == ["Likes tea."]


def test_no_more_wait_than_may(notes: RecordSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    from providers import waiting_writes

    monkeypatch.setattr(waiting_writes, "WAITING_WRITES_MAX", 1)
    notes.declare("ask")
    runner = Runner(notes)
    assert runner.save("One.").status == 202
    refused = runner.save("Two.", "k")
    assert (refused.status, refused.error_code) == (400, "too_many_waiting")
    [write] = RecordWrite.objects.filter(session__project=notes.tenant.project)
    record_writes.reject_write(write.wire_id, actor=notes.actor)
    assert runner.save("Two.", "k").status == 202, "the same key may try again: nothing was done under it"


def test_under_one_key_a_write_is_done_once_in_its_scope(notes: RecordSessions, runner: Runner) -> None:
    first = runner.save("Tea.", "k")
    again = runner.save("Tea.", "k")
    assert (first.status, again.status, again.body) == (201, 200, first.body)
    for other in (runner.save("Coffee.", "k"), runner.save("Tea.", "k", title="T")):
        assert (other.status, other.error_code) == (422, "invalid")
    runner.search("tea")
    assert [runner.forget(first.body["id"], "k").status for _ in range(2)] == [204, 204]
    assert runner.save("Tea.", "k").body == first.body, "its key is known for ever, and it stays forgotten"
    assert runner.find("tea") == []
    notes.recall(runner.session, principal=BOB)
    assert runner.save("Coffee.", "k").status == 201, "of another scope, which has keys of its own"
    missing = runner.call("POST", "/v1/records/save", {"text": "x"})
    assert (missing.status, missing.error_code) == (400, "idempotency_key_required")


def test_it_acts_for_whose_input_is_current(notes: RecordSessions, runner: Runner) -> None:
    runner.save("Alice likes tea.")
    notes.recall(runner.session, "r1", principal=BOB)
    assert runner.find("tea") == []
    runner.save("Bob likes tea.")
    notes.recall(runner.session, "r2", text=None)
    assert runner.find("tea") == ["Bob likes tea."], "a request without input goes on with the last one"
    notes.recall(runner.session, "r3")
    assert runner.find("tea") == ["Alice likes tea."]
    scopes = {row.scope.scope for row in rows(notes)}
    assert scopes == {ALICE.scope, BOB.scope}


def test_what_its_searches_gave_is_shown_with_the_sessions_next_request(
    notes: RecordSessions, runner: Runner
) -> None:
    runner.save("Likes tea.")
    assert notes.recall(runner.session, "r1").items == []
    runner.search("tea")
    assert [one.text for one in notes.recall(runner.session, "r2").items] == ["Likes tea."]
    assert notes.recall(runner.session, "r3", principal=BOB).items == []


def test_its_search_asks_the_backend_of_vectors_before_its_transaction(runner: Runner, settings: Any) -> None:
    settings.EMBEDDING_BACKEND = PATH
    runner.save("Tea in the morning.")
    record_vectors.embed_records()
    outside, found_in = len(connection.atomic_blocks), list[int]()
    Meanings.before = lambda texts: found_in.append(len(connection.atomic_blocks) - outside)
    try:
        assert runner.find("Which beverage?") == ["Tea in the morning."]
    finally:
        Meanings.before = None
    assert found_in == [0]


def test_where_its_words_come_from_is_never_the_principal(notes: RecordSessions, runner: Runner) -> None:
    request = notes.begin(runner.session)
    runner.save("One.")
    runner.save("Two.")
    notes.save(runner.session, request, "Three.")
    assert [row.origin for row in rows(notes)] == ["model", "tool_output", "tool_output"]


@pytest.mark.parametrize("field", ["thread", "author"])
def test_what_the_session_fills_in_is_not_taken_from_a_body(runner: Runner, field: str) -> None:
    refused = runner.save("x", **{field: "mine"})
    assert refused.status == 400 and refused.message.startswith(f"{field}: ")


def test_a_text_over_its_limit_is_refused_and_its_key_stays_free(runner: Runner) -> None:
    refused = runner.save("é" * 4_097, "k")
    assert (refused.status, refused.error_code) == (422, "invalid")
    assert runner.save("é" * 4_096, "k2").status == 201


def test_an_end_a_revocation_and_the_time_of_a_token_are_ends(notes: RecordSessions) -> None:
    ended, revoked, expired, deleted = (Runner(notes) for _ in range(4))
    sessions.end_session(ended.session, actor=notes.actor)
    session_tokens.revoke_token(revoked.session, revoked.token_id, actor=notes.actor)
    tokens = ApiKey.objects.filter(session__isnull=False, project=notes.tenant.project)
    key = keys.authenticate_key(expired.token).token_id
    tokens.filter(id=key).update(expires_at=timezone.now() - timedelta(seconds=1))
    sessions.delete_session(deleted.session, actor=notes.actor)
    for one in (ended, revoked, expired, deleted):
        for answer in (one.save("x"), one.search("x"), one.forget("x")):
            assert answer.status == 401
    assert rows(notes) == []


def test_what_was_revoked_meanwhile_writes_and_finds_nothing(notes: RecordSessions, runner: Runner) -> None:
    actor = keys.authenticate_key(runner.token)
    session_tokens.revoke_token(runner.session, runner.token_id, actor=notes.actor)
    own = WantedScope(None, None)
    for act in (
        partial(records.save_record, own, {"text": "x"}, key="k", actor=actor),
        partial(records.search_records, own, "x", k=1, actor=actor),
        partial(records.forget_record, own, "x", key="k", actor=actor),
    ):
        with pytest.raises(AuthenticationFailed):
            act()


def test_its_calls_are_the_sessions_and_contradict_nothing(notes: RecordSessions, runner: Runner) -> None:
    runner.save("Likes tea.")
    runner.search("tea")
    host = Caller(notes.tenant.key)
    [shown] = host("GET", f"/v1/sessions/{runner.session}/model-requests").body["data"]
    assert (shown["state"], shown["client_request_id"]) == ("token", "memoryhub:session-token")
    [saved, searched] = ToolCall.objects.filter(
        model_request__session__project=notes.tenant.project
    ).order_by("id")
    wire = host("GET", f"/v1/sessions/{runner.session}/tool-calls/{searched.wire_id}").body
    assert wire["output"] == "1 memories, shown below as untrusted references" and wire["items"]
    assert saved.arguments is None, "the text of a save is kept by the record alone"
    assert [one for one in check_all() if one.faults] == []
    notes.begin(runner.session)
    runner.save("Likes cake.")
    last = ToolCall.objects.filter(model_request__session__project=notes.tenant.project).latest("id")
    assert last.model_request.client_request_id == "r1"
    assert ModelRequest.objects.filter(session__project=notes.tenant.project).count() == 2


# Where another service keeps the records.


@pytest.fixture
def elsewhere(committed: Tenant, monkeypatch: pytest.MonkeyPatch) -> tuple[Runner, Scripted]:
    provider = Scripted()
    monkeypatch.setattr(record_calls, "provider_of", lambda environment_id: bind(provider))
    return Runner(RecordSessions(committed)), provider


def test_a_save_elsewhere_that_failed_is_tried_again_under_its_key(
    elsewhere: tuple[Runner, Scripted],
) -> None:
    runner, provider = elsewhere
    provider.answers = [unavailable(sent=False)]
    assert runner.save("Tea.", "k").status == 503
    done, again = runner.save("Tea.", "k"), runner.save("Tea.", "k")
    assert (done.status, again.status, done.body, again.body) == (
        201,
        200,
        {"id": "r1", "version": "1"},
        done.body,
    )
    assert (len(provider.sent), provider.records[-1].thread) == (2, runner.session)


def test_an_uncertain_save_elsewhere_is_202_and_sent_once(elsewhere: tuple[Runner, Scripted]) -> None:
    runner, provider = elsewhere
    provider.answers = [unavailable()]
    for _ in range(2):
        answer = runner.save("Tea.", "k")
        assert (answer.status, answer.body) == (202, {"status": "uncertain"})
    assert len(provider.sent) == 1


def test_who_repeats_what_is_being_sent_is_told_so(elsewhere: tuple[Runner, Scripted]) -> None:
    runner, provider = elsewhere
    told: list[Answer] = []

    def repeat() -> None:
        told.append(runner.save("Tea.", "k"))
        connection.close()

    def answer() -> Any:
        thread = threading.Thread(target=repeat)
        thread.start()
        thread.join()
        return Ok(RecordRef("r1", "1"))

    provider.answers = [answer]
    assert runner.save("Tea.", "k").status == 201
    assert (told[0].status, told[0].body) == (202, {"status": "uncertain"})
    assert runner.save("Tea.", "k").body["id"] == "r1" and len(provider.sent) == 1


@pytest.mark.parametrize(
    ("cut_off", "refusal"),
    [
        ("token", (401, "authentication_error", None)),
        ("session", (401, "authentication_error", None)),
        ("binding", (403, "permission_error", "records_not_bound")),
        ("policy", (403, "permission_error", "records_read_only")),
    ],
)
def test_what_is_taken_before_the_service_is_asked_sends_nothing(
    elsewhere: tuple[Runner, Scripted],
    monkeypatch: pytest.MonkeyPatch,
    cut_off: str,
    refusal: tuple[int, str, str | None],
) -> None:
    runner, provider = elsewhere
    notes, finish = runner.notes, record_calls.finish_elsewhere
    cuts: dict[str, Callable[[], object]] = {
        "token": lambda: session_tokens.revoke_token(runner.session, runner.token_id, actor=notes.actor),
        "session": lambda: sessions.end_session(runner.session, actor=notes.actor),
        "binding": lambda: sessions.revoke_binding(runner.session, "notes", actor=notes.actor),
        "policy": lambda: notes.declare("deny"),
    }

    def cut_first(*args: Any, **options: Any) -> Any:
        cuts[cut_off]()
        return finish(*args, **options)

    monkeypatch.setattr(record_calls, "finish_elsewhere", cut_first)
    assert runner.save("Tea.").refusal == refusal
    assert provider.sent == []
    call = ToolCall.objects.get(model_request__session__project=notes.tenant.project)
    assert (call.state, call.arguments) == ("done", None)


@pytest.mark.parametrize("was_sent", [False, True])
def test_what_a_stopped_hub_left_of_a_token_is_sent_by_none_but_its_holder(
    elsewhere: tuple[Runner, Scripted], monkeypatch: pytest.MonkeyPatch, was_sent: bool
) -> None:
    """The token may be revoked when it is swept. What was sent by then is told as it went."""
    runner, provider = elsewhere
    name = "end_asked" if was_sent else "finish_elsewhere"

    def stop(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(record_calls, name, stop)
        runner.save("Tea.", "k")
    left = ToolCall.objects.get(model_request__session__project=runner.notes.tenant.project)
    ToolCall.objects.filter(id=left.id).update(created_at=timezone.now() - timedelta(seconds=61))
    stale_calls.finish_stale()
    left.refresh_from_db()
    assert (left.state, left.is_error, len(provider.sent)) == ("done", not was_sent, int(was_sent))
    assert runner.save("Tea.", "k").body["id"] == "r1" and len(provider.sent) == 1


# At once.


def test_nothing_is_saved_after_the_end_of_the_session_has_answered(committed: Tenant) -> None:
    """The end comes while a token's save is under way: it waits for it, and the next save is refused."""
    runner = Runner(RecordSessions(committed))
    actor, own = keys.authenticate_key(runner.token), WantedScope(None, None)
    begun, ended = threading.Event(), threading.Event()
    run = record_calls.run

    def slow(*args: Any) -> Any:
        told = run(*args)
        begun.set()
        assert not ended.wait(1)
        return told

    def save() -> None:
        try:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(record_calls, "run", slow)
                records.save_record(own, {"text": "First."}, key="k1", actor=actor)
        finally:
            connection.close()

    writer = threading.Thread(target=save)
    writer.start()
    assert begun.wait(30)
    started = time.monotonic()
    sessions.end_session(runner.session, actor=committed.actor)
    ended.set()
    writer.join(30)
    assert time.monotonic() - started > 0.5
    assert [row.text for row in rows(runner.notes)] == ["First."]
    with pytest.raises(AuthenticationFailed):
        records.save_record(own, {"text": "Late."}, key="k2", actor=actor)


def test_a_save_that_is_sent_many_times_at_once_saves_once_while_tokens_are_revoked(
    live: LiveHub, live_tenant: Tenant
) -> None:
    """Over sockets: the same key from every client, and beside them one who revokes another token of the session."""
    notes = RecordSessions(live_tenant)
    runner = Runner(notes)
    others = [Runner(notes, runner.session) for _ in range(4)]
    answers: list[Answer] = []

    def save(token: str) -> None:
        call = live.caller(token)
        answers.append(call("POST", "/v1/records/save", {"text": "Tea."}, headers={"Idempotency-Key": "k"}))

    def revoke(one: Runner) -> None:
        url = f"/v1/sessions/{one.session}/tokens/{one.token_id}/revoke"
        assert live.caller(live_tenant.key)("POST", url).status == 200

    acts = [partial(save, runner.token)] * 4 + [partial(save, one.token) for one in others]
    run_together([*acts, *(partial(revoke, one) for one in others)])
    assert {answer.status for answer in answers} <= {200, 201, 401}, [answer.body for answer in answers]
    kept = {answer.body["id"] for answer in answers if answer.status != 401}
    assert kept == {row.record_id for row in rows(notes)} and len(kept) == 1
