"""How the hub fares: its parts and workers, what waits, when it was last swept, what it holds; and what is wrong, in words.

Of projects it tells only the actor's own; figures of the whole hub are sums in which nobody can be told apart.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Sum
from django.db.models.query import QuerySet
from django.utils import timezone
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from memoryhub import __version__, readiness, workers
from memoryhub.actors import Actor
from memoryhub.models import AuditEvent, Job, Project, Sweep, Usage, Worker
from memoryhub.rows import find_row

SEAL_SECONDS_MAX = 60
COUNT_MINUTES_MAX = 10
CLEAR_HOURS_MAX = 3
WAIT_MINUTES_MAX = 10
NEARLY_FULL = 0.9
CELERY_QUEUE, SERVICES_QUEUE = (
    "celery",
    "providers",
)  # the latter: of calls of other services, with workers of its own
_NEWEST_MIGRATIONS = """
SELECT string_agg(app || ' ' || name, ', ' ORDER BY app)
  FROM (SELECT app, max(name) AS name FROM django_migrations WHERE app IN ('memoryhub', 'stores', 'providers') GROUP BY app) AS newest
"""


@dataclass(frozen=True, slots=True)
class Share:
    """What is held of a quota."""

    title: str
    held: int
    quota: int
    is_bytes: bool

    @property
    def is_nearly_full(self) -> bool:
        return self.held >= NEARLY_FULL * self.quota


@dataclass(frozen=True, slots=True)
class Queue:
    """`messages`, `calls`: that wait for a worker, of the whole hub; `calls` of other services."""

    messages: int
    calls: int
    version: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The project's jobs; `oldest_at` of those that wait."""

    waiting: int
    running: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True)
class HubStatus:
    """`unsealed_since`: the oldest audit row of the project without a seal; None when all are sealed."""

    causes: list[readiness.Cause]
    workers: list[Worker]
    queue: Queue | None
    jobs: Waiting
    unsealed_since: datetime | None
    counted_at: datetime | None
    cleared_at: datetime | None
    database_bytes: int
    shares: list[Share]
    versions: dict[str, str]

    def problems(self) -> list[str]:
        """What is wrong and what to do, one sentence or two for each; empty when all is well."""
        return [cause.sentence for cause in self.causes] + _find_problems(self)


def read_status(actor: Actor) -> HubStatus:
    queue = _read_queue()
    usage = find_row(Usage.objects.filter(project_id=actor.project_id))
    return HubStatus(
        causes=readiness.find_causes(),
        workers=workers.list_alive(),
        queue=queue,
        jobs=_read_jobs(actor),
        unsealed_since=_unsealed_since(actor),
        counted_at=None if usage is None else usage.counted_at,
        cleared_at=_swept_at("clear_expired"),
        database_bytes=_read_one("SELECT pg_database_size(current_database())"),
        shares=_read_shares(actor, usage),
        versions=_read_versions(queue),
    )


def _swept_at(name: str) -> datetime | None:
    return find_row(Sweep.objects.filter(name=name).values_list("ran_at", flat=True))


def _read_queue() -> Queue | None:
    """None when it does not answer."""
    timeout = readiness.TIMEOUT_SECONDS
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=timeout
        ) as client:
            facts: dict[str, Any] = client.info("server")
            messages: int = client.llen(CELERY_QUEUE)
            calls: int = client.llen(SERVICES_QUEUE)
    except redis.RedisError:
        return None
    name = "Valkey" if "valkey_version" in facts else "Redis"
    return Queue(messages, calls, f"{name} {facts.get('valkey_version') or facts['redis_version']}")


def _read_jobs(actor: Actor) -> Waiting:
    jobs = Job.objects.filter(project_id=actor.project_id)
    waiting = jobs.filter(state="waiting")
    oldest_at = _oldest(waiting.values_list("created_at", flat=True))
    return Waiting(waiting.count(), jobs.filter(state="running").count(), oldest_at)


def _unsealed_since(actor: Actor) -> datetime | None:
    unsealed = AuditEvent.objects.filter(project_id=actor.project_id, chain_index=None)
    return _oldest(unsealed.values_list("created_at", flat=True))


