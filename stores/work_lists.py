"""The work of an environment as it is looked at: the items, newest first, and how many wait."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q
from django.utils import timezone

from memoryhub import ids, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.models import ApiKey, Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from stores.models import Work, WorkPoller
from stores.work import visible_work

POLLING_SECONDS = 30  # contract: 10, of workers_polling
_LAPSED = Q(state__in=("starting", "active"), lease_expires_at__lte=ClockTimestamp())
_WAITING = Q(state="queued", claimed_at=None) | _LAPSED
_CLAIMED = Q(state="queued", claimed_at__isnull=False)


@dataclass(frozen=True, slots=True)
class WorkStats:
    """`depth`: wait for a worker. `pending`: given out and not acknowledged. `polling`: workers that asked of late."""

    depth: int
    pending: int
    oldest_queued_at: datetime | None
    polling: int


def list_work(
    environment: str, page: ListRequest, *, session_id: str | None, state: str | None, actor: Actor
) -> Page[Work]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    work = visible_work(environment, actor)
    if session_id is not None:
        work = work.filter(session_id=sessions.get_session(session_id, actor=actor).id)
    if state is not None:
        work = work.filter(state=state)
    return cut_newest(work, page)


def count_work(environment: str, *, actor: Actor) -> WorkStats:
    """Raises: NotFound."""
    found = tenancy.get_environment(environment, actor=actor)
    live = Work.objects.filter(environment_id=found.id).exclude(state="stopped")
    counts = live.aggregate(
        depth=Count("id", filter=_WAITING),
        pending=Count("id", filter=_CLAIMED),
        oldest=Min("created_at", filter=_WAITING | _CLAIMED),
    )
    since = ClockTimestamp() - timedelta(seconds=POLLING_SECONDS)
    polling = WorkPoller.objects.filter(environment_id=found.id, polled_at__gte=since).count()
    return WorkStats(counts["depth"], counts["pending"], counts["oldest"], polling)


@dataclass(frozen=True, slots=True)
class ShownWork:
    """`token`: the one that works for it now, or would once it is acknowledged. `has_lapsed`: its lease ran out."""

    work: Work
    token: ApiKey | None
    has_lapsed: bool


def work_of_session(session: Session, limit: int) -> list[ShownWork]:
    """Its items, newest first."""
    found = list(Work.objects.filter(session_id=session.id).order_by("-id")[:limit])
    tokens = ApiKey.objects.in_bulk([work.token_id for work in found if work.token_id is not None])
    now = timezone.now()
    return [
        ShownWork(
            work,
            None if work.token_id is None else tokens.get(work.token_id),
            work.lease_expires_at is not None and work.lease_expires_at <= now,
        )
        for work in found
    ]


def session_of(work: Work) -> str:
    return ids.to_wire(ids.SESSION, work.session_id)
