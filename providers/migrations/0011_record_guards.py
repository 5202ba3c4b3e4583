"""Tenancy in the foreign keys of records; what is in a scope goes with it, and a scope with its environment."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key

SCOPE = "providers_recordscope"


def _in_scope(table: str) -> migrations.RunSQL:
    return composite_foreign_key(f"providers_{table}", ["project_id", "scope_id"], SCOPE, on_delete="CASCADE")


class Migration(migrations.Migration):
    dependencies = [("providers", "0010_records"), ("stores", "0002_guards")]
    operations = [
        composite_foreign_key(
            SCOPE, ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        _in_scope("recordbinding"),
        _in_scope("memoryrecord"),
        _in_scope("recordthread"),
        _in_scope("recordindex"),
        _in_scope("recordstatistics"),
        _in_scope("recordterm"),
        _in_scope("memoryeffect"),
        _in_scope("providercall"),
        _in_scope("scopeviolation"),
        composite_foreign_key(
            "providers_recordindex", ["project_id", "record_id"], "providers_memoryrecord", on_delete="CASCADE"
        ),
        # As the index of stores: a query reads the terms of every row that matches.
        migrations.RunSQL(
            "ALTER TABLE providers_recordindex ALTER COLUMN terms SET STORAGE EXTERNAL, SET (toast_tuple_target = 8160)",
            "ALTER TABLE providers_recordindex ALTER COLUMN terms SET STORAGE EXTENDED, RESET (toast_tuple_target)",
        ),
        migrations.RunSQL(
            "CREATE INDEX recordindex_terms ON providers_recordindex "
            "USING gin (scope_id, terms) WITH (fastupdate = off)",
            "DROP INDEX recordindex_terms",
        ),
        migrations.RunSQL(
            "CREATE INDEX recordindex_lengths ON providers_recordindex (scope_id) INCLUDE (length)",
            "DROP INDEX recordindex_lengths",
        ),
    ]
