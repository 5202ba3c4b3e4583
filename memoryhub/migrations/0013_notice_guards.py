"""Tenancy in the foreign keys of webhooks, notices and mails; what belongs to a deleted thing goes with it."""

from django.db import migrations

from memoryhub.schema import composite_foreign_key

ENVIRONMENT = ["project_id", "environment_id"]
IN_ENVIRONMENT = ("webhook", "notice", "mailitem", "maildigest")
WITHIN = (
    ("webhookdelivery", "webhook"),
    ("webhookdelivery", "notice"),
    ("webhookattempt", "webhookdelivery"),
    ("mailitem", "notice"),
    ("mailwish", "membership"),
    ("mailitem", "membership"),
    ("maildigest", "membership"),
)
COLUMNS = {
    "webhook": "webhook_id",
    "notice": "notice_id",
    "webhookdelivery": "delivery_id",
    "membership": "membership_id",
}


class Migration(migrations.Migration):
    dependencies = [("memoryhub", "0012_notices")]
    operations = [
        *(
            composite_foreign_key(
                f"memoryhub_{table}", ENVIRONMENT, "memoryhub_environment", on_delete="CASCADE"
            )
            for table in IN_ENVIRONMENT
        ),
        *(
            composite_foreign_key(
                f"memoryhub_{table}",
                ["project_id", COLUMNS[parent]],
                f"memoryhub_{parent}",
                on_delete="CASCADE",
            )
            for table, parent in WITHIN
        ),
    ]
