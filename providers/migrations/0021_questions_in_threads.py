from django.db import migrations, models


class Migration(migrations.Migration):
    """A short question in a thread counts less than what answers it: those that are held are marked."""

    dependencies = [("providers", "0020_vectors_of_passages")]

    operations = [
        migrations.AddField("recordindex", "is_question", models.BooleanField(default=False, db_default=False)),
        migrations.RunSQL(
            r"""
            UPDATE providers_recordindex i SET is_question = true
              FROM providers_memoryrecord r
             WHERE r.id = i.record_id AND i.thread <> i.record_id AND i.length <= 24 AND r.text ~ '[?\uFF1F\u061F]\s*$'
            """,
            migrations.RunSQL.noop,
        ),
    ]
