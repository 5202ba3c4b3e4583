"""Faults planted by SQL, past the guards of the database: what the hub's own code can never write."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection


def run_sql(statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """The rows it gives, [] for a statement that gives none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def unguarded(table: str) -> Iterator[None]:
    """The append-only trigger of a table is off, within the test's own transaction."""
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")  # a table with checks that wait cannot be altered
    run_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    try:
        yield
    finally:
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        run_sql(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        run_sql("SET CONSTRAINTS ALL DEFERRED")
