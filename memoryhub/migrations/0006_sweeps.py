"""When the jobs that nobody asks for ran last."""

import memoryhub.columns
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memoryhub', '0005_activity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Sweep',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('ran_at', models.DateTimeField(db_default=memoryhub.columns.ClockTimestamp())),
            ],
        ),
    ]
