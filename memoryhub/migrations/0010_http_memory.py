"""HTTP memory is no preview any more: sessions may bind it unless an owner says otherwise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0009_activity_of_sessions")]
    operations = [
        migrations.AlterField("project", "http_memory", models.CharField(default="enabled", max_length=16)),
        migrations.RunSQL("UPDATE memoryhub_project SET http_memory = 'enabled'", migrations.RunSQL.noop),
    ]
