"""What an endpoint's answers wrote, and whether that was erased."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0007_endpoint_guards")]
    operations = [
        migrations.AddField("endpointoperation", "record_id", models.UUIDField(null=True)),
        migrations.AddField("endpointoperation", "erased_at", models.DateTimeField(null=True)),
    ]
