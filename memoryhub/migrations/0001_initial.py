import django.contrib.postgres.fields
import django.db.models.deletion
import memoryhub.columns
import memoryhub.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.RunSQL('CREATE SEQUENCE memoryhub_audit_number', 'DROP SEQUENCE memoryhub_audit_number'),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('name', models.CharField(blank=True, max_length=255)),
                ('is_active', models.BooleanField(default=True)),
                ('is_operator', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
            ],
        ),
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='usage', serialize=False, to='memoryhub.project')),
                ('memory_stores', models.BigIntegerField(default=0)),
                ('memories', models.BigIntegerField(default=0)),
                ('memory_versions', models.BigIntegerField(default=0)),
                ('version_bytes', models.BigIntegerField(default=0)),
                ('counted_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(max_length=16)),
                ('token_sha256', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='Environment',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='environments', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.BigIntegerField(db_default=memoryhub.columns.NextNumber('memoryhub_audit_number'), unique=True)),
                ('environment_id', models.UUIDField(null=True)),
                ('action', models.CharField(max_length=64)),
                ('actor_type', models.CharField(max_length=24)),
                ('actor_id', models.CharField(max_length=64)),
                ('subject_id', models.CharField(max_length=64)),
                ('parent_id', models.CharField(max_length=64, null=True)),
                ('details', models.JSONField()),
                ('request_id', models.CharField(max_length=64, null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('chain_index', models.BigIntegerField(null=True)),
                ('chain_sha256', models.CharField(max_length=64, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='audit_events', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16))),
                ('secret_sha256', models.BinaryField(max_length=32)),
                ('secret_hint', models.CharField(max_length=8)),
                ('stores', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('created_by_type', models.CharField(max_length=24, null=True)),
                ('created_by_id', models.CharField(max_length=64, null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('environment', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.environment')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='memoryhub.project')),
            ],
        ),
        migrations.CreateModel(
            name='SignInLink',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('token_sha256', models.BinaryField(max_length=32, unique=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_links', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(max_length=16)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='memoryhub.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'user'), name='membership_project_user')],
            },
        ),
        migrations.AddConstraint(
            model_name='environment',
            constraint=models.UniqueConstraint(fields=('project', 'id'), name='environment_project_id'),
        ),
        migrations.AddConstraint(
            model_name='environment',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='environment_project_name'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['project', '-number'], name='auditevent_project'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['subject_id'], name='auditevent_subject'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(condition=models.Q(('chain_index', None)), fields=['project', 'number'], name='auditevent_unsealed'),
        ),
        migrations.AddConstraint(
            model_name='auditevent',
            constraint=models.UniqueConstraint(fields=('project', 'chain_index'), name='auditevent_chain'),
        ),
        migrations.AddIndex(
            model_name='apikey',
            index=models.Index(fields=['project', '-id'], name='apikey_project'),
        ),
    ]
