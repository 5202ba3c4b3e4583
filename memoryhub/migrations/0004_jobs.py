"""Long work as rows, its files, and the workers that do it."""

import django.db.models.deletion
import memoryhub.columns
import memoryhub.ids
from django.conf import settings
from django.db import migrations, models

from memoryhub.schema import composite_foreign_key


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0003_browser_sessions'),
    ]

    operations = [
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('name', models.CharField(max_length=255, primary_key=True, serialize=False)),
                ('version', models.CharField(max_length=32)),
                ('started_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('seen_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
            ],
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=32)),
                ('arguments', models.JSONField()),
                ('subject_id', models.UUIDField(null=True)),
                ('state', models.CharField(default='waiting', max_length=16)),
                ('claim', models.UUIDField(null=True)),
                ('tries', models.SmallIntegerField(default=0)),
                ('steps_done', models.IntegerField(default=0)),
                ('steps', models.IntegerField(null=True)),
                ('outcome', models.JSONField(null=True)),
                ('problem', models.TextField(null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('started_at', models.DateTimeField(null=True)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('file_name', models.TextField(null=True)),
                ('file_bytes', models.BigIntegerField(null=True)),
                ('file_removed', models.CharField(max_length=16, null=True)),
                ('asked_by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('environment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.environment')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='JobChunk',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('position', models.IntegerField()),
                ('content', models.BinaryField()),
                ('job', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.job')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['environment', '-id'], name='job_environment'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('finished_at', None)), fields=['state'], name='job_unfinished'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('subject_id__isnull', False)), fields=['subject_id'], name='job_subject'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='job_project_id'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim', None), ('state__in', ('waiting', 'done', 'failed', 'cancelled'))), models.Q(('claim__isnull', False), ('heartbeat_at__isnull', False), ('state', 'running')), _connector='OR'), name='job_claim'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state__in', ('waiting', 'running'))), models.Q(('finished_at__isnull', False), ('state__in', ('done', 'failed', 'cancelled'))), _connector='OR'), name='job_finished'),
        ),
        migrations.AddConstraint(
            model_name='jobchunk',
            constraint=models.UniqueConstraint(fields=('job', 'position'), name='jobchunk_position'),
        ),
        composite_foreign_key(
            "memoryhub_job", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        composite_foreign_key("memoryhub_jobchunk", ["project_id", "job_id"], "memoryhub_job", on_delete="CASCADE"),
        # Archives: compressing what is read once costs more than it saves.
        migrations.RunSQL(
            "ALTER TABLE memoryhub_jobchunk ALTER COLUMN content SET STORAGE EXTERNAL",
            "ALTER TABLE memoryhub_jobchunk ALTER COLUMN content SET STORAGE EXTENDED",
        ),
    ]
