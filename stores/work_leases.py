"""The lease of a work item: who has it may write, until it expires, is stopped or is taken by another worker.

Order of locks: session, work, store, memory. Whoever takes a lease away holds the work row, as every change made with its
token does: either the change commits before, or it is refused. Times are the database's, so that no clock can differ.
"""

from uuid import UUID

from django.db import connection
from django.utils import timezone

from memoryhub.actors import Actor
from memoryhub.errors import LeaseLost
from memoryhub.leases import Leases
from memoryhub.models import ApiKey
from stores.models import Work

# What the fence lets through: an item that has not had its first heartbeat writes nothing yet.
_WRITING = ("active", "stopping")
_IS_HELD = """
SELECT 1 FROM stores_work
 WHERE id = %s AND token_id = %s AND state IN ('starting', 'active', 'stopping') AND lease_expires_at > clock_timestamp()
"""
# The clock is read once the lock is had, however long that took.
_HOLD = """
WITH held AS MATERIALIZED (
    SELECT token_id, state, lease_expires_at FROM stores_work WHERE id = %s FOR NO KEY UPDATE
)
SELECT token_id, state, lease_expires_at > clock_timestamp() FROM held
"""


def is_held(work_id: UUID, token_id: UUID) -> bool:
    """The token may be used: its item was acknowledged and has its lease."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_HELD, [work_id, token_id])
        return cursor.fetchone() is not None


def hold(actor: Actor) -> None:
    """A step: nobody takes the lease away before this transaction ends. Raises: LeaseLost."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [actor.work_id])
        row = cursor.fetchone()
    if row is None or row[0] != actor.token_id or row[1] not in _WRITING or not row[2]:
        raise LeaseLost(
            "The lease of this work is over, or it has had no heartbeat yet, so nothing was changed.",
            error_code="lease_lost",
        )


def hold_work(environment_id: UUID) -> None:
    """A step: every item of the environment that has not stopped, once whoever changes something with its token is done."""
    held = Work.objects.select_for_update(of=("self",)).filter(environment_id=environment_id)
    list(held.exclude(state="stopped").order_by("id").only("id"))


def drop_token(work: Work) -> None:
    """A step: the item is locked. Its token works no more; the row stays a while, so that the trail can be read."""
    if work.token_id is not None:
        ApiKey.objects.filter(id=work.token_id, revoked_at=None).update(revoked_at=timezone.now())
        work.token_id = None


LEASES = Leases(is_held, hold)
