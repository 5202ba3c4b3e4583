"""The floor: the statements that the hub executes for an operation, recorded once and replayed bare by psycopg.

A recorded parameter that carries a value of the step (an id, the content, its digest) is a slot, filled anew at each
replay; so is an id that the hub made itself. Everything else is replayed as it was.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from memoryhub import ids

type Values = dict[str, Any]
MADE = "made-"  # slots of ids that the hub makes; each replay makes its own


@dataclass(frozen=True, slots=True)
class Slot:
    """The value itself; in a text an id stands as its 32 hex digits."""

    name: str

    def value(self, values: Values) -> Any:
        if self.name not in values and self.name.startswith(MADE):
            values[self.name] = ids.new_id()
        return values[self.name]


@dataclass(frozen=True, slots=True)
class Text:
    """A text or bytes with slots inside."""

    parts: tuple[str | Slot, ...]
    as_bytes: bool

    def value(self, values: Values) -> str | bytes:
        text = "".join(
            part if isinstance(part, str) else text_form(part.value(values)) for part in self.parts
        )
        return text.encode() if self.as_bytes else text


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    parameters: tuple[Any, ...]
    in_transaction: bool


def text_form(value: Any) -> str:
    return value.hex if isinstance(value, UUID) else str(value)


class Recorder:
    """Collects what a Django connection executes: `with connection.execute_wrapper(recorder): …`."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, Any, bool]] = []

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Mapping[str, Any]
    ) -> Any:
        assert not many, "no operation executes many at once"
        self.executed.append((sql, params, context["connection"].in_atomic_block))
        return execute(sql, params, many, context)

    def statements(self, values: Values, *, constant_ids: Iterable[UUID]) -> list[Statement]:
        """What was executed, with slots for `values` and for the ids that are none of `constant_ids`."""
        marker = _Marker(values, set(constant_ids))
        return [
            Statement(sql, tuple(marker.mark(value) for value in params or ()), in_transaction)
            for sql, params, in_transaction in self.executed
        ]


class _Marker:
    def __init__(self, values: Values, constant_ids: set[UUID]) -> None:
        self.names: dict[Any, str] = {value: name for name, value in values.items()}
        self.constant_ids = constant_ids

    def mark(self, value: Any) -> Any:
        if isinstance(value, UUID):
            return self._mark_id(value)
        if isinstance(value, int) and value in self.names:
            return Slot(self.names[value])
        if isinstance(value, str):
            return self._mark_text(str(value), as_bytes=False)  # an enum becomes its text
        if isinstance(value, bytes | memoryview):
            return self._mark_text(bytes(value).decode(), as_bytes=True)
        if isinstance(value, psycopg.Binary):
            return self.mark(value.obj)
        if isinstance(value, Jsonb):
            return Jsonb(self.mark(value.obj))
        if isinstance(value, dict):
            return {key: self.mark(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mark(item) for item in value]
        return value

    def _mark_id(self, value: UUID) -> UUID | Slot:
        if value in self.constant_ids:
            return value
        return Slot(self.names.setdefault(value, f"{MADE}{len(self.names)}"))

    def _mark_text(self, text: str, *, as_bytes: bool) -> Any:
        parts: list[str | Slot] = [text]
        for value, name in self.names.items():
            if not isinstance(value, int):  # a number is no part of a text
                parts = [piece for part in parts for piece in _split(part, text_form(value), name)]
        if any(isinstance(part, Slot) for part in parts):
            return Text(tuple(parts), as_bytes)
        return text.encode() if as_bytes else text


def _split(part: str | Slot, needle: str, name: str) -> list[str | Slot]:
    if isinstance(part, Slot) or needle not in part:
        return [part]
    pieces: list[str | Slot] = []
    for text in part.split(needle):
        pieces += [text, Slot(name)]
    return [piece for piece in pieces[:-1] if piece != ""]


def fill(parameter: Any, values: Values) -> Any:
    if isinstance(parameter, Slot | Text):
        return parameter.value(values)
    if isinstance(parameter, Jsonb):
        return Jsonb(fill(parameter.obj, values))
    if isinstance(parameter, dict):
        return {key: fill(item, values) for key, item in parameter.items()}
    if isinstance(parameter, list):
        return [fill(item, values) for item in parameter]
    return parameter


def replay(connection: psycopg.Connection, statements: Sequence[Statement], values: Values) -> None:
    """Execute them in order, those of a transaction within one, and read their rows."""
    for in_transaction, group in groupby(statements, lambda statement: statement.in_transaction):
        with connection.transaction() if in_transaction else nullcontext():
            for statement in group:
                cursor = connection.execute(
                    statement.sql, [fill(parameter, values) for parameter in statement.parameters]
                )
                if cursor.description is not None:
                    cursor.fetchall()
