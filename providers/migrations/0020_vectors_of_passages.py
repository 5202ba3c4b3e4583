from django.db import migrations


class Migration(migrations.Migration):
    """A long record has a vector for each of its passages: those that have one for all of it wait anew."""

    dependencies = [("providers", "0019_lengths_on_request")]

    operations = [
        migrations.RunSQL(
            """
            DO $$ BEGIN
                IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'providers_recordvector'::regclass
                              AND attname = 'near' AND format_type(atttypid, NULL) = 'halfvec') THEN
                    ALTER TABLE providers_recordvector ALTER COLUMN near TYPE halfvec[] USING ARRAY[near];
                END IF;
            END $$;
            UPDATE providers_recordvector v
               SET model = NULL, dim = NULL, vector = NULL, content_sha256 = NULL, claimed_until = NULL
              FROM providers_memoryrecord r
             WHERE r.id = v.record_id AND v.vector IS NOT NULL AND length(r.text) > 500
            """,
            migrations.RunSQL.noop,
        ),
    ]
