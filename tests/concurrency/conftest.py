"""Fixtures of the races: no deadlock may be left to the server to end."""

from collections.abc import Iterator

import pytest
from django.db import connection

from memoryhub.embedded.processes import wait_until
from tests.live import LiveHub


def count_deadlocks() -> int:
    """How many deadlocks PostgreSQL has ended in this database, by what it has counted so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


@pytest.fixture
def without_deadlocks(live: LiveHub) -> Iterator[None]:
    """Fails the test that made PostgreSQL end a deadlock."""
    before = count_deadlocks()
    yield
    # A backend reports its counts at most once a second.
    assert not wait_until(lambda: count_deadlocks() > before, 0.2, step_seconds=0.1), (
        "PostgreSQL ended a deadlock"
    )
