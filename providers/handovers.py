"""Recalls that are handed over: claimed in the transaction that asks for them, and taken by the run that sends them.

Who asks has the session locked and has just read what is bound, so all that a claim looks at is there, and the run needs one
statement to begin. A recall only reads: to begin it again does no harm. Until it is taken its claim is its own id. One that is
taken late, or of which anything changed meanwhile, is claimed as any other operation, and its ten seconds begin anew.
"""

from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub.columns import ClockTimestamp
from providers.models import HttpOperation
from providers.places import READY, SENDING

LATE_SECONDS = 0.5
_TAKE = f"""
UPDATE providers_httpoperation AS o SET claim = %s, beat_at = clock_timestamp()
 WHERE o.id = %s AND o.claim = o.id AND o.state = '{SENDING}' AND o.cancelled_at IS NULL
   AND o.beat_at > clock_timestamp() - interval '{LATE_SECONDS} s'
   AND EXISTS (SELECT FROM memoryhub_session s WHERE s.id = o.session_id AND s.ended_at IS NULL)
   AND EXISTS (SELECT FROM providers_binding b WHERE b.id = o.binding_id AND b.revoked_at IS NULL)
RETURNING o.*
"""  # noqa: S608 - constants


def hand_over(operation: HttpOperation) -> None:
    """A step, before the row is written: its first attempt is under way as soon as somebody takes it."""
    operation.state, operation.claim, operation.attempt = SENDING, operation.id, 1
    operation.beat_at = ClockTimestamp()


def take(operation_id: UUID, claim: UUID) -> HttpOperation | None:
    """The operation, which is this run's from now on; None when it was not handed over, or may no longer be sent as it is.

    `beat_at` is the database's time at which it was taken.
    """
    with atomic():
        commit_early()
        return next(iter(HttpOperation.objects.raw(_TAKE, [claim, operation_id])), None)


def let_go(operation: HttpOperation) -> None:
    """It was taken and not sent: it is claimed as any other."""
    HttpOperation.objects.filter(id=operation.id, claim=operation.claim).update(claim=F("id"))


def commit_early() -> None:
    """The claim of what only reads need not reach the disk before it is sent: a database that fails just then forgets that it was
    begun, and it is begun again. What comes of it is committed as everything is.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")


_AS_BEFORE = dict.fromkeys(("claim", "body", "beat_at", "started_at", "deadline_at")) | {
    "state": READY,
    "attempt": 0,
}


def take_back(operation: HttpOperation) -> bool:
    """A step: whether it was handed over and nobody has taken it. Then it is as it was before, in its row and here."""
    untaken = HttpOperation.objects.filter(id=operation.id, state=SENDING, claim=operation.id)
    if not operation.is_untaken or not untaken.update(**_AS_BEFORE):
        return False
    for name, value in _AS_BEFORE.items():
        setattr(operation, name, value)
    return True


def find_untaken(operations: QuerySet[HttpOperation], *, seconds: float) -> QuerySet[HttpOperation]:
    """Those that nobody has taken for so long."""
    before = ClockTimestamp() - timedelta(seconds=seconds)
    return operations.filter(state=SENDING, claim=F("id"), beat_at__lt=before)
