"""What happened in an environment: its newest changes, and how many there were on each of the last days."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.models import ActivityDay, AuditEvent
from memoryhub.trail_readers import read_on

DAYS_SHOWN = 30
READER = "activity"
# Of what is kept: who joined or got a key is no change of what agents remember.
_COUNTED = ("memory", "text.")

_ADD = """
INSERT INTO memoryhub_activityday (project_id, environment_id, day, changes)
SELECT %s, * FROM unnest(%s::uuid[], %s::date[], %s::bigint[])
    ON CONFLICT (environment_id, day) DO UPDATE SET changes = memoryhub_activityday.changes + excluded.changes
"""


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    changes: int = 0
    recalls: int = 0
    refusals: int = 0

    @property
    def total(self) -> int:
        return self.changes + self.recalls + self.refusals


_counters: list[Callable[[], int]] = []


def register_counter(count: Callable[[], int]) -> None:
    """`count` adds what it finds to ActivityDay, each thing once, and returns how many things it found."""
    _counters.append(count)


def count_activity() -> int:
    """Count what was sealed since, and what the rooms count; how many things were found."""
    return read_on(READER, _add) + sum(count() for count in _counters)


def _add(project_id: UUID, events: list[AuditEvent]) -> None:
    counted = Counter(
        (event.environment_id, event.created_at.astimezone(UTC).date())
        for event in events
        if event.environment_id is not None and event.action.startswith(_COUNTED)
    )
    keys = sorted(counted, key=str)
    columns: list[list[Any]] = [
        [key[0] for key in keys],
        [key[1] for key in keys],
        [counted[key] for key in keys],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [project_id, *columns])


def list_days(*, actor: Actor) -> list[Day]:
    """The last DAYS_SHOWN days in UTC, the oldest first, with what happened on each; counted a while ago."""
    today = timezone.now().astimezone(UTC).date()
    days = [today - timedelta(days=ago) for ago in reversed(range(DAYS_SHOWN))]
    found = ActivityDay.objects.filter(
        environment_id=tenancy.choose_environment(None, actor=actor), day__gte=days[0]
    )
    seen = {row[0]: Day(*row) for row in found.values_list("day", "changes", "recalls", "refusals")}
    return [seen.get(day, Day(day)) for day in days]


def list_newest(count: int, *, actor: Actor) -> Sequence[AuditEvent]:
    """The newest changes of what the environment keeps: what everybody who reads it may see in its histories."""
    events = AuditEvent.objects.filter(
        environment_id=tenancy.choose_environment(None, actor=actor), action__startswith="memory"
    )
    return list(events.order_by("-number")[:count])
