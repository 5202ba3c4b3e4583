"""A model saves a document: the order of checks, and what each tells it. Contract, section 7.2."""

from typing import Any

import pytest

from memoryhub import projects
from memoryhub.errors import Conflict, Gone, RecallFailed
from memoryhub.models import SessionEvent
from providers import declared, documents, model_requests, sessions
from providers.models import Projection
from tests.providers.desk import Desk
from tests.providers.manifests import connection, http_resource


def reason(output: Any) -> str:
    return str(output.get("reason", output["status"]))


def test_a_save_is_kept_and_the_next_request_sees_it(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    saved = desk.save(session, request, "Deploy after noon.")
    document = desk.get()
    assert saved == {"status": "saved", "revision": document.revision, "bytes": 18}
    assert desk.recall(session, "r2").projections[0].text == "Deploy after noon."
    event = SessionEvent.objects.get(session__project=desk.tenant.project, type="memory.saved")
    assert event.data == {
        "resource": "playbook",
        "document_id": "team-a",
        "revision": document.revision,
        "bytes": 18,
    }
    assert document.memory.head.created_by_type == "session_actor"
    assert document.memory.head.created_by_id == session


def test_a_second_save_in_the_same_request_conflicts_with_the_first(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    desk.save(session, request, "First.", "c1")
    assert desk.save(session, request, "Second.", "c2") == {
        "status": "conflict",
        "text": "First.",
        "summary": "",
    }


def test_an_owners_edit_since_the_recall_conflicts(desk: Desk) -> None:
    desk.put(summary="Old.")
    session = desk.open()
    request = desk.begin(session)
    desk.replace("The owner's.")
    assert desk.save(session, request, "The model's.") == {
        "status": "conflict",
        "text": "The owner's.",
        "summary": "Old.",
    }
    assert desk.get().text == "The owner's."


def test_a_summary_that_is_left_out_stays_and_an_empty_one_clears(desk: Desk) -> None:
    desk.put(summary="Old.")
    session = desk.open()
    desk.save(session, desk.begin(session, "r1"), "One.")
    assert desk.get().card.summary == "Old."
    desk.save(session, desk.begin(session, "r2"), "Two.", summary="")
    assert desk.get().card.summary == ""


@pytest.mark.parametrize(
    "arguments",
    [{}, {"text": 1}, {"text": "x", "more": 1}, {"text": "x", "summary": None}],
    ids=["no text", "number", "unknown", "null"],
)
def test_arguments_that_do_not_fit_are_an_error_of_the_tool(desk: Desk, arguments: dict[str, Any]) -> None:
    desk.put()
    session = desk.open()
    call = desk.call(session, desk.begin(session), "memory_save", **arguments)
    assert call.is_error
    assert call.output["error"]["code"] == "invalid_arguments"


def test_whole_numbers_beyond_a_double_are_arguments_like_others(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    for number in (2**53, 2**63 - 1, -(2**63)):
        call = desk.call(session, request, "memory_save", f"c{number}", text=number)
        assert call.output["error"]["code"] == "invalid_arguments"
    with pytest.raises(Conflict):  # one more is another call, which a double could not tell
        desk.call(session, request, "memory_save", f"c{2**53}", text=2**53 + 1)


def test_what_is_wrong_with_arguments_is_said_without_their_values(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    call = desk.call(
        session, desk.begin(session), "memory_save", text=["a secret"], summary={"b": "a secret"}
    )
    assert [one["path"] for one in call.output["error"]["details"]["problems"]] == ["/text", "/summary"]
    assert "secret" not in str(call.output)


@pytest.mark.parametrize("size", [65_536, 65_537])
def test_arguments_have_a_limit(desk: Desk, size: int) -> None:
    desk.put()
    session = desk.open()
    text = "x" * (size - len('{"text":""}'))
    output = desk.save(session, desk.begin(session), text)
    if size == 65_536:
        assert output["reason"] == "too_large"
    else:
        assert output["error"]["message"] == "They have 65537 bytes; at most 65536 are allowed."


def test_what_is_not_selected_is_not_bound(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    assert desk.save(session, desk.begin(session, use=[]), "x") == {
        "status": "rejected",
        "reason": "not_bound",
        "bound": [],
    }


def test_a_binding_that_only_reads_has_no_save(desk: Desk) -> None:
    desk.put()
    session = desk.open({"playbook": {"scope": "document", "id": "team-a"}})
    request = desk.recall(session).request.wire_id
    offered = model_requests.select_memory(session, request, use=["playbook"], actor=desk.actor)
    assert offered == {}
    assert desk.save(session, request, "x") == {"status": "rejected", "reason": "read_only", "bound": []}


def test_nothing_is_saved_after_the_end_or_a_revocation(desk: Desk) -> None:
    desk.put()
    for stop in (
        lambda session: sessions.end_session(session, actor=desk.actor),
        lambda session: sessions.revoke_binding(session, "playbook", actor=desk.actor),
    ):
        session = desk.open()
        request = desk.begin(session)
        stop(session)
        assert desk.save(session, request, "x") == {"status": "rejected", "reason": "session_closed"}


def test_a_deleted_document_is_not_found_and_its_recall_fails(desk: Desk) -> None:
    document = desk.put()
    session = desk.open()
    request = desk.begin(session)
    documents.delete_document(
        desk.environment, "playbook", "team-a", expected_revision=document.revision, actor=desk.actor
    )
    with pytest.raises(Gone):
        desk.recall(session)
    assert desk.save(session, request, "x") == {"status": "rejected", "reason": "not_found"}
    with pytest.raises(RecallFailed) as failed:
        desk.recall(session, "r2")
    assert failed.value.facts["cause"]["code"] == "not_found"


def test_a_frozen_document_is_offered_and_refused_until_it_is_unfrozen(desk: Desk) -> None:
    desk.put(agent_writes=False)
    session = desk.open()
    recalled = desk.recall(session)
    assert recalled.projections[0].writable is False
    request = recalled.request.wire_id
    offered = model_requests.select_memory(session, request, use=["playbook"], actor=desk.actor)
    assert list(offered) == ["memory_save"]
    assert reason(desk.save(session, request, "x")) == "agent_writes_disabled"
    desk.freeze(frozen=False)
    assert reason(desk.save(session, desk.begin(session, "r2"), "x", "c2")) == "saved"


def test_limits_are_told_with_their_bytes(desk: Desk) -> None:
    desk.declare(maxBytes=10)
    desk.put(text="x")
    session = desk.open()
    request = desk.begin(session)
    assert desk.save(session, request, "ä" * 5 + "b", "c1") == {
        "status": "rejected",
        "reason": "too_large",
        "field": "text",
        "bytes": 11,
        "maxBytes": 10,
    }
    assert desk.save(session, request, "x", "c2", summary="s" * 241)["field"] == "summary"
    assert desk.save(session, request, "ä" * 5, "c3", summary="s" * 240)["status"] == "saved"


def test_a_lower_limit_leaves_what_is_there_and_binds_the_next_save(desk: Desk) -> None:
    desk.put(text="x" * 100)
    session = desk.open()
    desk.declare(maxBytes=10)
    assert desk.recall(session).projections[0].text == "x" * 100
    request = desk.begin(session, "r2")
    assert reason(desk.save(session, request, "y" * 100, "c1")) == "too_large"
    assert reason(desk.save(session, request, "y", "c2")) == "saved"


def test_one_call_id_has_one_outcome(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    first = desk.save(session, request, "One.", "c1")
    assert desk.save(session, request, "One.", "c1") == first
    with pytest.raises(Conflict) as refused:
        desk.save(session, request, "Other.", "c1")
    assert refused.value.error_code == "tool_call_mismatch"
    assert desk.get().text == "One."


def test_a_retry_of_a_request_gets_what_was_kept(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    first = desk.recall(session)
    desk.replace("Newer.")
    again = desk.recall(session)
    assert (again.is_new, again.projections[0].text) == (False, first.projections[0].text)
    assert desk.recall(session, "r2").projections[0].text == "Newer."


def test_a_collection_lists_and_reads(desk: Desk) -> None:
    desk.put("a", title="A | B", summary="One.")
    desk.put("b", text="Text of b.")
    session = desk.open({"playbook": {"scope": "collection"}})
    recalled = desk.recall(session).projections[0]
    assert [line.split(" | ")[0] for line in recalled.text.splitlines()] == ["b", "a"]
    request = desk.begin(session, "r2")
    listed = desk.call(session, request, "memory_list", "c1").output
    assert [one["id"] for one in listed["documents"]] == ["b", "a"]
    assert listed["documents"][0]["bytes"] == 10
    assert desk.call(session, request, "memory_read", "c2", id="b").output["text"] == "Text of b."
    assert desk.call(session, request, "memory_read", "c3", id="none").output["reason"] == "not_found"
    assert desk.call(session, request, "memory_list", "c4", cursor="x").output["reason"] == "invalid_cursor"


def test_a_service_that_is_not_asked_is_never_an_empty_memory(desk: Desk) -> None:
    projects.update_project(desk.tenant.project.wire_id, http_memory="enabled", actor=desk.actor)
    declared.declare_resource(
        environment=desk.environment,
        resource=http_resource(),
        connection=connection(),
        acknowledge_endpoint_change=False,
        actor=desk.actor,
    )
    desk.put()
    document = {"scope": "document", "id": "team-a"}
    session = desk.open({"playbook": document, "knowledge": {"scope": "namespace", "id": "tenant-17"}})
    opened = model_requests.open_request(
        session, client_request_id="r1", input_text=None, waits=False, actor=desk.actor
    )
    assert (opened.request.state, opened.projections) == ("recalling", [])
    with pytest.raises(Conflict) as refused:
        model_requests.select_memory(session, opened.request.wire_id, use=["playbook"], actor=desk.actor)
    assert refused.value.error_code == "request_not_accepted"
    assert not Projection.objects.filter(project=desk.tenant.project).exists()
