"""A session's token over MCP: the records and documents that the session binds are its tools, and nobody else's."""

import json

import pytest

from memoryhub.ids import MEMORY_VERSION
from providers import session_tokens, sessions
from providers.models import MemoryRecord, ToolCall
from tests.mcp.conftest import Desk
from tests.mcp.live import Agent, text_of
from tests.mcp.sessions import COLLECTION, DOCUMENT, RECORDS, Bound
from tests.providers.record_sessions import ALICE
from tests.world import unused_id

OF_RECORDS = {"save_memory", "search_memory", "forget_memory"}
OF_DOCUMENTS = {"list_document_memories", "list_documents", "read_document", "save_document"}


@pytest.fixture
def bound(desk: Desk) -> Bound:
    return Bound(desk.tenant)


@pytest.fixture
def runner(desk: Desk, bound: Bound) -> Agent:
    return Agent(desk.server.url, bound.token)


def test_its_tools_are_what_its_session_binds_with_their_hints(
    desk: Desk, bound: Bound, runner: Agent
) -> None:
    tools = runner.tools()
    assert tools.keys() == OF_RECORDS | OF_DOCUMENTS
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {
        "search_memory",
        "list_document_memories",
        "list_documents",
        "read_document",
    }
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {
        "forget_memory",
        "save_document",
    }
    seen = {}
    for name, memory in (
        ("records", {"notes": {"scope": "records"}}),
        ("document", {"playbook": {"scope": "document", "id": "team-a"}}),
        ("collection", COLLECTION),
        ("nothing", {}),
    ):
        session = bound.notes.open(None, memory=memory)
        seen[name] = Agent(desk.server.url, bound.issue(session).secret).tools().keys()
    assert seen == {
        "records": {"search_memory"},
        "document": {"list_document_memories", "read_document"},
        "collection": {"list_document_memories", "list_documents", "read_document"},
        "nothing": set(),
    }


def test_an_agents_key_has_no_session_and_so_no_documents(desk: Desk, bound: Bound) -> None:
    assert not OF_DOCUMENTS & desk.agent(of=bound.notes.tenant_scope(ALICE)).tools().keys()
    refused = desk.agent().post("read_document", {"memory": "playbook"})
    assert refused["error"]["message"] == "There is no tool 'read_document'."


def test_a_memory_is_saved_found_and_forgotten_in_the_sessions_scope(bound: Bound, runner: Agent) -> None:
    ref = runner.give("save_memory", text="Alice likes <b>green</b> tea.")
    row = MemoryRecord.objects.get(record_id=ref["id"], project=bound.tenant.project)
    assert (row.thread, row.origin, row.scope.scope) == (bound.session, "model", ALICE.scope)
    refused = runner.refuse("forget_memory", id=ref["id"])
    assert "was not recalled in this thread" in refused["message"]
    found = runner.call("search_memory", query="green tea")
    assert "&lt;b&gt;green&lt;/b&gt; tea." in text_of(found) and "<b>" not in text_of(found)
    assert text_of(runner.call("forget_memory", id=ref["id"])) == f"forgot {ref['id']}"
    assert runner.give("search_memory", query="green tea")["count"] == 0
    scope = {"agent": "default", "principal": {"issuer": "idp", "subject": "bob"}}
    assert runner.refuse("search_memory", query="tea", scope=scope)["type"] == "invalid_request_error"


def test_a_write_that_waits_says_that_a_person_decides(desk: Desk) -> None:
    bound = Bound(desk.tenant, RECORDS, policy="ask")
    runner = Agent(desk.server.url, bound.token)
    saved = runner.call("save_memory", text="Likes tea.")
    given = saved.structured_content
    assert given is not None and given["status"] == "pending" and given["id"].startswith("rwrite_")
    assert json.loads(text_of(saved)) == given


