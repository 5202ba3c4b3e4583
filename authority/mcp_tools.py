"""The authority's four calls as tools: remember, query, explain, nominate. Nothing else of an authority is a tool.

Each takes what the REST call takes, less `v`, which says only the form's version. An environment mostly has one
authority, so its id may be left out. Source: contract of the authority, section 10.
"""

from typing import Any

from authority import agent, authorities, memory_nominations
from authority.canonical import parse
from authority.codecs import KINDS
from authority.limits import (
    BINDINGS_MAX,
    CHANGES_MAX,
    CODE_LENGTH_MAX,
    DEPENDENCIES_MAX,
    KEY_LENGTH_MAX,
    PAGE_ROWS_MAX,
    REMEMBER_BYTES_MAX,
    ROOTS_MAX,
)
from authority.models import Authority
from authority.views import SPARE_BYTES
from authority.wires import nomination_wire
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.fields import Integer, Json, Text
from memoryhub.mcp_tools import ADDS_ONCE, CHANGES_ONCE, READS, ToolInput, Values, tool

AUTHORITIES_NAMED_MAX = 20
_CODE = {"type": "string", "minLength": 1, "maxLength": CODE_LENGTH_MAX}
_KEY = {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_MAX}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_VERSION = {"const": 1}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


_HEAD = _object(
    {
        "generation": {"type": "integer", "minimum": 0},
        "operationSha256": {"anyOf": [_SHA256, {"type": "null"}]},
    },
    description="The working head that you have seen, as query and remember give it; at the beginning 0 and null.",
)
_PUT = _object(
    {
        "key": _KEY,
        "kind": {"type": "string", "enum": KINDS.names()},
        "value": {"type": "object"},
        "dependencies": {
            "type": "array",
            "items": _KEY,
            "uniqueItems": True,
            "maxItems": DEPENDENCIES_MAX,
            "description": "Keys of the records that this one rests on, in the order of their letters.",
        },
        "v": _VERSION,
    }
)
_TOMBSTONE = _object({"key": _KEY, "priorSha256": _SHA256, "v": _VERSION})


class AuthorityInput(ToolInput):
    authority_id = Text(
        length_max=64, required=False, help_text="Which authority; needed only where there are several."
    )


class RememberInput(AuthorityInput):
    requestId = Json(
        {**_CODE, "description": "Your own name of this request: sent again, it has the same receipt."}
    )
    expectedHead = Json(_HEAD)
    puts = Json({"type": "array", "items": _PUT, "maxItems": CHANGES_MAX})
    tombstones = Json({"type": "array", "items": _TOMBSTONE, "maxItems": CHANGES_MAX})


class QueryInput(AuthorityInput):
    programId = Json({**_CODE, "description": "A program that the owner has registered."})
    bindings = Json(
        {
            "type": "object",
            "maxProperties": BINDINGS_MAX,
            "description": "A value for each parameter of the program; null turns its condition off.",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }
    )
    continuation = Text(
        required=False, help_text="continuation of the page before, for the next one with the same bindings."
    )


class ExplainInput(AuthorityInput):
    token = Text(length_max=64, help_text="explainCapability.token of the page.")
    resultSha256 = Json({**_SHA256, "description": "Of the page."})
    pageRow = Integer(
        min_value=0, max_value=PAGE_ROWS_MAX - 1, help_text="Which row of the page, counted from 0."
    )


class NominateInput(AuthorityInput):
    nominationId = Json({**_CODE, "description": "A route that the owner has registered."})
    roots = Json(
        {
            "type": "array",
            "items": _KEY,
            "minItems": 1,
            "maxItems": ROOTS_MAX,
            "uniqueItems": True,
            "description": "Keys of working records; all that they depend on is nominated with them.",
        }
    )


class NominateRecordInput(AuthorityInput):
    id = Text(length_min=1, length_max=64, help_text="The id of a reference that was recalled.")
    nominationId = Json({**_CODE, "description": "A route that the owner has registered."})


