"""The tools that an agent's client of the Model Context Protocol sees. The rooms register theirs in `<room>/mcp_tools.py`.

A tool is a door like a view: it stands for one operation of the table of rights, its shape reads what it is given as
strictly as a body, and it calls the verbs that REST calls. What a credential cannot use does not exist for it: it is
not listed, and a call answers as one of an unknown tool does.

Nothing of the protocol's own packages is imported here.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.utils.module_loading import autodiscover_modules

from memoryhub.actors import Actor
from memoryhub.api import check_scope, read_shape
from memoryhub.errors import InvalidRequest, RequestTooLarge
from memoryhub.fields import StrictSerializer
from memoryhub.mcp_schemas import Schema, object_schema
from memoryhub.operations import OPERATIONS, Operation, allows

type Values = dict[str, Any]
type Run = Callable[[Values, Actor], Values]


class ToolInput(StrictSerializer):
    """What a tool takes. Models send null for what they leave out."""

    null_is_absent: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Effect:
    """What a client may tell its user before it asks whether to call. Source: MCP, tool annotations.

    `destroys`: it replaces or removes something; else it adds. `repeats`: the same call again has no further effect.
    """

    reads_only: bool
    destroys: bool
    repeats: bool

    def hints(self) -> dict[str, bool]:
        return {
            "readOnlyHint": self.reads_only,
            "destructiveHint": self.destroys,
            "idempotentHint": self.repeats,
            "openWorldHint": False,  # whatever it does, it does here
        }


READS = Effect(reads_only=True, destroys=False, repeats=True)
ADDS = Effect(reads_only=False, destroys=False, repeats=False)
ADDS_ONCE = Effect(reads_only=False, destroys=False, repeats=True)
CHANGES = Effect(reads_only=False, destroys=True, repeats=False)
CHANGES_ONCE = Effect(reads_only=False, destroys=True, repeats=True)


def _always(actor: Actor) -> bool:
    return True


def _nothing(arguments: Values, actor: Actor) -> None: ...


def say_json(given: Values) -> str:
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Tool:
    """`gives`: the shape of an answer; None: an object whose form its verb decides.

    `say(given)`: an answer as text, for clients that know no structured content.
    `is_offered(actor)`: there is something that the actor could use it on.
    `require_visible(arguments, actor)`: raises NotFound when an argument names what the actor may not see; it is asked
    when the arguments are refused, so that a foreign thing and an unknown one answer the same.
    """

    name: str
    title: str
    description: str
    operation: Operation
    takes: type[ToolInput]
    gives: type[Any] | None
    effect: Effect
    run: Run
    is_offered: Callable[[Actor], bool] = _always
    require_visible: Callable[[Values, Actor], None] = _nothing
    say: Callable[[Values], str] = say_json
    body_bytes_max: int = settings.REQUEST_BODY_BYTES_MAX

    def input_schema(self) -> Schema:
        return object_schema(self.takes)

    def output_schema(self) -> Schema:
        return {"type": "object"} if self.gives is None else object_schema(self.gives)


_tools: dict[str, Tool] = {}


def tool(
    name: str,
    title: str,
    description: str,
    *,
    operation: str,
    takes: type[ToolInput],
    gives: type[Any] | None,
    effect: Effect,
    **more: Any,
) -> Callable[[Run], Run]:
    """Register a function as a tool. `operation`: its name in the table of rights; `more`: as `Tool` has it."""

    def register(run: Run) -> Run:
        assert name not in _tools, f"two tools are named {name}"
        _tools[name] = Tool(
            name, title, description, OPERATIONS[operation], takes, gives, effect, run, **more
        )
        return run

    return register


def load_tools() -> list[Tool]:
    """Every tool of every room, in the order of their registration."""
    autodiscover_modules("mcp_tools")
    return list(_tools.values())


def list_tools(actor: Actor) -> list[Tool]:
    """Those that the actor can use now."""
    return [one for one in load_tools() if _is_for(one, actor)]


def find_tool(name: str, *, actor: Actor) -> Tool | None:
    found = _tools.get(name)
    return found if found is not None and _is_for(found, actor) else None


def _is_for(one: Tool, actor: Actor) -> bool:
    return allows(actor.scopes, one.operation) and one.is_offered(actor)


def call_tool(called: Tool, arguments: Values, *, actor: Actor) -> Values:
    """What the tool gives. Raises: whatever its verb does, as HubError; InvalidRequest for arguments of another form."""
    check_scope(actor, called.operation)
    try:
        values = read_shape(called.takes, arguments)
    except (InvalidRequest, RequestTooLarge):
        called.require_visible(arguments, actor)
        raise
    return called.run(values, actor)