def test_a_document_is_listed_read_and_replaced_at_the_revision_that_was_read(
    bound: Bound, runner: Agent
) -> None:
    assert runner.give("list_document_memories")["memories"] == [
        {
            "memory": "playbook",
            "description": "How we work.",
            "scope": "document",
            "document_id": "team-a",
            "writable": True,
            "bytes_max": 8_192,
        },
        {
            "memory": "playbooks",
            "description": "How we work.",
            "scope": "collection",
            "document_id": None,
            "writable": False,
            "bytes_max": 8_192,
        },
    ]
    [listed] = runner.give("list_documents")["documents"]
    assert (listed["id"], listed["title"]) == ("one", "One")
    assert runner.give("read_document", memory="playbooks", id="one")["text"] == "Of the collection."
    read = runner.give("read_document", memory="playbook")
    assert (read["id"], read["text"], read["revision"]) == (
        "team-a",
        "Deploy before noon.",
        bound.document.revision,
    )
    saved = runner.give("save_document", text="Deploy at noon.", expected_revision=read["revision"])
    assert saved == {"status": "saved", "revision": bound.desk.get().revision, "bytes": 15}
    stale = runner.give("save_document", text="Never.", expected_revision=read["revision"])
    assert stale == {"status": "conflict", "text": "Deploy at noon.", "summary": ""}
    assert bound.desk.get().text == "Deploy at noon."


def test_a_collections_document_is_named_and_a_choice_is_made(runner: Agent) -> None:
    assert runner.refuse("read_document", memory="playbooks")["message"].startswith("id: ")
    assert runner.give("read_document") == {
        "status": "rejected",
        "reason": "not_bound",
        "bound": ["playbook", "playbooks"],
    }


def test_no_token_reaches_what_another_session_binds(desk: Desk, bound: Bound, other: Desk) -> None:
    """Another session of the environment, one of another environment's resources, another project: by the same names."""
    bound.desk.put("team-b", "Of team B.")
    elsewhere = Bound(other.tenant, DOCUMENT)
    mine = bound.open({"playbook": {"scope": "document", "id": "team-b"}} | RECORDS)
    beside = Agent(desk.server.url, bound.issue(mine).secret)
    abroad = Agent(other.server.url, elsewhere.token)
    assert beside.give("read_document")["text"] == "Of team B."
    assert beside.give("read_document", id="team-a") == {"status": "rejected", "reason": "not_found"}
    foreign = beside.give("read_document", memory="playbooks", id="one")
    assert foreign == beside.give("read_document", memory="no-such", id="one")
    assert foreign == {"status": "rejected", "reason": "not_bound", "bound": ["playbook"]}
    assert "error" in beside.post(
        "save_document", {"text": "x", "expected_revision": bound.document.revision}
    )
    taken = abroad.give("save_document", text="x", expected_revision=bound.document.revision)
    assert taken["status"] == "conflict" and bound.desk.get().text == "Deploy before noon."
    assert "error" in abroad.post("search_memory", {"query": "tea"})


def test_after_the_end_of_its_session_or_its_own_it_is_let_in_no_more(desk: Desk, bound: Bound) -> None:
    second = bound.issue()
    session_tokens.revoke_token(bound.session, second.key.wire_id, actor=bound.tenant.actor)
    sessions.end_session(bound.session, actor=bound.tenant.actor)
    for token in (second.secret, bound.token):
        for body in ({"method": "tools/list"}, {"method": "tools/call", "params": {"name": "read_document"}}):
            assert desk.server.post({"jsonrpc": "2.0", "id": 1} | body, token).status == 401


def test_what_was_revoked_is_offered_no_more(bound: Bound, runner: Agent) -> None:
    for resource in ("notes", "playbook"):
        sessions.revoke_binding(bound.session, resource, actor=bound.tenant.actor)
    assert runner.tools().keys() == {"list_document_memories", "list_documents", "read_document"}
    assert runner.give("read_document", memory="playbook")["reason"] == "session_closed"
    assert runner.give("read_document", id="one")["reason"] == "not_bound", "of two that it began with"
    assert [one["memory"] for one in runner.give("list_document_memories")["memories"]] == ["playbooks"]


def test_its_calls_stand_in_the_sessions_log(bound: Bound, runner: Agent) -> None:
    runner.give("read_document", memory="playbook")
    runner.give("save_document", text="x", expected_revision=unused_id(MEMORY_VERSION))
    calls = ToolCall.objects.filter(model_request__session__project=bound.tenant.project).order_by("id")
    assert [(one.name, one.resource_id, one.arguments) for one in calls] == [
        ("memory_read", "playbook", {"memory": "playbook"}),
        ("memory_save", "playbook", None),
    ]
