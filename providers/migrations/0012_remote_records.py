"""What other services keep of records: scopes and records there, without their texts."""

import django.db.models.deletion
import memoryhub.columns
import memoryhub.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0014_record_scopes_of_keys'),
        ('providers', '0011_record_guards'),
    ]

    operations = [
        migrations.CreateModel(
            name='RemoteScope',
            fields=[
                ('pk', models.CompositePrimaryKey('scope_id', 'provider', blank=True, editable=False, primary_key=True, serialize=False)),
                ('provider', models.CharField(max_length=64)),
                ('origin', models.CharField(max_length=320)),
                ('identity', models.CharField(max_length=64)),
                ('home', models.CharField(max_length=256, null=True)),
                ('refused_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='providers.recordscope')),
            ],
        ),
        migrations.CreateModel(
            name='RemoteRecord',
            fields=[
                ('id', models.UUIDField(default=memoryhub.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('provider', models.CharField(max_length=64)),
                ('record_id', models.CharField(max_length=64)),
                ('external_id', models.CharField(max_length=256, null=True)),
                ('name', models.CharField(max_length=64)),
                ('digest', models.BinaryField(max_length=32)),
                ('text_seal', models.CharField(max_length=32, null=True)),
                ('namespace', models.TextField()),
                ('binding_id', models.TextField()),
                ('origin', models.CharField(max_length=16)),
                ('version', models.CharField(max_length=64)),
                ('sends', models.IntegerField(default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('claim', models.UUIDField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('saved_at', models.DateTimeField(null=True)),
                ('forget_name', models.CharField(max_length=64, null=True)),
                ('forgetting_at', models.DateTimeField(null=True)),
                ('forgotten_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
                ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memoryhub.project')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='providers.recordscope')),
            ],
            options={
                'indexes': [models.Index(fields=['scope', 'provider', 'forget_name'], name='remoterecord_forget'), models.Index(fields=['text_seal'], name='remoterecord_text')],
                'constraints': [models.UniqueConstraint(fields=('scope', 'provider', 'record_id'), name='remoterecord_record_id'), models.UniqueConstraint(fields=('scope', 'provider', 'external_id'), name='remoterecord_external_id'), models.UniqueConstraint(fields=('scope', 'provider', 'name'), name='remoterecord_name')],
            },
        ),
    ]
