"""Long reads of one moment: what commits meanwhile is not seen."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.transaction import atomic


@contextmanager
def snapshot(*, statement_seconds_max: int) -> Iterator[None]:
    """A read-only transaction whose statements see the same rows, each for at most `statement_seconds_max`."""
    with atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        allow_seconds(statement_seconds_max)
        yield


def allow_seconds(statement_seconds_max: int) -> None:
    """A step: let each statement of this transaction take longer than a request's may."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true)", [str(statement_seconds_max * 1_000)]
        )
