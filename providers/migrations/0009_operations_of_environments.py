"""Operations are found by their environment and resource: the newest of one provider, however many there are beside."""

import django.db.models.deletion
from django.db import migrations, models

from memoryhub.schema import composite_foreign_key


def _environment(**options: bool) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to="memoryhub.environment",
        **options,
    )


class Migration(migrations.Migration):
    dependencies = [("providers", "0008_erased_answers"), ("memoryhub", "0010_http_memory")]
    operations = [
        migrations.AddField("httpoperation", "environment", _environment(null=True)),
        migrations.RunSQL(
            "UPDATE providers_httpoperation o SET environment_id = s.environment_id"
            " FROM memoryhub_session s WHERE s.id = o.session_id",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField("httpoperation", "environment", _environment()),
        migrations.AddIndex(
            "httpoperation",
            models.Index(fields=["environment", "resource_id", "-id"], name="httpoperation_resource"),
        ),
        composite_foreign_key(
            "providers_httpoperation",
            ["project_id", "environment_id"],
            "memoryhub_environment",
            on_delete="CASCADE",
        ),
    ]
