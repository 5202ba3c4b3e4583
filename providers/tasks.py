"""The jobs of declared memory: shells around domain functions; each may run twice or never."""

from celery import shared_task
from django.conf import settings

from memoryhub import ids
from providers import endpoint_calls, http_operations


@shared_task(name="providers.run_http_operation", time_limit=30)
def run_http_operation(operation_id: str) -> None:
    key = ids.from_wire(ids.HTTP_OPERATION, operation_id)
    assert key is not None, operation_id
    http_operations.run_operation(key)


@shared_task(name="providers.sweep_http_operations")
def sweep_http_operations() -> None:
    http_operations.sweep()


@shared_task(name="providers.clear_expired")
def clear_expired() -> None:
    endpoint_calls.clear_expired()
    http_operations.clear_expired(
        bodies_hours=settings.HTTP_BODY_HOURS, operations_days=settings.HTTP_OPERATION_DAYS
    )
