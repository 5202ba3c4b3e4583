"""SQL that migrations share: composite foreign keys that carry the tenant, and rows the database keeps from changing."""

from collections.abc import Sequence
from typing import Literal

from django.db import migrations


def composite_foreign_key(
    table: str,
    columns: Sequence[str],
    parent: str,
    *,
    parent_columns: Sequence[str] = ("project_id", "id"),
    on_delete: Literal["CASCADE", "NO ACTION"],
) -> migrations.RunSQL:
    """A row can only name a parent of its own project: the tenant is part of the key.

    NO ACTION is checked at the end of the transaction, so that two cascades from one parent may come in any order.
    """
    when = "IMMEDIATE" if on_delete == "CASCADE" else "DEFERRED"
    name = f"{table}_{'_'.join(columns)}_fk"[:63]
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({', '.join(columns)}) "
        f"REFERENCES {parent} ({', '.join(parent_columns)}) ON DELETE {on_delete} DEFERRABLE INITIALLY {when}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


def refuse_changes(table: str, *, unless_update: str, unless_delete: str) -> migrations.RunSQL:
    """A trigger that refuses every UPDATE and DELETE of `table`, except where a condition over OLD and NEW holds."""
    return migrations.RunSQL(
        f"""
        CREATE FUNCTION {table}_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' AND ({unless_update}) THEN RETURN NEW; END IF;
            IF TG_OP = 'DELETE' AND ({unless_delete}) THEN RETURN OLD; END IF;
            RAISE EXCEPTION '{table} rows are append-only' USING ERRCODE = 'integrity_constraint_violation';
        END $$;
        CREATE TRIGGER {table}_refuse_change BEFORE UPDATE OR DELETE ON {table}
            FOR EACH ROW EXECUTE FUNCTION {table}_refuse_change();
        CREATE FUNCTION {table}_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('memoryhub.allow_truncate', true) = 'on' THEN RETURN NULL; END IF;
            RAISE EXCEPTION '{table} rows are append-only' USING ERRCODE = 'integrity_constraint_violation';
        END $$;
        CREATE TRIGGER {table}_refuse_truncate BEFORE TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse_truncate();
        """,
        f"""
        DROP TRIGGER {table}_refuse_change ON {table}; DROP FUNCTION {table}_refuse_change;
        DROP TRIGGER {table}_refuse_truncate ON {table}; DROP FUNCTION {table}_refuse_truncate;
        """,
    )
