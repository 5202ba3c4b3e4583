"""The ground floor's jobs: shells around domain functions; each may run twice or never."""

from celery import shared_task

from memoryhub import accounts, audit, quotas


@shared_task(name="memoryhub.seal_audit")
def seal_audit() -> None:
    audit.seal_all()


@shared_task(name="memoryhub.count_usage")
def count_usage() -> None:
    quotas.count_usage()


@shared_task(name="memoryhub.clear_expired")
def clear_expired() -> None:
    accounts.clear_expired()
