from django.db import migrations


class Migration(migrations.Migration):
    """The index of lengths is for who asks for every row of a scope: see `memoryhub.ranking.EVERY_ROW`."""

    dependencies = [("providers", "0018_endpoint_backings")]

    operations = [
        migrations.RunSQL(
            """
            DROP INDEX recordindex_lengths;
            CREATE INDEX recordindex_lengths ON providers_recordindex (scope_id) INCLUDE (length) WHERE length >= 0
            """,
            """
            DROP INDEX recordindex_lengths;
            CREATE INDEX recordindex_lengths ON providers_recordindex (scope_id) INCLUDE (length)
            """,
        ),
    ]
