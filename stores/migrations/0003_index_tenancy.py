"""Tenancy in the last foreign key: a search row can only name a memory of its own project."""

from django.db import migrations, models

from memoryhub.schema import composite_foreign_key

INDEX = "stores_memoryindex"


class Migration(migrations.Migration):
    dependencies = [("stores", "0002_guards")]
    operations = [
        migrations.AddConstraint(
            "memory", models.UniqueConstraint(fields=["project", "id"], name="memory_project_id")
        ),
        migrations.RunSQL(
            f"ALTER TABLE {INDEX} DROP CONSTRAINT {INDEX}_memory_id_fk",
            f"ALTER TABLE {INDEX} ADD CONSTRAINT {INDEX}_memory_id_fk FOREIGN KEY (memory_id) "
            "REFERENCES stores_memory (id) ON DELETE CASCADE DEFERRABLE INITIALLY IMMEDIATE",
        ),
        composite_foreign_key(INDEX, ["project_id", "memory_id"], "stores_memory", on_delete="CASCADE"),
    ]
