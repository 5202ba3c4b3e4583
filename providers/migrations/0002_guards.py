"""Tenancy in the foreign keys; what belongs to a session or a resource goes with it."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key


def _of(table: str, column: str, parent: str, on_delete: str = "CASCADE") -> migrations.RunSQL:
    return composite_foreign_key(f"providers_{table}", ["project_id", column], parent, on_delete=on_delete)


ENVIRONMENT, SESSION, STORE = "memoryhub_environment", "memoryhub_session", "stores_memorystore"


class Migration(migrations.Migration):
    dependencies = [
        ("providers", "0001_initial"),
        ("stores", "0006_document_guards"),
        ("memoryhub", "0008_session_guards"),
    ]
    operations = [
        _of("deployment", "environment_id", ENVIRONMENT),
        _of("promotion", "environment_id", ENVIRONMENT),
        _of("promotion", "deployment_id", "providers_deployment"),
        _of("resource", "environment_id", ENVIRONMENT),
        _of("resource", "store_id", STORE, "NO ACTION"),
        _of("namespace", "environment_id", ENVIRONMENT),
        _of("namespace", "resource_id", "providers_resource"),
        _of("pinneddeployment", "session_id", SESSION),
        _of("pinneddeployment", "deployment_id", "providers_deployment", "NO ACTION"),
        _of("binding", "session_id", SESSION),
        _of("binding", "resource_id", "providers_resource", "NO ACTION"),
        _of("binding", "namespace_id", "providers_namespace", "NO ACTION"),
        _of("modelrequest", "session_id", SESSION),
        _of("projection", "model_request_id", "providers_modelrequest"),
        _of("toolcall", "model_request_id", "providers_modelrequest"),
    ]
