import django.contrib.postgres.fields
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
        migrations.CreateModel(
            name='Space',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('space_id', models.CharField(max_length=128)),
                ('realm_id', models.CharField(max_length=128)),
                ('authority_id', models.CharField(max_length=128)),
                ('profile_kind', models.CharField(max_length=16)),
                ('binding_text', models.TextField()),
                ('binding_sha256', models.CharField(max_length=64)),
                ('sequence', models.BigIntegerField(default=0)),
                ('operation_sha256', models.CharField(max_length=64, null=True)),
                ('graph_revision_sha256', models.CharField(max_length=64, null=True)),
                ('records_sha256', models.CharField(max_length=64)),
                ('purge_receipt', models.TextField(null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('environment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.environment')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='RecordVersion',
            fields=[
                ('pk', models.CompositePrimaryKey('space_id', 'key', 'from_sequence', blank=True, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(db_collation='C', max_length=512)),
                ('from_sequence', models.BigIntegerField()),
                ('to_sequence', models.BigIntegerField(null=True)),
                ('kind', models.CharField(max_length=64)),
                ('record_sha256', models.CharField(max_length=64)),
                ('dependencies', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=512))),
                ('body', models.TextField()),
                ('body_bytes', models.IntegerField()),
                ('value', models.JSONField()),
                ('search', django.contrib.postgres.search.SearchVectorField()),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('space', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.space')),
            ],
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('sequence', models.BigIntegerField()),
                ('operation_id', models.CharField(max_length=128)),
                ('operation_sha256', models.CharField(max_length=64)),
                ('parent_sha256', models.CharField(max_length=64, null=True)),
                ('graph_revision_sha256', models.CharField(max_length=64)),
                ('records_sha256', models.CharField(max_length=64)),
                ('actor_id', models.CharField(max_length=128)),
                ('instant', models.CharField(max_length=24)),
                ('body', models.TextField()),
                ('body_bytes', models.IntegerField()),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('space', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.space')),
            ],
        ),
        migrations.CreateModel(
            name='Authority',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('actor_id', models.CharField(max_length=128)),
                ('adoption_actor_id', models.CharField(max_length=128)),
                ('pin_sequence', models.BigIntegerField()),
                ('pin_operation_sha256', models.CharField(max_length=64, null=True)),
                ('pin_graph_revision_sha256', models.CharField(max_length=64, null=True)),
                ('pin_records_sha256', models.CharField(max_length=64)),
                ('operation_bytes_max', models.IntegerField()),
                ('explanation_milliseconds', models.IntegerField()),
                ('next_ordinal', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('environment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.environment')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('canonical', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authority.space')),
                ('working', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='authority.space')),
            ],
        ),
        migrations.CreateModel(
            name='Clock',
            fields=[
                ('authority', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='authority.authority')),
                ('wall_milliseconds', models.BigIntegerField(default=0)),
                ('explanation_milliseconds', models.BigIntegerField(default=0)),
                ('next_explanation', models.BigIntegerField(default=1)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('authority', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='authority.authority')),
                ('attempt', models.UUIDField(null=True)),
                ('application', models.CharField(max_length=63, null=True)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='Explanation',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('issue', models.BigIntegerField()),
                ('token_sha256', models.CharField(max_length=64)),
                ('result_sha256', models.CharField(max_length=64)),
                ('body', models.TextField()),
                ('counted_bytes', models.IntegerField()),
                ('expires_milliseconds', models.BigIntegerField()),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('authority', 'token_sha256'), name='explanation_token'), models.UniqueConstraint(fields=('authority', 'issue'), name='explanation_issue')],
            },
        ),
        migrations.CreateModel(
            name='HostCall',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('ordinal', models.BigIntegerField()),
                ('method', models.CharField(max_length=24)),
                ('request', models.TextField()),
                ('request_sha256', models.CharField(max_length=64)),
                ('nomination_sha256', models.CharField(max_length=64, null=True)),
                ('state', models.CharField(default='queued', max_length=16)),
                ('attempt', models.UUIDField(null=True)),
                ('submitted_by_type', models.CharField(max_length=24)),
                ('submitted_by_id', models.CharField(max_length=64)),
                ('submitted_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('receipt_sha256', models.CharField(max_length=64, null=True)),
                ('error', models.JSONField(null=True)),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['authority', 'ordinal'], name='hostcall_unfinished'), models.Index(condition=models.Q(('nomination_sha256__isnull', False)), fields=['authority', 'nomination_sha256', '-ordinal'], name='hostcall_nomination'), models.Index(condition=models.Q(('error__code', 'outcome_unknown'), ('state', 'failed')), fields=['authority', '-ordinal'], name='hostcall_unknown')],
                'constraints': [models.UniqueConstraint(fields=('project', 'id'), name='hostcall_project_id'), models.UniqueConstraint(fields=('authority', 'ordinal'), name='hostcall_ordinal'), models.CheckConstraint(condition=models.Q(('method__in', ('advanceCanonical', 'adoptNomination'))), name='hostcall_method'), models.CheckConstraint(condition=models.Q(models.Q(('error__isnull', True), ('finished_at', None), ('receipt_sha256', None), ('state__in', ('queued', 'running'))), models.Q(('error__isnull', True), ('finished_at__isnull', False), ('receipt_sha256__isnull', False), ('state', 'succeeded')), models.Q(('error__isnull', False), ('finished_at__isnull', False), ('receipt_sha256', None), ('state', 'failed')), models.Q(('error__isnull', True), ('finished_at__isnull', False), ('receipt_sha256', None), ('state', 'withdrawn')), _connector='OR'), name='hostcall_state')],
            },
        ),
        migrations.CreateModel(
            name='Nomination',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('nomination_sha256', models.CharField(max_length=64)),
                ('nomination_id', models.CharField(max_length=128)),
                ('destination_purpose', models.CharField(max_length=256)),
                ('roots_sha256', models.CharField(max_length=64)),
                ('source_sequence', models.BigIntegerField()),
                ('records_count', models.IntegerField()),
                ('body', models.TextField()),
                ('body_bytes', models.IntegerField()),
                ('state', models.CharField(default='pending', max_length=16)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('created_by_type', models.CharField(max_length=24)),
                ('created_by_id', models.CharField(max_length=64)),
                ('note', models.TextField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('decided_by_type', models.CharField(max_length=24, null=True)),
                ('decided_by_id', models.CharField(max_length=64, null=True)),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('environment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.environment')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'indexes': [models.Index(fields=['authority', '-id'], name='nomination_authority'), models.Index(fields=['environment', 'id'], name='nomination_environment'), models.Index(condition=models.Q(('state__in', ('conflict', 'pending'))), fields=['environment', 'id'], name='nomination_waiting')],
                'constraints': [models.UniqueConstraint(fields=('authority', 'nomination_sha256'), name='nomination_sha256'), models.CheckConstraint(condition=models.Q(('state__in', ('pending', 'adopting', 'adopted', 'already_present', 'conflict', 'rejected', 'superseded'))), name='nomination_state')],
            },
        ),
        migrations.CreateModel(
            name='Program',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('program_id', models.CharField(max_length=128)),
                ('program_sha256', models.CharField(max_length=64)),
                ('body', models.TextField()),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('authority', 'program_id'), name='program_name')],
            },
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('host_call_id', models.UUIDField()),
                ('method', models.CharField(max_length=24)),
                ('receipt_sha256', models.CharField(max_length=64)),
                ('body', models.TextField()),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('authority', 'receipt_sha256'), name='receipt_sha256')],
            },
        ),
        migrations.CreateModel(
            name='Route',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('nomination_id', models.CharField(max_length=128)),
                ('destination_purpose', models.CharField(max_length=256)),
                ('authority', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='authority.authority')),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('authority', 'nomination_id'), name='route_name')],
            },
        ),
        migrations.AddIndex(
            model_name='space',
            index=models.Index(fields=['environment', '-id'], name='space_environment'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='space_project_id'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.UniqueConstraint(fields=('environment', 'space_id'), name='space_space_id'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.UniqueConstraint(fields=('environment', 'authority_id'), name='space_authority_id'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('graph_revision_sha256', None), ('operation_sha256', None), ('sequence', 0)), models.Q(('graph_revision_sha256__isnull', False), ('operation_sha256__isnull', False), ('sequence__gt', 0)), _connector='OR'), name='space_head'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.CheckConstraint(condition=models.Q(('profile_kind__in', ('canonical', 'working'))), name='space_kind'),
        ),
        migrations.AddConstraint(
            model_name='space',
            constraint=models.CheckConstraint(condition=models.Q(('purge_receipt', None), ('profile_kind', 'working'), _connector='OR'), name='space_purged'),
        ),
        migrations.AddIndex(
            model_name='recordversion',
            index=models.Index(fields=['space', 'from_sequence'], name='recordversion_begun'),
        ),
        migrations.AddIndex(
            model_name='recordversion',
            index=models.Index(condition=models.Q(('to_sequence__isnull', False)), fields=['space', 'to_sequence'], name='recordversion_ended'),
        ),
        migrations.AddConstraint(
            model_name='recordversion',
            constraint=models.UniqueConstraint(condition=models.Q(('to_sequence', None)), fields=('space', 'key'), name='recordversion_current'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(fields=('space', 'sequence'), name='operation_sequence'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(fields=('space', 'operation_id'), name='operation_operation_id'),
        ),
        migrations.AddIndex(
            model_name='authority',
            index=models.Index(fields=['environment', '-id'], name='authority_environment'),
        ),
        migrations.AddConstraint(
            model_name='authority',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='authority_project_id'),
        ),
        migrations.AddConstraint(
            model_name='authority',
            constraint=models.CheckConstraint(condition=models.Q(('canonical', models.F('working')), _negated=True), name='authority_two_spaces'),
        ),
        migrations.AddConstraint(
            model_name='authority',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('pin_graph_revision_sha256', None), ('pin_operation_sha256', None), ('pin_sequence', 0)), models.Q(('pin_graph_revision_sha256__isnull', False), ('pin_operation_sha256__isnull', False), ('pin_sequence__gt', 0)), _connector='OR'), name='authority_pin'),
        ),
    ]