def _oldest(moments: QuerySet[Any, datetime]) -> datetime | None:
    return min(moments.order_by("created_at")[:1], default=None)


def _read_shares(actor: Actor, usage: Usage | None) -> list[Share]:
    files = Job.objects.filter(project_id=actor.project_id).aggregate(bytes=Sum("file_bytes"))["bytes"] or 0
    versions, version_bytes = (usage.memory_versions, usage.version_bytes) if usage else (0, 0)
    project = Project.objects.get(id=actor.project_id)
    return [
        Share("Versions", versions, settings.VERSIONS_MAX, is_bytes=False),
        Share("Text of all versions", version_bytes, settings.VERSION_BYTES_MAX, is_bytes=True),
        Share("Files of exports and imports", files, settings.JOB_FILE_BYTES_MAX, is_bytes=True),
        Share("Members", project.memberships.count(), settings.MEMBERS_MAX, is_bytes=False),
        Share("Environments", project.environments.count(), settings.ENVIRONMENTS_MAX, is_bytes=False),
    ]


def _read_versions(queue: Queue | None) -> dict[str, str]:
    """Name -> version; of the data it is the newest migration of each app."""
    return {
        "MemoryHub": __version__,
        "PostgreSQL": str(_read_one("SHOW server_version")),
        "Queue": "It does not answer" if queue is None else queue.version,
        "Data": str(_read_one(_NEWEST_MIGRATIONS)),
    }


def _read_one(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    return row and row[0]


def _find_problems(status: HubStatus) -> list[str]:
    now = timezone.now()
    problems = []
    if not status.workers:
        problems.append(
            "No worker runs: exports and imports wait, and the audit trail is not sealed. "
            "See that the worker is started; its log says why it ended."
        )
    if _is_older(status.unsealed_since, now, timedelta(seconds=SEAL_SECONDS_MAX)):
        problems.append(
            "The audit trail is behind with its seals. A worker seals it each second: see its log."
        )
    if status.counted_at and _is_older(status.counted_at, now, timedelta(minutes=COUNT_MINUTES_MAX)):
        problems.append(
            "What the project holds was not counted for some minutes, so quotas lag behind: see the worker's log."
        )
    if status.cleared_at and _is_older(status.cleared_at, now, timedelta(hours=CLEAR_HOURS_MAX)):
        problems.append("What is past its time was not cleared for some hours: see the worker's log.")
    if status.workers and _is_older(status.jobs.oldest_at, now, timedelta(minutes=WAIT_MINUTES_MAX)):
        problems.append(
            "A job has waited for long: others are before it. Raise MEMORYHUB_JOBS_RUNNING_MAX and the threads of the worker if that is usual."
        )
    full = [share.title.lower() for share in status.shares if share.is_nearly_full]
    if full:
        problems.append(
            f"Nearly full: {', '.join(full)}. Delete what is not needed, or raise the quota in the settings."
        )
    return problems


def _is_older(moment: datetime | None, now: datetime, age: timedelta) -> bool:
    return moment is not None and now - moment > age


def render_gauges() -> bytes:
    """The state of the queues for /metrics, of the whole hub; nothing when the database does not answer."""
    registry = CollectorRegistry()
    jobs = Gauge("memoryhub_jobs", "Long work that is unfinished.", ["state"], registry=registry)
    alive = Gauge("memoryhub_workers_alive", "Workers that run.", registry=registry)
    unsealed = Gauge(
        "memoryhub_audit_unsealed_seconds", "Age of the oldest change that has no seal.", registry=registry
    )
    try:
        for state in ("waiting", "running"):
            jobs.labels(state).set(Job.objects.filter(state=state).count())
        alive.set(len(workers.list_alive()))
        moments = AuditEvent.objects.filter(chain_index=None).values_list("created_at", flat=True)
        oldest_at = _oldest(moments)
        unsealed.set((timezone.now() - oldest_at).total_seconds() if oldest_at else 0)
    except (DatabaseError, InterfaceError):
        return b""
    return generate_latest(registry)
