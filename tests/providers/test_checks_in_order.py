"""Of two things that are wrong with a call the first of the contract's order is told. Contract, sections 7.2 and 9.2."""

from collections.abc import Callable
from typing import Any

import pytest

from providers import documents, sessions
from tests.providers.desk import Desk

LONG = "x" * 9_000
type Break = Callable[[Desk, str], Any]


def end(desk: Desk, session: str) -> None:
    sessions.end_session(session, actor=desk.actor)


def delete(desk: Desk, session: str) -> None:
    documents.delete_document(
        desk.environment,
        "playbook",
        "team-a",
        expected_revision=desk.get().revision,
        actor=desk.actor,
    )


def freeze(desk: Desk, session: str) -> None:
    desk.freeze()


def edit(desk: Desk, session: str) -> None:
    desk.replace("The owner's.")


@pytest.mark.parametrize(
    ("access", "use", "broken", "arguments", "told"),
    [
        ("read-write", [], end, {"text": 1}, "invalid_arguments"),
        ("read", ["playbook"], end, {"text": 1}, "invalid_arguments"),
        ("read", [], end, {"text": LONG}, "not_bound"),
        ("read", ["playbook"], end, {"text": LONG, "memory": "other"}, "not_bound"),
        ("read", ["playbook"], end, {"text": LONG}, "read_only"),
        ("read-write", ["playbook"], end, {"text": LONG}, "session_closed"),
        ("read-write", ["playbook"], delete, {"text": LONG}, "not_found"),
        ("read-write", ["playbook"], freeze, {"text": LONG}, "agent_writes_disabled"),
        ("read-write", ["playbook"], edit, {"text": LONG, "summary": LONG}, "text"),
        ("read-write", ["playbook"], edit, {"text": "x", "summary": LONG}, "summary"),
        ("read-write", ["playbook"], edit, {"text": "x"}, "conflict"),
    ],
)
def test_the_first_check_is_told(
    desk: Desk, access: str, use: list[str], broken: Break, arguments: dict[str, Any], told: str
) -> None:
    desk.put()
    session = desk.open({"playbook": {"scope": "document", "id": "team-a", "access": access}})
    request = desk.begin(session, use=use)
    broken(desk, session)
    output = desk.call(session, request, "memory_save", **arguments).output
    code = output.get("error", {}).get("code")
    assert (code or output.get("field") or output.get("reason") or output["status"]) == told


@pytest.mark.parametrize("named", ["playbook", None, 1, "", "other", ["playbook"], {"a": 1}])
def test_a_call_names_its_memory_or_leaves_it_out(desk: Desk, named: Any) -> None:
    """The argument is the hub's own: the tool's schema, which takes nothing more, never sees it."""
    desk.put()
    session = desk.open()
    output = desk.save(session, desk.begin(session), "x", memory=named)
    if named == "playbook":
        assert output["status"] == "saved"
    else:
        assert output == {"status": "rejected", "reason": "not_bound", "bound": ["playbook"]}


def test_of_two_memories_one_must_be_named(desk: Desk) -> None:
    desk.declare("other")
    desk.put()
    desk.put(resource_id="other", text="Else.")
    bound = {
        name: {"scope": "document", "id": "team-a", "access": "read-write"} for name in ("playbook", "other")
    }
    session = desk.open(bound)
    request = desk.begin(session, use=["playbook", "other"])
    assert desk.save(session, request, "x") == {
        "status": "rejected",
        "reason": "not_bound",
        "bound": ["other", "playbook"],
    }
    assert desk.save(session, request, "x", "c2", memory="other")["status"] == "saved"
    assert (desk.get().text, desk.get(resource_id="other").text) == ("Deploy before noon.", "x")
