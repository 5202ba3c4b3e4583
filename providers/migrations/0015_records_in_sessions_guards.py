"""Tenancy in the foreign keys of records in sessions, which go with their session and their scope."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key


def _of(table: str, column: str, parent: str) -> migrations.RunSQL:
    return composite_foreign_key(f"providers_{table}", ["project_id", column], parent, on_delete="CASCADE")


class Migration(migrations.Migration):
    dependencies = [("providers", "0014_records_in_sessions")]
    operations = [
        _of(table, column, parent)
        for table in ("recalleditem", "recordwrite")
        for column, parent in (
            ("scope_id", "providers_recordscope"),
            ("session_id", "memoryhub_session"),
            ("tool_call_id", "providers_toolcall"),
        )
    ]
