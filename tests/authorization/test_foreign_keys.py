"""The database refuses too: a row of one project cannot name a row of another, whatever SQL is run."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from tests.authorization.conftest import Plots
from tests.authorization.snapshots import columns_by_table, undone

# What links two tables of tenants without the project in the key, and why that is enough.
SIMPLE_KEYS: dict[str, str] = {}
# Tables whose rows others hold, so that none can be taken away and come back: theirs are changed instead.
HELD = {"providers_binding", "providers_namespace", "providers_resource"}
# Tables whose rows never go: a second row is written, another in these columns.
APPENDED: dict[str, dict[str, Any]] = {
    "authority_space": {"space_id": "another", "authority_id": "another"},
    "authority_operation": {"sequence": 2**40, "operation_id": "another"},
    "authority_recordversion": {"key": "another"},
    "authority_hostcall": {"ordinal": 2**40},
    "authority_receipt": {"receipt_sha256": "e" * 64},
    "authority_route": {"nomination_id": "another"},
    "authority_program": {"program_id": "another"},
    "authority_nomination": {"nomination_sha256": "e" * 64},
    "memoryhub_webhookattempt": {"number": 2},
}
# Tables that no plot has rows of, and why.
EMPTY_TABLES: dict[str, str] = {
    "providers_httpattempt": "an attempt is made by a worker, over the network",
    "providers_externalitem": "an item comes in by the endpoint's own door",
    "providers_remotescope": "a scope at another service is made when that service is called",
    "providers_recordvector": "a vector is made of a record only where a backend was chosen",
    "providers_remoterecord": "a record at another service is made when that service is called",
}


@dataclass(frozen=True)
class ForeignKey:
    name: str
    table: str
    columns: list[str]
    parent: str
    parent_columns: list[str]

    @property
    def links(self) -> dict[str, str]:
        """Column -> the parent's column, without the project's."""
        pairs = zip(self.columns, self.parent_columns, strict=True)
        return {column: parent_column for column, parent_column in pairs if column != "project_id"}


def foreign_keys() -> list[ForeignKey]:
    """Between tables whose rows both name their project."""
    tenants = columns_by_table()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT conname, conrelid::regclass::text, {_columns('conkey', 'conrelid')}, "
            f"confrelid::regclass::text, {_columns('confkey', 'confrelid')} "
            "FROM pg_constraint WHERE contype = 'f' ORDER BY conname"
        )
        found = [ForeignKey(*row) for row in cursor.fetchall()]
    return [key for key in found if key.table in tenants and key.parent in tenants]


def _columns(numbers: str, table: str) -> str:
    return (
        f"(SELECT array_agg(attname::text ORDER BY place) FROM unnest({numbers}) WITH ORDINALITY AS k (number, place) "
        f"JOIN pg_attribute ON attrelid = {table} AND attnum = number)"
    )


@pytest.mark.django_db
def test_every_link_between_rows_of_tenants_carries_the_project() -> None:
    simple = {key.name for key in foreign_keys() if "project_id" not in key.columns}
    assert simple == SIMPLE_KEYS.keys()


def test_a_row_cannot_name_a_row_of_another_project(plots: Plots) -> None:
    keys = [key for key in foreign_keys() if "project_id" in key.columns]
    assert len(keys) >= 6
    refused = {
        key.name for key in keys if key.table not in EMPTY_TABLES and attach_across(key, plots) == key.name
    }
    assert refused == {key.name for key in keys if key.table not in EMPTY_TABLES}


def attach_across(key: ForeignKey, plots: Plots) -> str | None:
    """The constraint that refuses a row of mine naming a row of the other project; None when nothing does."""
    mine, theirs = plots.mine.tenant.project.id, plots.other_project.tenant.project.id
    row = row_of(key.table, mine)
    own_parent = {column: row[column] for column in key.links}
    foreign_row = row_of(key.parent, theirs)
    foreign_parent = {column: foreign_row[parent_column] for column, parent_column in key.links.items()}
    assert attach(key, row, own_parent) is None, f"{key.name}: refused for a row of the own project too"
    return attach(key, row, foreign_parent)


def attach(
    key: ForeignKey, row: dict[str, Any], values: dict[str, Any], *, alone: bool = False
) -> str | None:
    """The constraint that refuses a copy of the row with these values in place of the row.

    `alone`: in place of every other row with them too, where there may be only one.
    """
    changed = row | values
    second = APPENDED.get(key.table, {"number": 2**62} if "number" in row else None)
    if second is not None:
        changed |= {"id": str(uuid.uuid4())} | second  # these cannot be taken away
    with undone(), connection.cursor() as cursor:
        try:
            with transaction.atomic():
                if key.table in HELD:
                    columns = ", ".join(f"{column} = %s" for column in values)
                    cursor.execute(
                        f"UPDATE {key.table} t SET {columns} WHERE to_jsonb(t) = %s",
                        [*values.values(), Jsonb(row)],
                    )
                    assert cursor.rowcount == 1
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                    return None
                if second is None:
                    taken = " AND ".join(f"{column} = %s" for column in values)  # by a row that is to go too
                    cursor.execute(
                        f"DELETE FROM {key.table} t WHERE to_jsonb(t) = %s"
                        + (f" OR ({taken})" if alone else ""),
                        [Jsonb(row), *(values.values() if alone else ())],
                    )
                cursor.execute(
                    f"INSERT INTO {key.table} SELECT (jsonb_populate_record(NULL::{key.table}, %s)).*",
                    [Jsonb(changed)],
                )
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except IntegrityError as error:
            if isinstance(error.__cause__, UniqueViolation) and not alone:
                return attach(key, row, values, alone=True)
            return str(error.__cause__.diag.constraint_name)  # type: ignore[union-attr]
    return None


def row_of(table: str, project_id: uuid.UUID) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT to_jsonb(t)::text FROM {table} t WHERE project_id = %s ORDER BY 1 LIMIT 1", [project_id]
        )
        found = cursor.fetchone()
    assert found, f"{table} has no row of the plot: make one in plots.py, or list the table"
    return dict(json.loads(found[0]))
