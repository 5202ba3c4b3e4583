"""Tenancy in the foreign keys; audit rows that change once, when they are sealed."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key, refuse_changes

SEALED = """
    OLD.chain_index IS NULL AND NEW.chain_index IS NOT NULL AND NEW.chain_sha256 IS NOT NULL
    AND to_jsonb(NEW) - '{chain_index,chain_sha256}'::text[] = to_jsonb(OLD) - '{chain_index,chain_sha256}'::text[]
"""
PROJECT_GONE = "NOT EXISTS (SELECT 1 FROM memoryhub_project WHERE id = OLD.project_id)"


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0001_initial")]
    operations = [
        composite_foreign_key(
            "memoryhub_apikey", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        refuse_changes("memoryhub_auditevent", unless_update=SEALED, unless_delete=PROJECT_GONE),
    ]
