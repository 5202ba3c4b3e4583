"""Tenancy in the foreign keys; versions that change once, when they are redacted, and go only with their store."""

from django.contrib.postgres.operations import BtreeGinExtension, TrigramExtension
from django.db import migrations

from memoryhub.schema import composite_foreign_key, refuse_changes

REDACTED = """
    OLD.redacted_at IS NULL AND NEW.redacted_at IS NOT NULL AND NEW.redacted_by_type IS NOT NULL
    AND NEW.path IS NULL AND NEW.content IS NULL AND NEW.content_size_bytes IS NULL AND NEW.content_sha256 IS NULL
    AND to_jsonb(NEW) - '{path,content,content_size_bytes,content_sha256,redacted_at,redacted_by_type,redacted_by_id}'::text[]
      = to_jsonb(OLD) - '{path,content,content_size_bytes,content_sha256,redacted_at,redacted_by_type,redacted_by_id}'::text[]
"""
STORE_GONE = "NOT EXISTS (SELECT 1 FROM stores_memorystore WHERE id = OLD.store_id)"


class Migration(migrations.Migration):
    dependencies = [("stores", "0001_initial"), ("memoryhub", "0002_guards")]
    operations = [
        BtreeGinExtension(),
        TrigramExtension(),
        composite_foreign_key(
            "stores_memorystore", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        composite_foreign_key("stores_memory", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"),
        composite_foreign_key(
            "stores_memoryversion", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"
        ),
        composite_foreign_key("stores_memory", ["project_id", "head_id"], "stores_memoryversion", on_delete="NO ACTION"),
        composite_foreign_key(
            "stores_memoryindex", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"
        ),
        composite_foreign_key(
            "stores_memoryindex", ["project_id", "memory_id"], "stores_memory", on_delete="CASCADE"
        ),
        refuse_changes("stores_memoryversion", unless_update=REDACTED, unless_delete=STORE_GONE),
        # A query reads the terms of every row that matches: up to the size of a page they stand in the row itself,
        # uncompressed. Compressed beside it, each would be fetched and expanded once for each word.
        migrations.RunSQL(
            "ALTER TABLE stores_memoryindex ALTER COLUMN terms SET STORAGE EXTERNAL, SET (toast_tuple_target = 8160)",
            "ALTER TABLE stores_memoryindex ALTER COLUMN terms SET STORAGE EXTENDED, RESET (toast_tuple_target)",
        ),
        # Search asks for the lexemes within a store or within an environment.
        migrations.RunSQL(
            "CREATE INDEX memoryindex_terms ON stores_memoryindex "
            "USING gin (environment_id, store_id, terms) WITH (fastupdate = off)",
            "DROP INDEX memoryindex_terms",
        ),
        migrations.RunSQL(
            "CREATE INDEX memoryindex_lengths ON stores_memoryindex (environment_id, store_id) INCLUDE (length)",
            "DROP INDEX memoryindex_lengths",
        ),
    ]
