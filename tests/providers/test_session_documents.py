"""Documents by a session's token: the checks in the order of a model's save, the trail, erasure, and ends that come meanwhile."""

import threading
import time
from typing import Any

import pytest
from django.db import connection

from memoryhub import keys
from memoryhub.errors import AuthenticationFailed, Gone
from memoryhub.integrity import check_all
from memoryhub.models import AuditEvent, SessionEvent
from providers import document_calls, session_documents, session_tokens, sessions, tool_calls
from providers.models import ToolCall
from providers.tool_outcomes import Outcome
from stores import memory_stores
from stores.models import MemoryVersion
from tests.concurrency.clients import run_together
from tests.providers.desk import Desk
from tests.providers.test_text_erasure import redact
from tests.world import Tenant


class Runner:
    """What runs a session on `team-a` of `playbook`, with a token of it."""

    def __init__(self, desk: Desk, memory: dict[str, Any] | None = None) -> None:
        self.desk, self.session = desk, desk.open(memory)
        issued = session_tokens.create_token(self.session, seconds=600, actor=desk.actor)
        self.token_id, self.actor = issued.key.wire_id, keys.authenticate_key(issued.secret)

    def read(self, memory: str | None = None, document_id: str | None = None) -> Any:
        return session_documents.read_document(memory, document_id=document_id, actor=self.actor).output

    def list(self, memory: str | None = None, cursor: str | None = None) -> Any:
        return session_documents.list_documents(memory, cursor=cursor, actor=self.actor).output

    def save(self, text: str, revision: str | None = None, summary: str | None = None) -> Any:
        saved: Outcome = session_documents.save_document(
            None,
            text=text,
            summary=summary,
            expected_revision=revision or self.desk.get().revision,
            actor=self.actor,
        )
        return saved.output


@pytest.fixture
def runner(desk: Desk) -> Runner:
    desk.put()
    return Runner(desk)


def test_a_save_is_the_sessions_with_its_event_and_the_tokens_row_in_the_trail(
    desk: Desk, runner: Runner
) -> None:
    saved = runner.save("Deploy at noon.", summary="Noon.")
    document = desk.get()
    assert saved == {"status": "saved", "revision": document.revision, "bytes": 15}
    assert document.card.summary == "Noon."
    version = MemoryVersion.objects.get(id=document.memory.head_id)
    assert (version.created_by_type, version.created_by_id) == ("session_actor", runner.session)
    event = SessionEvent.objects.get(session__project=desk.tenant.project)
    assert (event.type, event.data) == (
        "memory.saved",
        {"resource": "playbook", "document_id": "team-a", "revision": document.revision, "bytes": 15},
    )
    row = AuditEvent.objects.filter(project=desk.tenant.project).latest("number")
    assert (row.subject_id, row.actor_id, row.details["token_id"]) == (
        document.memory.wire_id,
        runner.session,
        runner.token_id,
    )
    again = runner.save("Deploy at noon.", document.revision)
    assert again == saved, "what it says already makes no revision"


def test_a_save_is_refused_in_the_order_and_the_words_of_a_models_save(desk: Desk, runner: Runner) -> None:
    stale = desk.get().revision
    desk.replace("Deploy on Mondays.")
    conflict = {"status": "conflict", "text": "Deploy on Mondays.", "summary": ""}
    assert runner.save("x", stale) == conflict
    too_large = {"status": "rejected", "reason": "too_large"}
    assert runner.save("x" * 8_193, stale) == too_large | {"field": "text", "bytes": 8_193, "maxBytes": 8_192}
    assert runner.save("x", stale, "é" * 121) == too_large | {
        "field": "summary",
        "bytes": 242,
        "maxBytes": 240,
    }
    desk.freeze()
    frozen = {"status": "rejected", "reason": "agent_writes_disabled"}
    assert runner.save("x" * 8_193, stale) == frozen
    desk.freeze(frozen=False)
    store = desk.get().memory.store
    memory_stores.freeze_store(store.wire_id, actor=desk.actor)
    assert runner.save("x") == frozen
    assert runner.read()["text"] == "Deploy on Mondays.", "what is frozen can be read"
    memory_stores.unfreeze_store(store.wire_id, actor=desk.actor)
    reading = Runner(desk, {"playbook": {"scope": "document", "id": "team-a"}})
    assert reading.save("x") == {"status": "rejected", "reason": "read_only", "bound": []}
    sessions.revoke_binding(runner.session, "playbook", actor=desk.actor)
    closed = {"status": "rejected", "reason": "session_closed"}
    assert (runner.save("x"), runner.read()) == (closed, closed)
    assert desk.get().text == "Deploy on Mondays."
    kept = ToolCall.objects.filter(model_request__session_id__isnull=False, name="memory_save")
    assert {call.arguments for call in kept} == {None}, "of a call that did nothing no text is kept"


