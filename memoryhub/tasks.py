"""The ground floor's jobs: shells around domain functions; each may run twice or never."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from memoryhub import (
    accounts,
    activity,
    audit,
    ids,
    job_runs,
    long_work,
    mail_digests,
    notices,
    quotas,
    webhook_sending,
    workers,
)
from memoryhub.progress import JOB_SECONDS_MAX, stopping


@shared_task(name="memoryhub.seal_audit")
def seal_audit() -> None:
    audit.seal_all()


@shared_task(name="memoryhub.count_usage")
def count_usage() -> None:
    quotas.count_usage()


@shared_task(name="memoryhub.clear_expired")
def clear_expired() -> None:
    accounts.clear_expired()
    long_work.clear_expired()
    webhook_sending.clear_expired()
    mail_digests.clear_expired()
    workers.clear_gone()
    workers.note_sweep("clear_expired")


@shared_task(name="memoryhub.run_job", time_limit=JOB_SECONDS_MAX + 60)
def run_job() -> None:
    """Whichever is next: the message only rings."""
    job_runs.run_next_job()


@shared_task(name="memoryhub.sweep_jobs")
def sweep_jobs() -> None:
    job_runs.sweep()


@shared_task(name=notices.SEND, time_limit=60)
def send_webhook(webhook_id: str) -> None:
    key = ids.from_wire(ids.WEBHOOK, webhook_id)
    assert key is not None, webhook_id
    webhook_sending.send_next(key)


@shared_task(name="memoryhub.sweep_webhooks")
def sweep_webhooks() -> None:
    webhook_sending.sweep()


@shared_task(name=mail_digests.SEND, time_limit=120)
def send_digest(member_id: str, environment_id: str) -> None:
    membership, environment = (
        ids.from_wire(prefix, wire_id)
        for prefix, wire_id in ((ids.MEMBERSHIP, member_id), (ids.ENVIRONMENT, environment_id))
    )
    assert membership is not None and environment is not None, (member_id, environment_id)
    mail_digests.send_digest(membership, environment)


@shared_task(name="memoryhub.sweep_mails")
def sweep_mails() -> None:
    mail_digests.sweep()


@worker_ready.connect
def begin_beating(sender: Any, **_: object) -> None:
    workers.begin(str(sender.hostname))


@worker_shutting_down.connect
def give_jobs_back(**_: object) -> None:
    stopping.set()


@shared_task(name="memoryhub.count_activity")
def count_activity() -> None:
    activity.count_activity()
