"""Every registered tool: its right, its hints, its schemas, its line in the documentation; and who is offered it."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.conf import settings

from memoryhub import mcp_tools
from memoryhub.actors import Actor
from memoryhub.errors import PermissionRefused
from memoryhub.mcp_tools import Tool, find_tool, list_tools, load_tools
from memoryhub.operations import SCOPES, SESSION, allows
from tests.authority.desk import make_reviewed
from tests.mcp.calls import CALLS, SUBJECTS
from tests.providers.record_desk import ALICE
from tests.world import Tenant

TOOLS = {tool.name: tool for tool in load_tools()}
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| (\w+) \| `([\w.]+)` \|$", re.MULTILINE)


@pytest.fixture(params=TOOLS.values(), ids=TOOLS.keys())
def tool(request: pytest.FixtureRequest) -> Tool:
    found: Tool = request.param
    return found


def effect_of(tool: Tool) -> str:
    return "reads" if tool.effect.reads_only else "changes" if tool.effect.destroys else "adds"


def test_the_page_has_a_line_for_each_tool_and_no_other() -> None:
    page = (Path(settings.BASE_DIR) / "docs" / "mcp.md").read_text(encoding="utf-8")
    shown = {name: (effect, right) for name, _, effect, right in ROW.findall(page)}
    assert shown == {name: (effect_of(tool), tool.operation.name) for name, tool in TOOLS.items()}


def test_every_tool_is_called_by_the_tests() -> None:
    assert CALLS.keys() == TOOLS.keys()


def test_an_agent_or_a_session_has_its_right(tool: Tool) -> None:
    assert "agent" in tool.operation.scopes or tool.operation.scopes == {SESSION}


def test_its_hints_say_what_its_right_does(tool: Tool) -> None:
    assert tool.effect.hints().keys() == {
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }
    # a query and an explanation write what explains them, and nothing that anybody would miss
    if tool.operation.name not in ("authorities.query", "authorities.explain"):
        assert tool.effect.reads_only == (not tool.operation.writes)
    assert not (tool.effect.reads_only and tool.effect.destroys)


def test_it_says_what_it_is(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", tool.name) and len(tool.name) <= 64
    assert tool.title and 20 < len(tool.description) < 400
    for name, schema in tool.input_schema()["properties"].items():
        assert "description" in schema or name in ("puts", "tombstones"), name


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every schema of an object that names its properties."""
    found = [schema] if isinstance(schema, dict) and "properties" in schema else []
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return found + [one for value in inner for one in objects(value)]


def test_its_schemas_are_schemas_and_that_of_its_input_is_strict(tool: Tool) -> None:
    for schema in (tool.input_schema(), tool.output_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert all(schema["additionalProperties"] is False for schema in objects(tool.input_schema()))
    jsonschema.validate(CALLS[tool.name], {**tool.input_schema(), "required": []})


def actor_of(tenant: Tenant, scope: str, stores: dict[Any, Any] | None) -> Actor:
    scopes = frozenset({scope})
    return Actor(
        "api_actor",
        "apikey_x",
        tenant.project.id,
        tenant.development.id,
        scopes,
        stores,
        ALICE if stores is None else None,
    )


def test_each_scope_is_offered_what_the_table_of_rights_allows(tenant: Tenant, store_id: str) -> None:
    make_reviewed(tenant)
    for scope in SCOPES:
        actor = actor_of(tenant, scope, None)
        offered = {tool.name for tool in list_tools(actor) if tool.effect.reads_only}
        assert offered == {
            name
            for name, tool in TOOLS.items()
            if tool.effect.reads_only and allows(actor.scopes, tool.operation)
        }
        for name, tool in TOOLS.items():
            if not allows(actor.scopes, tool.operation):
                assert find_tool(name, actor=actor) is None
                with pytest.raises(PermissionRefused):
                    mcp_tools.call_tool(tool, CALLS[name], actor=actor)


def test_nothing_is_offered_to_an_agent_that_reaches_nothing(tenant: Tenant, store_id: str) -> None:
    assert list_tools(actor_of(tenant, "agent", {})) == []
    assert find_tool("nothing", actor=actor_of(tenant, "agent", {})) is None


def test_every_tool_names_what_could_be_foreign() -> None:
    for name, subject in SUBJECTS.items():
        assert subject in TOOLS[name].input_schema()["properties"]
        assert TOOLS[name].require_visible.__name__ == "require_visible"
