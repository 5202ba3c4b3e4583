"""Is the hub ready: its database, its schema and its queue, each with a cause when it is not.

Without the database nothing can be served. Without the queue requests are, and background work waits.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

TIMEOUT_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a part does not work and what to do. `is_fatal`: no request can be served without it."""

    part: str
    sentence: str
    is_fatal: bool


def find_causes() -> list[Cause]:
    """Empty when every part answers."""
    return [cause for cause in (_database_cause(), _queue_cause()) if cause is not None]


def describe() -> tuple[bool, dict[str, Any]]:
    """Whether requests can be served, and `{"status", "causes": [{"part", "cause"}]}`, as /readyz answers it."""
    causes = find_causes()
    is_ready = not any(cause.is_fatal for cause in causes)
    status = "not_ready" if not is_ready else "degraded" if causes else "ready"
    return is_ready, {
        "status": status,
        "causes": [{"part": cause.part, "cause": cause.sentence} for cause in causes],
    }


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations or ())


def _database_cause() -> Cause | None:
    try:
        applied = MigrationRecorder(connection).applied_migrations()
    except DatabaseError:
        return Cause(
            "database", "PostgreSQL does not answer: see that it runs and that DATABASE_URL is right.", True
        )
    pending = _known_migrations() - applied.keys()
    return (
        Cause("schema", f"{len(pending)} migrations are not applied: run ./hub migrate.", True)
        if pending
        else None
    )


def _queue_cause() -> Cause | None:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS) as client:
            client.ping()
    except redis.RedisError:
        return Cause(
            "queue", "The queue does not answer: see that Redis runs and that REDIS_URL is right.", False
        )
    return None
