"""Taking work: a poll gives an item to one worker, with a new token that is shown this once. Source: contract stores 10.

An item is given out when it waits, when whoever was given it did not acknowledge it in time, and when its lease has run out.
The token that was given out with it before then works no more.
"""

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, tenancy, wakeups
from memoryhub.actors import Actor, StoreAccess
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.keys import IssuedKey, write_key
from memoryhub.models import NAME_LENGTH_MAX, ApiKey
from memoryhub.operations import WORK
from memoryhub.rows import find_row
from stores.limits import LEASE_SECONDS_DEFAULT, WORK_TOKEN_DAYS
from stores.models import Attachment, Work, WorkPoller
from stores.work import channel_of, database_now, finish, is_over
from stores.work_leases import drop_token

POLLS_WAITING_MAX = 2  # of one process: others wait for services, and threads are few
SETTLED_AT_ONCE_MAX = 100
POLLER_FORGOTTEN = timedelta(hours=1)
_waiting = threading.BoundedSemaphore(POLLS_WAITING_MAX)
_NOTE_POLL = """
INSERT INTO stores_workpoller (project_id, environment_id, worker, polled_at) VALUES (%s, %s, %s, clock_timestamp())
ON CONFLICT (environment_id, worker) DO UPDATE SET polled_at = excluded.polled_at
 WHERE stores_workpoller.polled_at < excluded.polled_at - interval '5 seconds'
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """An item that was given out, and the token to work for it with."""

    work: Work
    token: str


def poll_work(
    environment: str, *, block_ms: int, reclaim_older_than_ms: int, worker: str, actor: Actor
) -> Claim | None:
    """The oldest item that may be given out; None when there is none by the end of `block_ms`. Raises: NotFound.

    Where as many polls wait in this process as may, it answers at once.
    """
    environment_id = tenancy.get_environment(environment, actor=actor).id
    if worker:
        _note_poll(environment_id, worker, actor)

    def look() -> Claim | None:
        return _claim_next(environment_id, timedelta(milliseconds=reclaim_older_than_ms), worker, actor)

    if block_ms == 0 or not _waiting.acquire(blocking=False):
        return look()
    try:
        return wakeups.wait_for(
            channel_of(environment_id), look, lambda claim: claim is not None, seconds=block_ms / 1_000
        )
    finally:
        _waiting.release()


def _note_poll(environment_id: UUID, worker: str, actor: Actor) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_POLL, [actor.project_id, environment_id, worker])


def _claim_next(environment_id: UUID, reclaim_after: timedelta, worker: str, actor: Actor) -> Claim | None:
    if not claimable(environment_id, reclaim_after).exists():
        return None
    return _claim(environment_id, reclaim_after, worker, actor)


def claimable(environment_id: UUID, reclaim_after: timedelta) -> QuerySet[Work]:
    return Work.objects.filter(
        Q(state="queued", claimed_at=None)
        | Q(state="queued", claimed_at__lt=ClockTimestamp() - reclaim_after)
        | Q(state__in=("starting", "active"), lease_expires_at__lte=ClockTimestamp()),
        environment_id=environment_id,
    )


@atomic(durable=True)
def _claim(environment_id: UUID, reclaim_after: timedelta, worker: str, actor: Actor) -> Claim | None:
    waiting = claimable(environment_id, reclaim_after).order_by("id")
    work = find_row(waiting.select_for_update(of=("self",), no_key=True, skip_locked=True)[:1])
    if work is None:
        return None
    taken_from = work.worker if work.token_id is not None else None
    drop_token(work)
    issued = _issue_token(work, worker, actor)
    work.state, work.worker, work.token_id = "queued", worker, issued.key.id
    work.claims_count += 1
    work.claimed_at = database_now()
    work.ttl_seconds = LEASE_SECONDS_DEFAULT
    work.acknowledged_at = work.started_at = work.latest_heartbeat_at = work.lease_expires_at = None
    work.save()
    audit.record(
        AuditAction.WORK_CLAIMED,
        work.wire_id,
        environment_id=environment_id,
        parent_id=ids.to_wire(ids.SESSION, work.session_id),
        details={
            "token_id": issued.key.wire_id,
            "claim": work.claims_count,
            "from_another": taken_from is not None,
        },
        actor=actor,
    )
    return Claim(work, issued.secret)


def _issue_token(work: Work, worker: str, actor: Actor) -> IssuedKey:
    old = timezone.now() - timedelta(days=WORK_TOKEN_DAYS)
    ApiKey.objects.filter(session_id=work.session_id, work_id__isnull=False, revoked_at__lt=old).delete()
    attached = Attachment.objects.filter(session_id=work.session_id).values_list("store_id", "access")
    return write_key(
        project_id=work.project_id,
        environment_id=work.environment_id,
        session_id=work.session_id,
        work_id=work.id,
        name=worker[:NAME_LENGTH_MAX],
        scopes=[WORK],
        stores={store_id: cast(StoreAccess, access) for store_id, access in attached},
        record_scope=None,
        expires_at=None,
        actor=actor,
    )


def settle_work() -> int:
    """End the items that were told to stop and whose time is over; how many. Forget the workers that ask no more."""
    over = Work.objects.filter(state="stopping", lease_expires_at__lte=ClockTimestamp())
    settled = sum(_settle(key) for key in list(over.values_list("id", flat=True)[:SETTLED_AT_ONCE_MAX]))
    WorkPoller.objects.filter(polled_at__lt=ClockTimestamp() - POLLER_FORGOTTEN).delete()
    return settled


@atomic(durable=True)
def _settle(key: UUID) -> bool:
    work = find_row(Work.objects.filter(id=key).select_for_update(of=("self",), no_key=True))
    if work is None or not is_over(work, database_now()):
        return False
    finish(work)
    return True
