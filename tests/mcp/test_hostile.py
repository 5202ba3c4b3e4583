"""What a model could be made to send: hostile strings at every argument of every tool, in this process."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from memoryhub import ids, keys, mcp_tools
from memoryhub.actors import Actor
from memoryhub.errors import HubError, InvalidRequest, NotFound
from memoryhub.mcp_tools import Tool, load_tools
from memoryhub.problems import status_of
from stores import memories
from stores.paths import find_path_problem
from tests.authority.desk import Reviewed, make_reviewed
from tests.authority.doubles import entity
from tests.hostile.corpus import PATHS
from tests.mcp.calls import AUTHORITIES, CALLS, DOCUMENTS, SUBJECTS
from tests.mcp.sessions import bind_everything
from tests.providers.record_desk import ALICE
from tests.world import Tenant

TOOLS = {tool.name: tool for tool in load_tools()}
STRINGS = [
    "x') OR '1'='1",
    "'; DROP TABLE stores_memory; --",
    '" } RETURN 1 //',
    "%s %(a)s {} {0.__class__}",
    "../../etc/passwd",
    "$where",
    "x" * 5_000,
    "\u202e\u200b",
    "",
    "\0",
    "\ud800",
]
VALUES = [*STRINGS, -1, 10**30, 1.5, True, [], {}, [["x"]], {"a": {"b": [1]}}]


class Place:
    """A store and an authority, and an agent that may use them."""

    def __init__(self, tenant: Tenant, store_id: str) -> None:
        self.store_id = store_id
        self.reviewed: Reviewed = make_reviewed(tenant, work=(entity("note:a", "A"),))
        key = ids.from_wire(ids.MEMORY_STORE, store_id)
        assert isinstance(key, UUID)
        secret = tenant.new_key("agent", stores={key: "read_write"}, record_scope=ALICE)
        self.actor: Actor = keys.authenticate_key(secret)
        memories.create_memory(store_id, path="/a.md", content="harbour", actor=tenant.actor)
        self.session_actor: Actor = keys.authenticate_key(bind_everything(tenant).token)

    def actor_of(self, tool: Tool) -> Actor:
        return self.session_actor if tool.name in DOCUMENTS else self.actor

    def valid(self, tool: Tool) -> dict[str, Any]:
        authority_id = self.reviewed.authority.wire_id
        named = authority_id if tool.name in AUTHORITIES else self.store_id
        subject = {SUBJECTS[tool.name]: named} if tool.name in SUBJECTS else {}
        return {**CALLS[tool.name], **subject}


@pytest.fixture
def place(tenant: Tenant, store_id: str) -> Place:
    return Place(tenant, store_id)


def arguments_of(tool: Tool) -> Iterator[str]:
    yield from tool.input_schema()["properties"]


def status(tool: Tool, arguments: dict[str, Any], actor: Actor) -> int:
    """What the call answers; anything but an error of the hub's own fails the test."""
    try:
        json.dumps(mcp_tools.call_tool(tool, arguments, actor=actor))
    except HubError as error:
        return status_of(error)
    return 200


@pytest.mark.parametrize("name", TOOLS)
def test_no_argument_of_any_tool_breaks_it(place: Place, name: str) -> None:
    tool = TOOLS[name]
    for argument in arguments_of(tool):
        for value in VALUES:
            answered = status(tool, {**place.valid(tool), argument: value}, place.actor_of(tool))
            assert answered < 500, (argument, value)
            assert answered in (200, 400, 403, 404, 409, 413, 422), (argument, value, answered)


PATH_ARGUMENTS = [
    (name, argument) for name, tool in TOOLS.items() for argument in arguments_of(tool) if "path" in argument
]


def test_every_path_is_tried() -> None:
    assert {argument for _, argument in PATH_ARGUMENTS} == {"path", "new_path", "path_prefix"}
    assert len(PATH_ARGUMENTS) >= 10


@pytest.mark.parametrize(("name", "argument"), PATH_ARGUMENTS)
def test_a_path_that_no_memory_may_have_is_refused_by_every_tool(
    place: Place, name: str, argument: str
) -> None:
    if argument == "path_prefix":
        return check_prefixes(place, TOOLS[name])
    for path, _ in PATHS:
        if find_path_problem(path) is None:
            continue
        with pytest.raises((InvalidRequest, NotFound)):
            mcp_tools.call_tool(TOOLS[name], {**place.valid(TOOLS[name]), argument: path}, actor=place.actor)
    return None


def check_prefixes(place: Place, tool: Tool) -> None:
    for path, _ in PATHS:
        assert status(tool, {**place.valid(tool), "path_prefix": path}, place.actor) in (200, 400), path
