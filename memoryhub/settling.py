"""Waiting for the holders of an advisory lock, without taking it: readers that must not make writers wait.

Numbers of a sequence are drawn before the commit, so a lower one may become visible after a higher one. Where every
writer holds a lock before it draws its number, a reader that has seen the greatest number waits for those who hold
the lock at that moment; after that nothing below the number can appear. It does not depend on other transactions of
the server, and nothing of it has to survive a dump.
"""

import time

from django.db import connection

SETTLING_SECONDS_MAX = 0.25
_PAUSE_SECONDS = 0.001
_PAUSE_SECONDS_MAX = 0.25
_HOLDERS = """
SELECT DISTINCT virtualtransaction FROM pg_locks
 WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND classid = %s AND objid = %s AND objsubid = 1
"""


def wait_for_holders(lock: int, *, seconds_max: float = SETTLING_SECONDS_MAX) -> bool:
    """Whether every transaction that held the lock when this was called has ended, within `seconds_max`.

    `lock` is the 64-bit number of a transaction-level advisory lock.
    """
    deadline, pause = time.monotonic() + seconds_max, _PAUSE_SECONDS
    awaited = _holders(lock)
    while awaited:
        if time.monotonic() + pause > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)
        awaited &= _holders(lock)
    return True


def _holders(lock: int) -> set[str]:
    """Who holds the lock: pg_locks shows a 64-bit one as its two halves."""
    high, low = divmod(lock % (1 << 64), 1 << 32)
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, [high, low])
        return {row[0] for row in cursor.fetchall()}
