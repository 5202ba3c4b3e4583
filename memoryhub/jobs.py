"""Work for later: a job is asked for by name, with ids only, after the change that needs it has committed.

The queue is a doorbell, not a record: a job may run twice or never, so the row is the truth and a sweeper rings again.
"""

import threading
from functools import partial

import structlog
from celery import current_app
from django.db import DatabaseError, InterfaceError, connection, transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger("memoryhub.jobs")


def enqueue(name: str, *ids: str) -> None:
    transaction.on_commit(partial(_send, name, ids))


def enqueue_or_run(name: str, *ids: str) -> None:
    """For what somebody waits for: while the queue is away a thread of this process does it."""
    transaction.on_commit(partial(_send_or_run, name, ids))


def _send(name: str, ids: tuple[str, ...]) -> bool:
    """Whether the queue has it."""
    try:
        current_app.send_task(name, args=ids, ignore_result=True)
    except OperationalError as error:  # the sweeper rings again
        log.warning("queue_unavailable", job=name, cause=type(error).__name__)
        return False
    return True


def _send_or_run(name: str, ids: tuple[str, ...]) -> None:
    if not _send(name, ids):
        threading.Thread(target=_run, args=[name, ids], name=name, daemon=True).start()


def _run(name: str, ids: tuple[str, ...]) -> None:
    """As a worker would: the row says whether it is still to be done."""
    try:
        current_app.loader.import_default_modules()
        current_app.tasks[name](*ids)
    except (DatabaseError, InterfaceError) as error:  # the sweeper takes over
        log.warning("job_failed", job=name, cause=type(error).__name__)
    finally:
        connection.close()
