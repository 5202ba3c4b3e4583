"""What a credential may not see does not exist: each tool, aimed at another tenant's things and at ids never given out."""

import json
from typing import Any

import pytest

from authority.models import Operation
from memoryhub.actors import RecordScope
from stores import memories
from stores.models import MemoryVersion
from tests.authority.desk import Reviewed, make_reviewed
from tests.authority.doubles import entity
from tests.mcp.calls import AUTHORITIES, CALLS, STORES, SUBJECTS
from tests.mcp.conftest import Desk
from tests.mcp.live import Agent
from tests.world import unused_id

PREFIXES = {"memory_store_id": "memstore", "authority_id": "authority"}


class World:
    """A tenant with everything a tool can be used on."""

    def __init__(self, desk: Desk, canary: str) -> None:
        self.desk, self.canary = desk, canary
        memories.create_memory(
            desk.store_id, path="/a.md", content=f"harbour {canary}", actor=desk.tenant.actor
        )
        self.reviewed: Reviewed = make_reviewed(desk.tenant, work=(entity("note:a", canary),))
        self.agent = desk.agent(of=RecordScope("support", "api", "alice"))

    def subject(self, name: str) -> str:
        return self.reviewed.authority.wire_id if name in AUTHORITIES else self.desk.store_id

    def state(self) -> list[int]:
        return [
            MemoryVersion.objects.filter(project_id=self.desk.tenant.project.id).count(),
            Operation.objects.filter(space__project_id=self.desk.tenant.project.id).count(),
        ]


@pytest.fixture
def ours(desk: Desk) -> World:
    return World(desk, "CANARY-OURS")


@pytest.fixture
def theirs(other: Desk) -> World:
    return World(other, "CANARY-THEIRS")


def answer(agent: Agent, name: str, arguments: dict[str, Any]) -> str:
    """The bytes of an answer, less the id of its request."""
    result = agent.post(name, arguments)["result"]
    assert result["isError"] is True, (name, arguments, result)
    envelope = json.loads(result["content"][0]["text"])
    assert envelope.pop("request_id").startswith("req_")
    return json.dumps(envelope, sort_keys=True)


def test_a_foreign_thing_answers_as_one_that_was_never_made(ours: World, theirs: World) -> None:
    before = theirs.state()
    tried = 0
    for name, subject in SUBJECTS.items():
        ghost = unused_id(PREFIXES[subject])
        wrong = {"arguments_unknown": True}
        for arguments in (CALLS[name], {**CALLS[name], **wrong}, {}):
            foreign = answer(ours.agent, name, {**arguments, subject: theirs.subject(name)})
            unknown = answer(ours.agent, name, {**arguments, subject: ghost})
            assert foreign == unknown and '"not_found_error"' in foreign, name
            tried += 1
    assert tried == 3 * len(SUBJECTS) and theirs.state() == before


def test_nothing_of_another_tenant_is_listed_or_found(ours: World, theirs: World) -> None:
    for name, arguments in (
        ("list_memory_stores", {}),
        ("search_memory_files", {"query": "harbour"}),
        ("list_memory_files", {"memory_store_id": ours.desk.store_id}),
        (
            "authority_query",
            {"programId": "memory.records", "bindings": dict.fromkeys(["keyPrefix", "kind", "lane"])},
        ),
    ):
        shown = json.dumps(ours.agent.give(name, **arguments))
        assert "THEIRS" not in shown and theirs.desk.store_id not in shown, name
        assert "OURS" in shown or ours.desk.store_id in shown or name == "list_memory_files"


def test_a_key_of_another_environment_of_the_project_reaches_nothing(ours: World) -> None:
    tenant = ours.desk.tenant
    key = tenant.new_key("agent", environment=tenant.production)
    assert Agent(ours.agent.url, key).tools() == {}
    for name in (*STORES, *AUTHORITIES):
        arguments = {**CALLS[name], SUBJECTS[name]: ours.subject(name)}
        refused = Agent(ours.agent.url, key).post(name, arguments)
        assert refused["error"]["message"] == f"There is no tool '{name}'."


def test_a_tool_that_is_not_offered_answers_as_one_that_was_never_made(desk: Desk) -> None:
    agent = desk.agent("read_only")
    made_up = agent.post("delete_everything", {})["error"]
    hidden = agent.post("delete_memory_file", {"memory_store_id": desk.store_id, "path": "/a"})["error"]
    assert hidden["code"] == made_up["code"] == -32602
    assert hidden["message"].replace("delete_memory_file", "delete_everything") == made_up["message"]


def test_a_cursor_of_another_key_is_refused(ours: World, theirs: World) -> None:
    for number in range(2):
        memories.create_memory(
            theirs.desk.store_id, path=f"/{number}", content="x", actor=theirs.desk.tenant.actor
        )
    page = theirs.agent.give("list_memory_files", memory_store_id=theirs.desk.store_id, limit=1)["next_page"]
    refused = ours.agent.refuse("list_memory_files", memory_store_id=ours.desk.store_id, page=page)
    assert refused["message"] == "invalid page cursor"
