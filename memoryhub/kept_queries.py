"""Queries that Django writes once and runs many times, for paths where writing the SQL takes longer than running it.

A select is built with a marker in the place of each value, compiled at its first use in a process, and run with the values
from then on; its rows become models as Django makes them. So no value may choose the shape of a query: none may be None, and
no list may stand in the place of one.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models import FETCH_ONE, Model
from django.db.models.expressions import DatabaseDefault
from django.db.models.query import (
    QuerySet,
    get_related_populators,
)
from django.db.transaction import TransactionManagementError, mark_for_rollback_on_error

from memoryhub.columns import ClockTimestamp

type Value = UUID | str


@dataclass(frozen=True, slots=True)
class _Compiled:
    """`values`: what stands at each place of the SQL; `places`: the name of the value that belongs there."""

    sql: str
    values: tuple[Any, ...]
    places: dict[int, str]
    locks: bool
    make_row: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Asked[Row: Model]:
    """A select that is on its way: its rows, once."""

    _cursor: Any
    _make_row: Callable[[Sequence[Any]], Row]

    def rows(self) -> list[Row]:
        with self._cursor as cursor:
            return [self._make_row(row) for row in cursor.fetchall()]

    def row(self) -> Row | None:
        """Of a query by a unique key."""
        return next(iter(self.rows()), None)


class KeptSelect[Row: Model]:
    """`build` makes the query of values by their names; it is called once in a process for each set of names."""

    def __init__(self, build: Callable[..., QuerySet[Row]]) -> None:
        self._build = build
        self._compiled: dict[tuple[str, ...], _Compiled] = {}

    def ask(self, **values: Value) -> "Asked[Row]":
        """Within `together` without waiting. Raises: TransactionManagementError for a query that locks, outside a transaction."""
        assert None not in values.values(), "a query that is kept asks for no value that is not there"
        compiled = self._compiled.get(tuple(values))
        if compiled is None:
            compiled = self._compiled[tuple(values)] = _compile(self._build, values)
        if compiled.locks and not connection.in_atomic_block:
            raise TransactionManagementError("This query locks rows: it needs a transaction.")
        params = list(compiled.values)
        for place, name in compiled.places.items():
            params[place] = values[name]
        cursor = connection.cursor()
        cursor.execute(compiled.sql, params)
        return Asked(cursor, compiled.make_row)

    def rows(self, **values: Value) -> list[Row]:
        """Raises: as `ask`."""
        return self.ask(**values).rows()

    def row(self, **values: Value) -> Row | None:
        """The row of a query by a unique key, or None."""
        return next(iter(self.rows(**values)), None)


def _compile[Row: Model](build: Callable[..., QuerySet[Row]], values: dict[str, Value]) -> _Compiled:
    markers = {
        name: uuid.uuid4() if isinstance(value, UUID) else uuid.uuid4().hex for name, value in values.items()
    }
    query = build(**markers).query
    compiler = query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    names = {marker: name for name, marker in markers.items()}
    places = {
        place: names[param]
        for place, param in enumerate(params)
        if isinstance(param, Value.__value__) and param in names
    }
    assert set(places.values()) == set(values), "a value stands nowhere in the query"
    return _Compiled(sql, tuple(params), places, query.select_for_update, _row_maker(compiler))


def _row_maker(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """How a row of the compiled select becomes a model with what it is joined with, and its annotations."""
    klass_info, alias = compiler.klass_info, connection.alias
    start, end = klass_info["select_fields"][0], klass_info["select_fields"][-1] + 1
    names = [column.target.attname for column, *_ in compiler.select[start:end]]
    converters = compiler.get_converters(column for column, *_ in compiler.select)
    related = get_related_populators(klass_info, compiler.select, alias, FETCH_ONE)
    annotations = compiler.annotation_col_map or {}

    def make(row: Sequence[Any]) -> Any:
        values = list(row)
        for place, (convert, expression) in converters.items():
            for one in convert:
                values[place] = one(values[place], expression, connection)
        made = klass_info["model"].from_db(alias, names, values[start:end], fetch_mode=FETCH_ONE)
        for populator in related:
            populator.populate(values, made)
        for name, place in annotations.items():
            setattr(made, name, values[place])
        return made

    return make


# --- several at once ---

_sent: ContextVar[list[Callable[[], None]] | None] = ContextVar("sent", default=None)


@contextmanager
def together() -> Iterator[None]:
    """What is asked and written within it goes to the database one after the other, without waiting for the answers between.

    Selects are answered when their rows are asked for; what the database makes of written rows is in them at the end, and that
    is when an error comes. In a transaction only, and with the queries of this module alone.
    """
    assert connection.in_atomic_block, "several go together in a transaction"
    sent: list[Callable[[], None]] = []
    token = _sent.set(sent)
    try:
        with mark_for_rollback_on_error(using=connection.alias), connection.wrap_database_errors:
            with connection.connection.pipeline():
                yield
            for read_answer in sent:
                read_answer()
    finally:
        _sent.reset(token)


# --- rows written ---

_BY_DATABASE: dict[type, str] = {DatabaseDefault: "DEFAULT", ClockTimestamp: "clock_timestamp()"}


@dataclass(frozen=True, slots=True)
class _Written:
    """`sent`: the fields whose values go with the SQL; `returned`: those that the database makes."""

    sql: str
    sent: Sequence[Any]
    returned: Sequence[Any]


def insert_row(row: Model) -> None:
    """As `row.save(force_insert=True)`, for a model that nothing listens to."""
    fields = _all_fields(type(row))
    values = [field.pre_save(row, add=True) for field in fields]
    written = _insert_of(type(row), tuple(map(_by_database, values)))
    _write(row, written, fields, values)
    row._state.adding, row._state.db = False, connection.alias


def insert_rows(rows: Sequence[Model]) -> None:
    """All of one model, in one statement."""
    if len(rows) == 1:
        insert_row(rows[0])
    elif rows:
        type(rows[0])._default_manager.bulk_create(rows)


def update_row(row: Model, *names: str) -> None:
    """As `row.save(update_fields=names)`. Raises: DatabaseError when the row is not there."""
    fields = _named_fields(type(row), names)
    values = [field.pre_save(row, add=False) for field in fields]
    _write(row, _update_of(type(row), names, tuple(map(_by_database, values))), fields, values, row.pk)


def _by_database(value: Any) -> str | None:
    return _BY_DATABASE[type(value)] if hasattr(value, "resolve_expression") else None


def _write(row: Model, written: _Written, fields: Sequence[Any], values: Sequence[Any], *more: Any) -> None:
    by_field = dict(zip(fields, values, strict=True))
    params = [field.get_db_prep_save(by_field[field], connection) for field in written.sent]
    sent = _sent.get()
    with mark_for_rollback_on_error(using=connection.alias):
        cursor = connection.cursor()
        cursor.execute(written.sql, [*params, *more])
        if sent is None:
            _read_answer(cursor, row, written)
        else:
            sent.append(partial(_read_answer, cursor, row, written))


def _read_answer(cursor: Any, row: Model, written: _Written) -> None:
    """Raises: DatabaseError."""
    with cursor:
        answer = cursor.fetchone() if written.returned else ()
        if cursor.rowcount != 1:
            raise DatabaseError("The row that was to be written is not there.")
    for field, value in zip(written.returned, answer, strict=True):
        setattr(row, field.attname, value)


@cache
def _all_fields(model: type[Model]) -> Sequence[Any]:
    return [field for field in model._meta.concrete_fields if not field.generated]


@cache
def _named_fields(model: type[Model], names: tuple[str, ...]) -> Sequence[Any]:
    return [model._meta.get_field(name) for name in names]


@cache
def _insert_of(model: type[Model], made: tuple[str | None, ...]) -> _Written:
    fields = _all_fields(model)
    columns, values = ", ".join(map(_column, fields)), ", ".join(one or "%s" for one in made)
    return _written(
        f"INSERT INTO {_quoted(model._meta.db_table)} ({columns}) VALUES ({values})",  # noqa: S608 - names of models
        fields,
        made,
    )


@cache
def _update_of(model: type[Model], names: tuple[str, ...], made: tuple[str | None, ...]) -> _Written:
    fields = _named_fields(model, names)
    pairs = ", ".join(f"{_column(field)} = {one or '%s'}" for field, one in zip(fields, made, strict=True))
    sql = f"UPDATE {_quoted(model._meta.db_table)} SET {pairs} WHERE {_column(model._meta.pk)} = %s"  # noqa: S608
    return _written(sql, fields, made)


def _written(sql: str, fields: Sequence[Any], made: Sequence[str | None]) -> _Written:
    sent = [field for field, one in zip(fields, made, strict=True) if one is None]
    returned = [field for field, one in zip(fields, made, strict=True) if one is not None]
    returning = f" RETURNING {', '.join(map(_column, returned))}" if returned else ""
    return _Written(sql + returning, sent, returned)


def _column(field: Any) -> str:
    return _quoted(field.column)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