def has_authority(actor: Actor) -> bool:
    return authorities.visible_authorities(actor).exists()


def has_records_too(actor: Actor) -> bool:
    return actor.record_scope is not None and has_authority(actor)


def require_visible(arguments: Values, actor: Actor) -> None:
    """Raises: NotFound."""
    authority_id = arguments.get("authority_id")
    if isinstance(authority_id, str):
        authorities.get_authority(authority_id, actor=actor)


def _split(values: Values, actor: Actor, *, version: int) -> tuple[str, Values]:
    """The authority's id, and the request of the contract. Raises: InvalidRequest when it is not said which of several."""
    request = {**values, "v": version}
    named: str | None = request.pop("authority_id", None)
    return named or _only(actor).wire_id, request


def _only(actor: Actor) -> Authority:
    found = list(authorities.visible_authorities(actor).order_by("id")[: AUTHORITIES_NAMED_MAX + 1])
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound("authority")
    ids = ", ".join(one.wire_id for one in found[:AUTHORITIES_NAMED_MAX])
    raise InvalidRequest(f"authority_id: Say which authority you mean: {ids}.")


@tool(
    "authority_remember",
    "Remember records",
    "Write records into the working memory, all or none. They are yours to query at once, and hold as reviewed only "
    "after somebody adopted them.",
    operation="authorities.remember",
    takes=RememberInput,
    gives=None,
    effect=CHANGES_ONCE,
    is_offered=has_authority,
    require_visible=require_visible,
    body_bytes_max=REMEMBER_BYTES_MAX + SPARE_BYTES,
)
def remember(values: Values, actor: Actor) -> Values:
    authority_id, request = _split(values, actor, version=1)
    return agent.remember(authority_id, request, actor=actor).wire


@tool(
    "authority_query",
    "Query reviewed and working memory",
    "One page of a program's rows over the reviewed memory (canonical) and the working one. Where both hold a key "
    "differently, both rows are shown.",
    operation="authorities.query",
    takes=QueryInput,
    gives=None,
    effect=READS,
    is_offered=has_authority,
    require_visible=require_visible,
)
def query(values: Values, actor: Actor) -> Values:
    authority_id, request = _split({"continuation": None, **values}, actor, version=2)
    return agent.query_memory(authority_id, request, actor=actor)


@tool(
    "authority_explain",
    "Explain a row",
    "What a row of a page rests on: its record, who wrote it and when, and the conditions it met.",
    operation="authorities.explain",
    takes=ExplainInput,
    gives=None,
    effect=READS,
    is_offered=has_authority,
    require_visible=require_visible,
)
def explain(values: Values, actor: Actor) -> Values:
    authority_id, request = _split(values, actor, version=2)
    return agent.explain(authority_id, request, actor=actor)


@tool(
    "authority_nominate",
    "Nominate records for review",
    "Propose working records, with all that they depend on, to become reviewed memory. A person decides.",
    operation="authorities.nominate",
    takes=NominateInput,
    gives=None,
    effect=ADDS_ONCE,
    is_offered=has_authority,
    require_visible=require_visible,
)
def nominate(values: Values, actor: Actor) -> Values:
    authority_id, request = _split(values, actor, version=1)
    wire: Values = parse(agent.nominate(authority_id, request, actor=actor).text)
    return wire


@tool(
    "nominate_memory",
    "Nominate a memory for review",
    "Propose a memory of who you talk with, by the id of its reference, to become reviewed memory, which others see too. A person decides.",
    operation="authorities.nominate",
    takes=NominateRecordInput,
    gives=None,
    effect=ADDS_ONCE,
    is_offered=has_records_too,
    require_visible=require_visible,
)
def nominate_memory(values: Values, actor: Actor) -> Values:
    """Of the scope that the key names."""
    made = memory_nominations.nominate_record(
        values.get("authority_id") or _only(actor).wire_id,
        of=None,
        record_id=values["id"],
        route=values["nominationId"],
        actor=actor,
    )
    return nomination_wire(made)
