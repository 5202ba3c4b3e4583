import django.contrib.postgres.search
import django.db.models.deletion
import memoryhub.columns
import memoryhub.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memoryhub', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL('CREATE SEQUENCE stores_version_number', 'DROP SEQUENCE stores_version_number'),
        migrations.CreateModel(
            name='Memory',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('path', models.TextField()),
                ('path_key', models.BinaryField()),
                ('content_size_bytes', models.IntegerField()),
                ('content_sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('frozen_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='MemoryIndex',
            fields=[
                ('memory', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='stores.memory')),
                ('project_id', models.UUIDField()),
                ('environment_id', models.UUIDField()),
                ('store_id', models.UUIDField()),
                ('length', models.IntegerField()),
                ('terms', django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.CreateModel(
            name='MemoryStore',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.TextField()),
                ('description', models.TextField()),
                ('metadata', models.JSONField()),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('updated_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('archived_at', models.DateTimeField(null=True)),
                ('frozen_at', models.DateTimeField(null=True)),
                ('environment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='memory_stores', to='memoryhub.environment')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memory_stores', to='memoryhub.project')),
            ],
        ),
        migrations.AddField(
            model_name='memory',
            name='store',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='memories', to='stores.memorystore'),
        ),
        migrations.CreateModel(
            name='MemoryVersion',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.BigIntegerField(db_default=memoryhub.columns.NextNumber('stores_version_number'), unique=True)),
                ('memory_id', models.UUIDField()),
                ('operation', models.CharField(max_length=8)),
                ('path', models.TextField(null=True)),
                ('content', models.TextField(null=True)),
                ('content_size_bytes', models.IntegerField(null=True)),
                ('content_sha256', models.CharField(max_length=64, null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('created_by_type', models.CharField(max_length=24)),
                ('created_by_id', models.CharField(max_length=64)),
                ('redacted_at', models.DateTimeField(null=True)),
                ('redacted_by_type', models.CharField(max_length=24, null=True)),
                ('redacted_by_id', models.CharField(max_length=64, null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('store', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='versions', to='stores.memorystore')),
            ],
        ),
        migrations.AddField(
            model_name='memory',
            name='head',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='stores.memoryversion'),
        ),
        migrations.AddIndex(
            model_name='memorystore',
            index=models.Index(fields=['environment', '-created_at', '-id'], name='memorystore_environment'),
        ),
        migrations.AddIndex(
            model_name='memorystore',
            index=models.Index(fields=['project', '-created_at', '-id'], name='memorystore_project'),
        ),
        migrations.AddConstraint(
            model_name='memorystore',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='memorystore_project_id'),
        ),
        migrations.AddIndex(
            model_name='memoryversion',
            index=models.Index(fields=['store', '-number'], name='memoryversion_store'),
        ),
        migrations.AddIndex(
            model_name='memoryversion',
            index=models.Index(fields=['store', 'memory_id', '-number'], name='memoryversion_memory'),
        ),
        migrations.AddIndex(
            model_name='memoryversion',
            index=models.Index(fields=['project', 'content_sha256'], name='memoryversion_sha256'),
        ),
        migrations.AddConstraint(
            model_name='memoryversion',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='memoryversion_project_id'),
        ),
        migrations.AddConstraint(
            model_name='memory',
            constraint=models.UniqueConstraint(fields=('store', 'path_key'), name='memory_store_path'),
        ),
        migrations.AddConstraint(
            model_name='memory',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='memory_project_id'),
        ),
    ]
