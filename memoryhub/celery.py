"""The Celery application. Wiring only."""

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

app = Celery("memoryhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_logging(**_: object) -> None:
    """Somebody answers, so Celery leaves the hub's logging as it is: else the sealer's heads would be in no log."""