def test_a_session_that_binds_other_memory_has_no_document(desk: Desk, runner: Runner) -> None:
    nothing = Runner(desk, {})
    collection = Runner(desk, {"playbook": {"scope": "collection"}})
    unbound: dict[str, Any] = {"status": "rejected", "reason": "not_bound", "bound": []}
    assert (nothing.read(), nothing.list(), nothing.save("x")) == (unbound, unbound, unbound)
    assert session_documents.list_memories(actor=nothing.actor) == []
    assert (collection.save("x"), runner.list()) == (unbound, unbound)
    assert collection.read(None, "team-a")["text"] == "Deploy before noon."
    assert collection.read(None, "no-such") == {"status": "rejected", "reason": "not_found"}
    assert collection.list(None, "nonsense") == {"status": "rejected", "reason": "invalid_cursor"}
    assert [one["id"] for one in collection.list()["documents"]] == ["team-a"]


def test_by_the_same_names_it_reaches_its_own_sessions_documents_alone(desk: Desk, runner: Runner) -> None:
    production = Desk(desk.tenant)
    production.environment = desk.tenant.production.wire_id
    production.declare()
    theirs = production.put(text="Of production.").revision
    other = Runner(production)
    assert (runner.read()["text"], other.read()["text"]) == ("Deploy before noon.", "Of production.")
    assert runner.save("x", theirs)["text"] == "Deploy before noon."
    assert other.save("x", desk.get().revision)["text"] == "Of production."
    desk.put("team-b", "Of team B.")
    assert runner.read("playbook", "team-b") == {"status": "rejected", "reason": "not_found"}


def test_what_it_read_makes_the_sessions_context_untrusted_and_is_erased_with_the_document(
    desk: Desk, runner: Runner
) -> None:
    assert runner.read()["text"] == "Deploy before noon."
    call = ToolCall.objects.get(model_request__session__project=desk.tenant.project)
    assert (call.output["text"], call.is_error) == ("Deploy before noon.", False)
    done = redact(desk.tenant, contains="Deploy before", heads="delete")
    assert done.status == 200, done.body
    call.refresh_from_db()
    assert (call.output, call.arguments) == (None, None)
    with pytest.raises(Gone):
        tool_calls.get_call(runner.session, call.wire_id, actor=desk.actor)
    assert [one for one in check_all() if one.faults] == []


def test_of_many_at_one_revision_one_saves(committed: Tenant) -> None:
    desk = Desk(committed)
    desk.declare()
    revision = desk.put().revision
    runners = [Runner(desk) for _ in range(6)]
    told: list[str] = []

    def save(one: Runner, number: int) -> None:
        try:
            told.append(one.save(f"Text {number}.", revision)["status"])
        finally:
            connection.close()

    run_together([lambda one=one, n=n: save(one, n) for n, one in enumerate(runners)])
    assert sorted(told) == ["conflict"] * 5 + ["saved"]


def test_nothing_is_saved_or_read_after_the_end_of_the_session_has_answered(
    committed: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(committed)
    desk.declare()
    desk.put()
    runner = Runner(desk)
    begun, ended = threading.Event(), threading.Event()
    run = document_calls.run

    def slow(*args: Any) -> Outcome:
        outcome = run(*args)
        begun.set()
        assert not ended.wait(1)
        return outcome

    def save() -> None:
        try:
            runner.save("First.")
        finally:
            connection.close()

    monkeypatch.setattr(document_calls, "run", slow)
    writer = threading.Thread(target=save)
    writer.start()
    assert begun.wait(30)
    started = time.monotonic()
    sessions.end_session(runner.session, actor=committed.actor)
    ended.set()
    writer.join(30)
    assert time.monotonic() - started > 0.5 and desk.get().text == "First."
    for act in (lambda: runner.save("Late."), runner.read, runner.list):
        with pytest.raises(AuthenticationFailed):
            act()
    assert desk.get().text == "First."
