"""The JSON Schemas of tools: which a deployment may declare, and whether a call's arguments fit one. Pure; fetches nothing.

Source: contract of document and HTTP memory, sections 2.3 and 9.2; JSON Schema 2020-12.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema_rs

from memoryhub.digests import canonical_json
from providers.findings import Findings, Place
from providers.limits import (
    ARGUMENT_PROBLEMS_MAX,
    ECHOED_LENGTH_MAX,
    TOOL_INPUT_BYTES_MAX,
    TOOL_INPUT_DEPTH_MAX,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFUSED_KEYS = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
RESERVED_ARGUMENT = "memory"  # the host's own: which resource a call means
_PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)


def read_schema(value: Any, place: Place, findings: Findings) -> dict[str, Any]:
    """A declared input schema. The empty object, with the problem noted, when it may not be declared."""
    problem = _find_problem(value)
    if problem is None:
        assert isinstance(value, dict)
        return value
    findings.add(place, problem)
    return {}


def _find_problem(schema: Any) -> str | None:
    """The first rule that a schema breaks."""
    if not isinstance(schema, dict):
        return "It must be a JSON Schema, as an object."
    if _depth(schema) > TOOL_INPUT_DEPTH_MAX:
        return f"It is nested more than {TOOL_INPUT_DEPTH_MAX} levels deep."
    try:
        size = len(canonical_json(schema))
    except ValueError:
        return "It holds a number or a text that JSON cannot carry exactly."
    if size > TOOL_INPUT_BYTES_MAX:
        return f"It has {size} bytes as JSON; at most {TOOL_INPUT_BYTES_MAX} are allowed."
    return (
        _find_reference_problem(schema) or _find_reserved_problem(schema) or _find_metaschema_problem(schema)
    )


def _depth(value: Any) -> int:
    """How deep the value is nested, without recursion: it is a stranger's."""
    depth, level = 0, [value]
    while level and depth <= TOOL_INPUT_DEPTH_MAX:
        depth += 1
        level = [item for one in level for item in _items(one)]
    return depth


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (item for item in value.values() if isinstance(item, dict | list))
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict | list))


def _find_reference_problem(schema: dict[str, Any]) -> str | None:
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict) and (found := sorted(_REFUSED_KEYS & value.keys())):
            return f"It must not hold the key {found[0]}, not even as the name of a property."
        if isinstance(value, dict) and value.get("$schema", DIALECT) != DIALECT:
            return f"Its $schema must be {DIALECT}."
        waiting.extend(_items(value))
    return None


def _find_reserved_problem(schema: dict[str, Any]) -> str | None:
    if schema.get("type") != "object":
        return 'Its type must be exactly "object".'
    for key in ("properties", "dependentRequired", "dependentSchemas"):
        part = schema.get(key, {})
        if not isinstance(part, dict):
            return f"Its {key} must be an object."
        if RESERVED_ARGUMENT in part:
            return f"Its {key} must not name {RESERVED_ARGUMENT}: the hub adds that argument itself."
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "Its required must be a list of strings."
    if RESERVED_ARGUMENT in required:
        return f"Its required must not name {RESERVED_ARGUMENT}: the hub adds that argument itself."
    return None


def _find_metaschema_problem(schema: dict[str, Any]) -> str | None:
    try:
        _validator(canonical_json(schema))
    except (jsonschema_rs.ValidationError, ValueError) as error:
        message = getattr(error, "message", str(error))
        return f"It is not a JSON Schema of 2020-12: {message[:ECHOED_LENGTH_MAX]}"
    return None


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    """By the schema's canonical bytes: a deployment's tools are called over and over."""
    return jsonschema_rs.Draft202012Validator(
        json.loads(schema), retriever=_refuse_to_fetch, pattern_options=_PATTERN_OPTIONS, mask="the value"
    )


def find_argument_problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[dict[str, str]]:
    """`[{"path", "message"}]`, at most ten, without the values, which may be texts; empty when the arguments fit."""
    problems = []
    for error in _validator(canonical_json(schema)).iter_errors(arguments):
        path = "".join(f"/{part}" for part in error.instance_path)
        problems.append({"path": path, "message": error.message[:ECHOED_LENGTH_MAX]})
        if len(problems) == ARGUMENT_PROBLEMS_MAX:
            break
    return problems
