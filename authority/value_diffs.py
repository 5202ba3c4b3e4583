"""What differs between two JSON values, field by field. Pure.

A field's path is a JSON Pointer (RFC 6901); the whole value's is empty. Objects and lists are compared entry by entry, as
long as both sides have one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from memoryhub.strict_json import json_text

FIELDS_MAX = 40
TEXT_LENGTH_MAX = 400
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Field:
    """`before` and `after`: the values as they are shown, cut; None on the side that has none."""

    path: str
    change: Literal["added", "removed", "changed"]
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """`is_cut`: there are more fields than are shown."""

    fields: list[Field]
    is_cut: bool


def diff_fields(before: Any, after: Any) -> FieldDiff:
    found = list(islice(_differences("", before, after), FIELDS_MAX + 1))
    return FieldDiff(found[:FIELDS_MAX], len(found) > FIELDS_MAX)


def _differences(path: str, before: Any, after: Any) -> Iterator[Field]:
    if type(before) is dict and type(after) is dict:
        for name in sorted(before.keys() | after.keys()):
            step = name.replace("~", "~0").replace("/", "~1")
            yield from _differences(f"{path}/{step}", before.get(name, _ABSENT), after.get(name, _ABSENT))
    elif type(before) is list and type(after) is list:
        for index in range(max(len(before), len(after))):
            old = before[index] if index < len(before) else _ABSENT
            new = after[index] if index < len(after) else _ABSENT
            yield from _differences(f"{path}/{index}", old, new)
    elif before is _ABSENT:
        yield Field(path, "added", None, shown(after))
    elif after is _ABSENT:
        yield Field(path, "removed", shown(before), None)
    elif type(before) is not type(after) or before != after:
        yield Field(path, "changed", shown(before), shown(after))


def shown(value: Any) -> str:
    """A text as it is, everything else as JSON; cut where it is long."""
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= TEXT_LENGTH_MAX else f"{text[:TEXT_LENGTH_MAX]}…"
