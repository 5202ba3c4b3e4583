"""Work for later: a job is asked for by name, with ids only, after the change that needs it has committed.

The queue is a doorbell, not a record: a job may run twice or never, so the row is the truth and a sweeper rings again.
"""

from functools import partial

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger("memoryhub.jobs")


def enqueue(name: str, *ids: str) -> None:
    transaction.on_commit(partial(_send, name, ids))


def _send(name: str, ids: tuple[str, ...]) -> None:
    try:
        current_app.send_task(name, args=ids, ignore_result=True)
    except OperationalError as error:  # the sweeper rings again
        log.warning("queue_unavailable", job=name, cause=type(error).__name__)
