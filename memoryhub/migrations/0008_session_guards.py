"""Tenancy in the foreign keys of sessions and secrets."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key

ENVIRONMENT = ["project_id", "environment_id"]


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0007_sessions")]
    operations = [
        composite_foreign_key("memoryhub_session", ENVIRONMENT, "memoryhub_environment", on_delete="CASCADE"),
        composite_foreign_key("memoryhub_secret", ENVIRONMENT, "memoryhub_environment", on_delete="CASCADE"),
        composite_foreign_key(
            "memoryhub_sessionevent", ["project_id", "session_id"], "memoryhub_session", on_delete="CASCADE"
        ),
    ]
