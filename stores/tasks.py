"""The stores' jobs: shells around domain functions; each may run twice or never."""

from celery import shared_task

from memoryhub import workers
from stores import retention, retention_sweeps, totals, work_claims


@shared_task(name="stores.count_totals")
def count_totals() -> None:
    totals.count_totals()


@shared_task(name="stores.settle_work")
def settle_work() -> None:
    work_claims.settle_work()
    workers.note_sweep("settle_work")


@shared_task(name=retention.SWEEP)
def sweep_retention() -> None:
    retention_sweeps.sweep()
