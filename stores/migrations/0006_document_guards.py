"""Tenancy in the foreign keys of attachments; a redacted version keeps nothing of a document's title and summary."""

from importlib import import_module

from django.db import migrations

from memoryhub.schema import composite_foreign_key, refuse_changes

guards = import_module("stores.migrations.0002_guards")
_BLANKED = "{path,content,content_size_bytes,content_sha256,title,summary,redacted_at,redacted_by_type,redacted_by_id}"
REDACTED = f"""
    OLD.redacted_at IS NULL AND NEW.redacted_at IS NOT NULL AND NEW.redacted_by_type IS NOT NULL
    AND NEW.path IS NULL AND NEW.content IS NULL AND NEW.content_size_bytes IS NULL AND NEW.content_sha256 IS NULL
    AND NEW.title IS NULL AND NEW.summary IS NULL
    AND to_jsonb(NEW) - '{_BLANKED}'::text[] = to_jsonb(OLD) - '{_BLANKED}'::text[]
"""


def _guard(unless_update: str) -> migrations.RunSQL:
    return refuse_changes("stores_memoryversion", unless_update=unless_update, unless_delete=guards.STORE_GONE)


class Migration(migrations.Migration):
    dependencies = [("stores", "0005_documents"), ("memoryhub", "0008_session_guards")]
    operations = [
        migrations.RunSQL(_guard(guards.REDACTED).reverse_sql, _guard(guards.REDACTED).sql),
        _guard(REDACTED),
        composite_foreign_key(
            "stores_attachment", ["project_id", "session_id"], "memoryhub_session", on_delete="CASCADE"
        ),
        composite_foreign_key(
            "stores_attachment", ["project_id", "store_id"], "stores_memorystore", on_delete="NO ACTION"
        ),
        composite_foreign_key(
            "stores_usedpath", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"
        ),
    ]
