"""When a secret was last sent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0010_http_memory")]
    operations = [migrations.AddField("secret", "last_used_at", models.DateTimeField(null=True))]
