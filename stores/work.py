"""The verbs of a work item: queue, acknowledge, heartbeat, stop, update. Source: contract stores 10.

    queued -> starting (acknowledged) -> active (first heartbeat) -> stopping -> stopped

A session has one item at a time that has not stopped. Order of locks: session, work.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import connection, transaction
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, sessions, tenancy, wakeups
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.credentials import hold_credential
from memoryhub.errors import Conflict, InvalidRequest, LeaseLost, NotFound
from memoryhub.kept_queries import insert_row
from memoryhub.models import Session
from memoryhub.rows import find_row
from stores.limits import LEASE_SECONDS_DEFAULT, METADATA_PAIRS_MAX, WORK_PER_SESSION_MAX
from stores.models import Attachment, Work
from stores.work_leases import drop_token

NO_HEARTBEAT = "NO_HEARTBEAT"  # contract: 10, expected_last_heartbeat of the first
_LEASED = ("starting", "active")


@dataclass(frozen=True, slots=True)
class Queued:
    """`is_new` False: the session had an item already."""

    work: Work
    is_new: bool


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a heartbeat is told. `is_extended` False: the run has to end."""

    work: Work
    is_extended: bool


@atomic(durable=True)
def queue_work(session_id: str, *, actor: Actor) -> Queued:
    """The session's live item, or a new one. Raises: NotFound, Conflict (`session_closed`, `work_stopping`)."""
    session = sessions.lock_session(session_id, actor)
    sessions.require_live(session)
    live = _lock_live(session)
    if live is not None and live.state == "stopping":
        raise Conflict(
            "The session's last work item is being stopped; try again.", error_code="work_stopping"
        )
    if live is not None:
        hold_credential(actor)
        return Queued(live, is_new=False)
    work = _add(session)
    audit.record(
        AuditAction.WORK_QUEUED,
        work.wire_id,
        environment_id=work.environment_id,
        parent_id=session.wire_id,
        actor=actor,
    )
    return Queued(work, is_new=True)


def queue_first(session: Session) -> None:
    """A step: the session, which is locked and live, has its first event. With stores attached it waits for a worker."""
    if Attachment.objects.filter(session_id=session.id).exists() and _lock_live(session) is None:
        _add(session)


def _lock_live(session: Session) -> Work | None:
    """The item that has not stopped; one whose time to stop is over has."""
    work = find_row(_locked(session_id=session.id).exclude(state="stopped"))
    if work is None or not is_over(work, database_now()):
        return work
    finish(work)
    return None


def _add(session: Session) -> Work:
    _forget_oldest(session)
    work = Work(
        project_id=session.project_id,
        environment_id=session.environment_id,
        session=session,
        ttl_seconds=LEASE_SECONDS_DEFAULT,
    )
    insert_row(work)
    transaction.on_commit(partial(wakeups.wake, channel_of(session.environment_id)))
    return work


def _forget_oldest(session: Session) -> None:
    kept = Work.objects.filter(session_id=session.id).order_by("-id").values_list("id", flat=True)
    last = kept[WORK_PER_SESSION_MAX - 2 : WORK_PER_SESSION_MAX - 1].first()
    if last is not None:
        Work.objects.filter(session_id=session.id, id__lt=last, state="stopped").delete()


def channel_of(environment_id: object) -> str:
    return f"work:{environment_id}"


@atomic(durable=True)
def acknowledge_work(environment: str, work_id: str, *, actor: Actor) -> Work:
    """Its token works from here on, for the time of a lease. Again: unchanged. Raises: NotFound, Conflict (`work_not_claimed`)."""
    work = lock_work(environment, work_id, actor)
    hold_credential(actor)
    if work.state == "starting":
        return work
    if work.state != "queued" or work.token_id is None:
        raise Conflict(
            "Only a work item that a poll has just given out can be acknowledged.",
            error_code="work_not_claimed",
        )
    now = database_now()
    work.state = "starting"
    work.acknowledged_at = now
    work.lease_expires_at = now + timedelta(seconds=work.ttl_seconds)
    work.save(update_fields=["state", "acknowledged_at", "lease_expires_at"])
    return work


@atomic(durable=True)
def heartbeat_work(
    environment: str, work_id: str, *, expected: str | None, ttl_seconds: int | None, actor: Actor
) -> Heartbeat:
    """Extend the lease, if the last heartbeat is the one expected; None: whichever it is.

    Of an item that is to stop, the lease never ends later than its time after the stop was asked for.
    Raises: NotFound, LeaseLost (`heartbeat_precondition_failed`).
    """
    work = lock_work(environment, work_id, actor)
    hold_credential(actor)
    if work.state == "stopped":
        return Heartbeat(work, is_extended=False)
    now = database_now()
    if (
        work.state not in ("starting", "active", "stopping")
        or _has_lapsed(work, now)
        or not _is_its(work, actor)
    ):
        raise _lost(work)
    if work.state == "stopping":
        return _beat_at_end(work, now)
    if expected is not None and expected != (optional_to_wire(work.latest_heartbeat_at) or NO_HEARTBEAT):
        raise _lost(work)
    work.ttl_seconds = ttl_seconds or work.ttl_seconds
    work.state = "active"
    work.started_at = work.started_at or now
    work.latest_heartbeat_at = now
    work.lease_expires_at = now + timedelta(seconds=work.ttl_seconds)
    work.save(update_fields=["ttl_seconds", "state", "started_at", "latest_heartbeat_at", "lease_expires_at"])
    return Heartbeat(work, is_extended=True)


