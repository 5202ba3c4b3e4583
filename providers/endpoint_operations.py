"""What every operation of an endpoint passes, whoever keeps the records: no statement that outlasts its caller, the lock of its
partition, and the row by which it is known again.

Source: contract of document and HTTP memory, sections 13.2, 13.4 and 13.7.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connection
from psycopg import errors as postgres

from memoryhub.rows import find_row
from providers.endpoint_models import Endpoint, EndpointOperation, ExternalPartition
from providers.endpoint_wire import Answer, Refusal, WireRequest

_MILLISECONDS = 1_000


def bound_statements(request: WireRequest) -> None:
    """No statement and no lock outlasts the caller."""
    left = max(1, int(request.seconds_left * _MILLISECONDS))
    most = min(left, settings.STATEMENT_TIMEOUT_SECONDS * _MILLISECONDS)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
            [str(most), str(most)],
        )


@contextmanager
def refusing_late() -> Iterator[None]:
    """Raises: Refusal when another run of the operation outlasts the caller."""
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, postgres.LockNotAvailable | postgres.QueryCanceled):
            raise in_progress() from error
        raise


def in_progress() -> Refusal:
    return Refusal(503, "in_progress", "The operation is under way.", headers={"Retry-After": "1"})


def find_partition(endpoint: Endpoint, partition: str) -> ExternalPartition | None:
    return find_row(ExternalPartition.objects.filter(endpoint_id=endpoint.id, partition=partition))


def lock_partition(endpoint: Endpoint, partition: str) -> ExternalPartition:
    """A step: the partition, made at its first write, held alone. Raises: Refusal."""
    made, _ = ExternalPartition.objects.get_or_create(
        endpoint=endpoint, partition=partition, defaults={"project_id": endpoint.project_id}
    )
    held = find_row(ExternalPartition.objects.select_for_update(no_key=True).filter(id=made.id))
    if held is None:  # it was deleted meanwhile, and begins anew when the host asks again
        raise in_progress()
    return held


def find_operation(partition: ExternalPartition, request: WireRequest) -> EndpointOperation | None:
    """Raises: Refusal when its id did something else, or what it wrote was erased."""
    known = find_row(
        EndpointOperation.objects.filter(partition_id=partition.id, operation_id=request.operation_id)
    )
    if known is not None and known.erased_at is not None:
        raise erased()
    if known is not None and known.fingerprint != request.fingerprint():
        raise mismatch()
    return known


def erased() -> Refusal:
    return Refusal(410, "erased", "What this operation wrote was erased.")


def mismatch() -> Refusal:
    return Refusal(422, "operation_mismatch", "This operation id did something else.")


def answer_again(known: EndpointOperation) -> Answer:
    return Answer(known.status, bytes(known.body))


def require_writable(partition: ExternalPartition) -> None:
    """Not kept for replay: after an unfreezing the operation may be done. Raises: Refusal."""
    if partition.erasing_at is not None:
        raise Refusal(403, "frozen", "The owner of this endpoint is deleting the partition.")
    if partition.frozen_at is not None:
        raise Refusal(403, "frozen", "The owner of this endpoint has frozen the partition.")
