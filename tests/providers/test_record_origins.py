"""Where a record of a session comes from: from what was recorded, never from what the model says. And its thread and author."""

from typing import Any

import pytest

from providers import deployments
from providers.models import MemoryRecord
from stores.attachments import WantedStore
from tests.providers.record_sessions import ALICE, BOB, READ_WRITE, RecordSessions


@pytest.fixture
def notes(tenant: Any) -> RecordSessions:
    return RecordSessions(tenant)


def saved(notes: RecordSessions, session: str, request: str) -> MemoryRecord:
    record_id = notes.save(session, request, "Tea.")["id"]
    return MemoryRecord.objects.get(scope__project=notes.tenant.project, record_id=record_id)


def test_on_a_clean_turn_it_is_the_users_and_says_so(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    request = notes.begin(session)
    call = notes.call(session, request, "save_memory", text="Tea.")
    row = MemoryRecord.objects.get(scope__project=notes.tenant.project)
    assert (row.origin, row.author, row.thread) == ("user", "alice", session)
    assert row.provenance == {"thread_id": session, "event_ids": [request, call.wire_id]}


def test_after_a_recall_it_is_a_tools_and_nobody_said_it(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    request = notes.begin(session)
    notes.search(session, request, "tea")
    row = saved(notes, session, request)
    assert (row.origin, row.author, row.thread) == ("tool_output", None, session)
    assert (
        saved(notes, session, notes.begin(session, "r2")).origin == "tool_output"
    )  # it stays in the context


def test_of_a_request_that_no_named_principal_began_it_is_the_models(notes: RecordSessions) -> None:
    unnamed, without_input = notes.open(None), notes.open(ALICE)
    assert saved(notes, unnamed, notes.begin(unnamed)).origin == "model"
    row = saved(notes, without_input, notes.begin(without_input, text=None))
    assert (row.origin, row.author) == ("model", None)
    named_later = notes.open(None)
    assert saved(notes, named_later, notes.begin(named_later, principal=BOB)).author == "bob"


def test_what_the_application_calls_untrusted_is_so_from_then_on(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    notes.recall(session, "r1", has_untrusted=True)
    assert saved(notes, session, notes.begin(session, "r2")).origin == "tool_output"


def test_anothers_input_before_is_untrusted_and_the_own_one_is_not(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    notes.recall(session, "r1")
    notes.recall(session, "r2", principal=ALICE)  # the session's own, by name
    assert saved(notes, session, notes.begin(session, "r3")).origin == "user"
    shared = notes.open(ALICE)
    notes.recall(shared, "r1", principal=BOB)
    assert saved(notes, shared, notes.begin(shared, "r2")).origin == "tool_output"


def test_a_request_without_input_goes_on_for_whoever_gave_the_last_one(notes: RecordSessions) -> None:
    session = notes.open(ALICE)
    first = notes.begin(session, "r1", principal=BOB)
    goes_on = saved(notes, session, notes.begin(session, "r2", text=None))
    assert (goes_on.scope.scope, goes_on.author) == (BOB.scope, None)
    notes.recall(session, "r3")
    assert saved(notes, session, notes.begin(session, "r4", text=None)).scope.scope == ALICE.scope
    assert saved(notes, session, first).scope.scope == BOB.scope  # as it was
    named = saved(notes, session, notes.begin(session, "r5", text=None, principal=BOB))
    assert named.scope.scope == BOB.scope


def test_a_document_that_is_shown_is_untrusted_and_one_that_is_not_selected_is_not(
    notes: RecordSessions,
) -> None:
    from tests.providers.desk import Desk

    desk = Desk(notes.tenant)
    desk.declare()
    desk.put()
    memory = READ_WRITE | {"playbook": {"scope": "document", "id": "team-a"}}
    session = notes.open(ALICE, memory)
    assert saved(notes, session, notes.begin(session, "r1", use=["notes"])).origin == "user"
    session = notes.open(ALICE, memory)
    request = notes.begin(session, "r1", use=["notes", "playbook"])
    assert saved(notes, session, request).origin == "tool_output"
    desk.replace("")
    session = notes.open(ALICE, memory)
    request = notes.begin(session, "r1", use=["notes", "playbook"])
    assert saved(notes, session, request).origin == "user"  # an empty document says nothing


def test_of_an_agent_with_tools_or_files_of_its_own_nothing_is_known_to_be_the_users(
    notes: RecordSessions,
) -> None:
    from stores import memory_stores

    store = memory_stores.create_store(
        environment=notes.environment, name="files", description="", metadata={}, actor=notes.actor
    )
    session = notes.open(ALICE, stores=[WantedStore(store.wire_id, "read_only", None)])
    assert saved(notes, session, notes.begin(session)).origin == "model"
    with_tools = deployments.create_deployment(
        agent_id="other",
        manifest={
            "memory": [
                {
                    "id": "notes",
                    "description": "Notes.",
                    "provider": {"kind": "records", "memoryWrite": "allow"},
                }
            ],
            "ordinaryTools": ["browse"],
        },
        actor=notes.actor,
    )
    deployments.promote_deployment(
        with_tools.wire_id, environment=notes.environment, acknowledged_endpoints=[], actor=notes.actor
    )
    session = notes.open(ALICE, agent="other")
    assert saved(notes, session, notes.begin(session)).origin == "model"
