"""Vectors of records, as an embedding backend makes them; they go with their record, and a record with its scope."""

import django.db.models.deletion
from django.db import migrations, models

from memoryhub.schema import composite_foreign_key


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0014_record_scopes_of_keys'),
        ('providers', '0015_records_in_sessions_guards'),
    ]

    operations = [
        migrations.CreateModel(
            name='RecordVector',
            fields=[
                ('record', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='vector', serialize=False, to='providers.memoryrecord')),
                ('model', models.CharField(max_length=128, null=True)),
                ('dim', models.PositiveSmallIntegerField(null=True)),
                ('vector', models.BinaryField(null=True)),
                ('content_sha256', models.BinaryField(max_length=32, null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='providers.recordscope')),
            ],
            options={
                'indexes': [models.Index(fields=['scope', '-record'], name='recordvector_scope'), models.Index(condition=models.Q(('vector__isnull', True)), fields=['claimed_until'], name='recordvector_waiting')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('content_sha256__isnull', True), ('dim__isnull', True), ('model__isnull', True), ('vector__isnull', True)), models.Q(('content_sha256__isnull', False), ('dim__isnull', False), ('model__isnull', False), ('vector__isnull', False)), _connector='OR'), name='recordvector_whole')],
            },
        ),
        composite_foreign_key(
            "providers_recordvector", ["project_id", "record_id"], "providers_memoryrecord", on_delete="CASCADE"
        ),
        composite_foreign_key(
            "providers_recordvector", ["project_id", "scope_id"], "providers_recordscope", on_delete="CASCADE"
        ),
        # Numbers of 16 bits: nothing is gained by trying to press them.
        migrations.RunSQL(
            "ALTER TABLE providers_recordvector ALTER COLUMN vector SET STORAGE EXTERNAL",
            "ALTER TABLE providers_recordvector ALTER COLUMN vector SET STORAGE EXTENDED",
        ),
    ]
