"""How long versions are kept; the database lets a version go only where its store's retention lets it."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

import memoryhub.columns
from memoryhub.schema import composite_foreign_key, refuse_changes

STORE_GONE = import_module("stores.migrations.0002_guards").STORE_GONE
REDACTED = import_module("stores.migrations.0006_document_guards").REDACTED
MARKED = """
    NEW.follows_removed AND NOT OLD.follows_removed
    AND to_jsonb(NEW) - 'follows_removed' = to_jsonb(OLD) - 'follows_removed'
"""
# Old enough, and not the newest of its memory: a current content and the record of a deletion never go so.
PAST = """
    EXISTS (SELECT 1 FROM stores_storeretention r
             WHERE r.store_id = OLD.store_id
               AND OLD.created_at < clock_timestamp() - r.days * interval '1 day')
    AND EXISTS (SELECT 1 FROM stores_memoryversion v
                 WHERE v.store_id = OLD.store_id AND v.memory_id = OLD.memory_id AND v.number > OLD.number)
"""


def _guard(unless_update: str, unless_delete: str) -> migrations.RunSQL:
    return refuse_changes("stores_memoryversion", unless_update=unless_update, unless_delete=unless_delete)


class Migration(migrations.Migration):

    dependencies = [
        ('stores', '0007_work'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorystore',
            name='history_from',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='memoryversion',
            name='follows_removed',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='StoreRetention',
            fields=[
                ('store', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='retention', serialize=False, to='stores.memorystore')),
                ('project_id', models.UUIDField()),
                ('days', models.IntegerField()),
                ('versions_min', models.IntegerField()),
                ('set_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('set_by_type', models.CharField(max_length=24)),
                ('set_by_id', models.CharField(max_length=64)),
                ('ran_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['ran_at', 'store'], name='storeretention_ran')],
                'constraints': [models.CheckConstraint(condition=models.Q(('days__gte', 1), ('versions_min__gte', 1)), name='storeretention_bounds')],
            },
        ),
        # Who removes a version asks whether a memory points to it: without, all memories of the project were looked through.
        migrations.AddIndex("memory", models.Index(fields=["project", "head"], name="memory_head")),
        composite_foreign_key(
            "stores_storeretention", ["project_id", "store_id"], "stores_memorystore", on_delete="CASCADE"
        ),
        migrations.RunSQL(_guard(REDACTED, STORE_GONE).reverse_sql, _guard(REDACTED, STORE_GONE).sql),
        _guard(f"({REDACTED}) OR ({MARKED})", f"({STORE_GONE}) OR ({PAST})"),
    ]
