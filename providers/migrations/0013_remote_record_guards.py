"""Tenancy in the foreign keys of remote records, which go with their scope."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key


def _in_scope(table: str) -> migrations.RunSQL:
    return composite_foreign_key(
        f"providers_{table}", ["project_id", "scope_id"], "providers_recordscope", on_delete="CASCADE"
    )


class Migration(migrations.Migration):
    dependencies = [("providers", "0012_remote_records")]
    operations = [_in_scope("remotescope"), _in_scope("remoterecord")]
