"""How a process keeps its database connections. Imports nothing of Django: the settings read it."""

import select
from contextlib import suppress
from typing import Any

import psycopg
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
        "check": check_open,
    }


def check_open(connection: psycopg.Connection[Any]) -> None:
    """Before each use: raises OperationalError for a connection that the server has closed.

    An ended connection can be read from at once, an idle one cannot, so a good one costs no round trip. One that has
    something to say may still be good (the server tells of changed settings too), so it is asked.
    """
    unread = select.poll()
    unread.register(connection.fileno(), select.POLLIN)
    if unread.poll(0):
        ConnectionPool.check_connection(connection)


def begin_again(pool: ConnectionPool[Any]) -> None:
    """After an attempt was given up: ask for a connection, which begins a new one for those who still wait."""
    with suppress(PoolTimeout, PoolClosed):
        pool.putconn(pool.getconn(timeout=0.01))
