"""The states of an operation, and places in the air: few calls at once for one origin and for one session. Who begins counts under the origin's lock."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memoryhub.kept_queries import KeptSelect
from providers.limits import ORIGIN_CALLS_MAX, SESSION_CALLS_MAX
from providers.models import HttpOperation

READY, SENDING, WAITING, DONE = "ready", "sending", "waiting", "done"
# Those that begin at one origin count one after the other; the time is that of the database, once it is this one's turn.
_HOLD_ORIGIN = (
    "SELECT clock_timestamp() FROM (SELECT pg_advisory_xact_lock(hashtextextended(%s, 11))) AS held"
)

_in_the_air = KeptSelect(
    lambda origin, session_id: HttpOperation.objects.filter(
        Q(origin=origin) | Q(session_id=session_id), state__in=[SENDING, WAITING]
    ).only("origin", "session_id")
)


@dataclass(frozen=True, slots=True)
class Place:
    """`now`: the database's time. `is_free` holds until the transaction ends."""

    is_free: bool
    now: datetime


def ask_place(origin: str, session_id: UUID) -> Callable[[], Place]:
    """A step: the session is locked. Who asks for several origins in one transaction asks in their order.

    What comes back is called for the answer, so that it can be asked for `together` with others.
    """
    cursor = connection.cursor()
    cursor.execute(_HOLD_ORIGIN, [origin])
    asked = _in_the_air.ask(origin=origin, session_id=session_id)

    def read() -> Place:
        with cursor:
            (now,) = cursor.fetchone()
        near = asked.rows()
        return Place(
            sum(one.origin == origin for one in near) < ORIGIN_CALLS_MAX
            and sum(one.session_id == session_id for one in near) < SESSION_CALLS_MAX,
            now,
        )

    return read
