"""Operations and their attempts belong to their session and go with it."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key


def _of(table: str, column: str, parent: str, on_delete: str = "CASCADE") -> migrations.RunSQL:
    return composite_foreign_key(f"providers_{table}", ["project_id", column], parent, on_delete=on_delete)


class Migration(migrations.Migration):
    dependencies = [("providers", "0004_http_operations")]
    operations = [
        _of("httpoperation", "session_id", "memoryhub_session"),
        _of("httpoperation", "model_request_id", "providers_modelrequest"),
        _of("httpoperation", "tool_call_id", "providers_toolcall"),
        _of("httpoperation", "binding_id", "providers_binding", "NO ACTION"),
        _of("httpattempt", "operation_id", "providers_httpoperation"),
    ]
