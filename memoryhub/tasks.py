"""The ground floor's jobs: shells around domain functions; each may run twice or never."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from memoryhub import accounts, activity, audit, job_runs, long_work, quotas, workers
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
    workers.clear_gone()
    workers.note_sweep("clear_expired")


@shared_task(name="memoryhub.run_job", time_limit=JOB_SECONDS_MAX + 60)
def run_job() -> None:
    """Whichever is next: the message only rings."""
    job_runs.run_next_job()


@shared_task(name="memoryhub.sweep_jobs")
def sweep_jobs() -> None:
    job_runs.sweep()


@worker_ready.connect
def begin_beating(sender: Any, **_: object) -> None:
    workers.begin(str(sender.hostname))


@worker_shutting_down.connect
def give_jobs_back(**_: object) -> None:
    stopping.set()


@shared_task(name="memoryhub.count_activity")
def count_activity() -> None:
    activity.count_activity()