def _is_its(work: Work, actor: Actor) -> bool:
    return actor.token_id is None or actor.token_id == work.token_id


def _beat_at_end(work: Work, now: datetime) -> Heartbeat:
    assert work.stop_requested_at is not None and work.lease_expires_at is not None
    lifetime = timedelta(seconds=work.ttl_seconds)
    work.latest_heartbeat_at = now
    work.lease_expires_at = min(now + lifetime, work.stop_requested_at + lifetime)
    work.save(update_fields=["latest_heartbeat_at", "lease_expires_at"])
    return Heartbeat(work, is_extended=False)


def _lost(work: Work) -> LeaseLost:
    return LeaseLost(
        "The lease is not this worker's any more: stop at once, and leave the item alone.",
        error_code="heartbeat_precondition_failed",
        current_state={
            "state": work.state,
            "ttl_seconds": work.ttl_seconds,
            "last_heartbeat": optional_to_wire(work.latest_heartbeat_at) or "",
        },
    )


@atomic(durable=True)
def stop_work(environment: str, work_id: str, *, is_forced: bool, actor: Actor) -> Work:
    """At once, or after the worker has saved what it has: it is told with its next heartbeat.

    The worker itself, with the item's token, always stops it at once. Nothing that was done with its token commits after
    an item has stopped. Again while it is stopping: unchanged. Raises: NotFound, LeaseLost, Conflict (`work_stopped`).
    """
    work = lock_work(environment, work_id, actor)
    if not _is_its(work, actor):
        raise _lost(work)
    if work.state == "stopped":
        raise Conflict("The work item has stopped already.", error_code="work_stopped")
    now = database_now()
    at_once = is_forced or actor.work_id is not None or work.state == "queued" or _has_lapsed(work, now)
    if work.state == "stopping" and not at_once:
        hold_credential(actor)
        return work
    audit.record(
        AuditAction.WORK_STOPPED,
        work.wire_id,
        environment_id=work.environment_id,
        parent_id=ids.to_wire(ids.SESSION, work.session_id),
        details={"at_once": at_once, "state": work.state},
        actor=actor,
    )
    work.stop_requested_at = work.stop_requested_at or now
    if at_once:
        finish(work)
    else:
        work.state = "stopping"
        work.save(update_fields=["state", "stop_requested_at"])
    return work


def end_work(session: Session) -> None:
    """A step: the session is locked and ends. Nothing that was done with the token of its item commits after this."""
    live = find_row(_locked(session_id=session.id).exclude(state="stopped"))
    if live is not None:
        live.stop_requested_at = live.stop_requested_at or database_now()
        finish(live)


def finish(work: Work) -> None:
    """A step: the item is locked, and has stopped."""
    drop_token(work)
    work.state = "stopped"
    work.stopped_at = database_now()
    work.lease_expires_at = None
    work.save(update_fields=["state", "stop_requested_at", "stopped_at", "lease_expires_at", "token_id"])


@atomic(durable=True)
def update_work(environment: str, work_id: str, *, metadata: dict[str, str | None], actor: Actor) -> Work:
    """`metadata` is a patch: null removes a key. Raises: NotFound, InvalidRequest past the limit."""
    work = lock_work(environment, work_id, actor)
    hold_credential(actor)
    merged = {key: value for key, value in {**work.metadata, **metadata}.items() if value is not None}
    if len(merged) > METADATA_PAIRS_MAX:
        raise InvalidRequest(f"metadata: A work item has at most {METADATA_PAIRS_MAX} pairs.")
    if merged != work.metadata:
        work.metadata = merged
        work.save(update_fields=["metadata"])
    return work


# --- what a door may find, and the time ---


def visible_work(environment: str, actor: Actor) -> QuerySet[Work]:
    """The items of one environment that exist for an actor; for a work item's token: itself. Raises: NotFound."""
    work = Work.objects.filter(
        project_id=actor.project_id, environment_id=tenancy.get_environment(environment, actor=actor).id
    )
    if actor.token_id is None:
        return work
    return work.none() if actor.work_id is None else work.filter(id=actor.work_id)


def get_work(environment: str, work_id: str, *, actor: Actor) -> Work:
    """Raises: NotFound."""
    return _get(visible_work(environment, actor), work_id)


def lock_work(environment: str, work_id: str, actor: Actor) -> Work:
    """A step: the item, held alone to the end of the transaction. Raises: NotFound."""
    return _get(visible_work(environment, actor).select_for_update(of=("self",), no_key=True), work_id)


def _get(works: QuerySet[Work], work_id: str) -> Work:
    key = ids.from_wire(ids.WORK, work_id)
    work = None if key is None else find_row(works.filter(id=key))
    if work is None:
        raise NotFound("work item")
    return work


def _locked(**which: object) -> QuerySet[Work]:
    return Work.objects.filter(**which).select_for_update(of=("self",), no_key=True)


def database_now() -> datetime:
    """At this moment: after whatever lock was waited for."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row: tuple[datetime] = cursor.fetchone()
    return row[0]


def _has_lapsed(work: Work, now: datetime) -> bool:
    return work.lease_expires_at is not None and work.lease_expires_at <= now


def is_over(work: Work, now: datetime) -> bool:
    """It was told to stop, and has had its time."""
    return work.state == "stopping" and _has_lapsed(work, now)


def last_heartbeat(work: Work) -> str:
    """As the next heartbeat has to repeat it; empty when there was none."""
    return "" if work.latest_heartbeat_at is None else to_wire(work.latest_heartbeat_at)
