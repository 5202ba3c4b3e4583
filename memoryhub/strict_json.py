"""JSON as the hub accepts it: RFC 8259 in UTF-8, and nothing two parsers could read differently.

Refused beyond the grammar: duplicate keys, NaN and infinities, integers beyond 64 bits, NUL, lone surrogates,
nesting deeper than 64. Text is never trimmed or normalised.
"""

import json
import re
from typing import Any

NESTING_MAX = 64
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


class StrictJSONError(ValueError):
    """The bytes are not acceptable JSON. The message says why, without quoting content."""


def parse(raw: bytes, *, nesting_max: int = NESTING_MAX) -> Any:
    """Raises: StrictJSONError."""
    try:
        text = raw.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise StrictJSONError("The body is not valid UTF-8.") from error
    if _nesting(raw) > nesting_max:
        raise StrictJSONError(f"The body is nested deeper than {nesting_max} levels.")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except json.JSONDecodeError as error:
        raise StrictJSONError(
            f"The body is not valid JSON (line {error.lineno}, column {error.colno})."
        ) from error
    if b"\\u" in raw:  # only an escape can bring a NUL or half a surrogate pair into valid UTF-8
        _check_text(value)
    return value


def parse_object(raw: bytes) -> dict[str, Any]:
    """Raises: StrictJSONError, also for a value that is not one object."""
    value = parse(raw)
    if not isinstance(value, dict):
        raise StrictJSONError("The body must be one JSON object.")
    return value


def json_text(value: Any) -> str:
    """A value of JSON for people to read and to copy."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _nesting(raw: bytes) -> int:
    """The deepest nesting, without recursion: the parser would recurse first."""
    if raw.count(b"[") + raw.count(b"{") <= NESTING_MAX:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise StrictJSONError("An object of the body repeats a key.")
    return unique


def _refuse_constant(name: str) -> None:
    raise StrictJSONError(f"{name} is not JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise StrictJSONError("A number of the body is out of range.")
    return number


def _bounded(digits: str) -> int:
    if len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise StrictJSONError("A whole number of the body is beyond 64 bits.")
    return int(digits)


def _check_text(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item


def check_text(text: str) -> None:
    """Raises: StrictJSONError for text that PostgreSQL or UTF-8 cannot hold."""
    if "\0" in text:
        raise StrictJSONError("A string of the body holds a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StrictJSONError("A string of the body holds half a surrogate pair.") from error
