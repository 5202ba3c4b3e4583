"""What each store holds, counted in the background, and the indexes by which lists of stores are sorted and filtered."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Lower

from memoryhub.schema import composite_foreign_key

# Those that exist already are counted as the reader of the trail comes to them.
BEGIN = """
INSERT INTO stores_storetotals (store_id, project_id, environment_id, memories_count, size_bytes, changed_at)
SELECT id, project_id, environment_id, 0, 0, created_at FROM stores_memorystore
"""


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0005_activity"), ("stores", "0003_redacted_versions")]
    operations = [
        migrations.CreateModel(
            name="StoreTotals",
            fields=[
                (
                    "store",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="totals",
                        serialize=False,
                        to="stores.memorystore",
                    ),
                ),
                ("project_id", models.UUIDField()),
                ("environment_id", models.UUIDField()),
                ("memories_count", models.IntegerField(default=0)),
                ("size_bytes", models.BigIntegerField(default=0)),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        composite_foreign_key(
            "stores_storetotals", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"
        ),
        migrations.RunSQL(BEGIN, migrations.RunSQL.noop),
        migrations.AddIndex(
            "memorystore", models.Index("environment", Lower("name"), "id", name="memorystore_name")
        ),
        migrations.RunSQL(
            "CREATE INDEX memorystore_name_part ON stores_memorystore "
            "USING gin (environment_id, upper(name) gin_trgm_ops)",
            "DROP INDEX memorystore_name_part",
        ),
        *(
            migrations.AddIndex(
                "storetotals", models.Index(fields=["environment_id", column, "store"], name=f"storetotals_{name}")
            )
            for column, name in (("changed_at", "changed"), ("size_bytes", "size"), ("memories_count", "memories"))
        ),
    ]
