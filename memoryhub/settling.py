"""When a feed over numbers of a sequence may be read: after every transaction that could hold a lower number has ended.

Numbers are drawn before the commit, so a lower one may become visible after a higher one. To compare the writers'
transaction ids with the oldest running one is not enough: a writer may get its id first and its number last. So a
reader takes the greatest number it sees, then an id of its own, and waits until every older transaction is over.
It holds no lock and makes no writer wait, and it needs nothing that a dump does not carry to another server.
"""

import time

from django.db import connection
from django.db.backends.utils import CursorWrapper

SETTLING_SECONDS_MAX = 0.25
_PAUSE_SECONDS = 0.001


def wait_until_settled() -> bool:
    """Whether every transaction that had an id when this was called has ended, within `SETTLING_SECONDS_MAX`.

    A writer draws its number after it has locked a row, and so after it got its id.
    """
    deadline, pause = time.monotonic() + SETTLING_SECONDS_MAX, _PAUSE_SECONDS
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text")
        ours = cursor.fetchone()[0]
        while not _is_oldest(cursor, ours):
            if time.monotonic() + pause > deadline:
                return False
            time.sleep(pause)
            pause *= 2
    return True


def _is_oldest(cursor: CursorWrapper, transaction_id: str) -> bool:
    cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [transaction_id])
    return bool(cursor.fetchone()[0])
