"""The jobs of declared memory: shells around domain functions; each may run twice or never."""

from uuid import UUID

from celery import shared_task
from django.conf import settings

from memoryhub import ids
from providers import (
    endpoint_calls,
    endpoint_erasures,
    http_calls,
    http_operations,
    provider_log,
    record_effects,
    record_search,
    record_vectors,
    record_writes,
    stale_calls,
)


@shared_task(name="providers.run_http_operation", time_limit=30)
def run_http_operation(operation_id: str) -> None:
    key = ids.from_wire(ids.HTTP_OPERATION, operation_id)
    assert key is not None, operation_id
    http_operations.run_operation(key)


@shared_task(name="providers.send_recall", time_limit=30)
def send_recall(operation_id: str) -> None:
    key = ids.from_wire(ids.HTTP_OPERATION, operation_id)
    assert key is not None, operation_id
    http_operations.run_handed_over(key)


@shared_task(name="providers.sweep_http_operations")
def sweep_http_operations() -> None:
    http_operations.sweep()


@shared_task(name="providers.sweep_effects", time_limit=300)
def sweep_effects() -> None:
    record_writes.expire_writes()  # first: what follows asks services, which may take all the time there is
    record_effects.sweep_effects()
    stale_calls.finish_stale()
    record_writes.sweep_writes()
    endpoint_erasures.sweep_erasures()


@shared_task(name=endpoint_erasures.ERASE, time_limit=300)
def erase_partition(partition_hex: str) -> None:
    endpoint_erasures.erase_partition(UUID(hex=partition_hex))


@shared_task(name=endpoint_erasures.FORGET_AGED, time_limit=300)
def forget_aged(partition_hex: str) -> None:
    endpoint_erasures.forget_aged(UUID(hex=partition_hex))


@shared_task(name=record_search.COUNT)
def count_records(scope_hex: str) -> None:
    record_search.count_records(UUID(hex=scope_hex))


@shared_task(name=record_vectors.EMBED, time_limit=300)
def embed_records() -> None:
    record_vectors.embed_records()


@shared_task(name="providers.sweep_vectors", time_limit=300)
def sweep_vectors() -> None:
    record_vectors.sweep_vectors()


@shared_task(name="providers.clear_expired")
def clear_expired() -> None:
    provider_log.clear_expired(days=settings.HTTP_OPERATION_DAYS)
    endpoint_calls.clear_expired()
    http_calls.clear_expired(
        bodies_hours=settings.HTTP_BODY_HOURS, operations_days=settings.HTTP_OPERATION_DAYS
    )
