"""How a process keeps its database connections. Imports nothing of Django: the settings read it."""

from contextlib import suppress
from typing import Any

from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

WAIT_SECONDS_MAX = 5
RECONNECT_SECONDS = 0.5


def pool_options(size: int) -> dict[str, Any]:
    """The arguments of a pool that is used again within a second of the database's return.

    Left alone it doubles the pause between its attempts, and after a long outage waits for minutes.
    """
    return {
        "min_size": 1,
        "max_size": size,
        "timeout": WAIT_SECONDS_MAX,
        "reconnect_timeout": RECONNECT_SECONDS,
        "reconnect_failed": begin_again,
    }


def begin_again(pool: ConnectionPool[Any]) -> None:
    """After an attempt was given up: ask for a connection, which begins a new one for those who still wait."""
    with suppress(PoolTimeout, PoolClosed):
        pool.putconn(pool.getconn(timeout=0.01))
