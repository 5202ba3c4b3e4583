"""Tenancy in the foreign keys of endpoints; what hosts keep in one goes with it."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key


def _of(table: str, column: str, parent: str) -> migrations.RunSQL:
    return composite_foreign_key(f"providers_{table}", ["project_id", column], parent, on_delete="CASCADE")


class Migration(migrations.Migration):
    dependencies = [("providers", "0006_endpoints")]
    operations = [
        _of("endpoint", "environment_id", "memoryhub_environment"),
        _of("endpointcredential", "endpoint_id", "providers_endpoint"),
        _of("externalpartition", "endpoint_id", "providers_endpoint"),
        _of("externalrecord", "partition_id", "providers_externalpartition"),
        _of("externalitem", "partition_id", "providers_externalpartition"),
        _of("endpointoperation", "partition_id", "providers_externalpartition"),
    ]
