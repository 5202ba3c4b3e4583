"""The stores' jobs: shells around domain functions; each may run twice or never."""

from celery import shared_task

from stores import totals


@shared_task(name="stores.count_totals")
def count_totals() -> None:
    totals.count_totals()
