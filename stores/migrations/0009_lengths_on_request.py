from django.db import migrations


class Migration(migrations.Migration):
    """The index of lengths is for who asks for every row of a scope: see `memoryhub.ranking.EVERY_ROW`."""

    dependencies = [("stores", "0008_retention")]

    operations = [
        migrations.RunSQL(
            """
            DROP INDEX memoryindex_lengths;
            CREATE INDEX memoryindex_lengths ON stores_memoryindex (environment_id, store_id) INCLUDE (length)
             WHERE length >= 0
            """,
            """
            DROP INDEX memoryindex_lengths;
            CREATE INDEX memoryindex_lengths ON stores_memoryindex (environment_id, store_id) INCLUDE (length)
            """,
        ),
    ]
