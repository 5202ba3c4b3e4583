"""The changes of each day, counted along the sealed trail; an index for the newest events of an environment."""

import django.db.models.deletion
from django.db import migrations, models

from memoryhub.schema import composite_foreign_key


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0004_jobs")]
    operations = [
        migrations.CreateModel(
            name="ActivityDay",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "environment_id", "day", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memoryhub.project"
                    ),
                ),
                ("environment_id", models.UUIDField()),
                ("day", models.DateField()),
                ("changes", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="TrailMark",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "reader", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memoryhub.project",
                    ),
                ),
                ("reader", models.CharField(max_length=32)),
                ("chain_index", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.AddIndex(
            "auditevent", models.Index(fields=["environment_id", "-number"], name="auditevent_environment")
        ),
        composite_foreign_key(
            "memoryhub_activityday", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
    ]
