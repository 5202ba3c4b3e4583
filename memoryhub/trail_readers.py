"""Counting along the sealed trail: each reader takes every event of a project once, in the order of its chain.

Sealed events have all committed and none can come between two of them, so a mark that holds the last one taken is all
that a reader keeps. It moves in the transaction in which the reader writes what it counted.
"""

from collections.abc import Callable
from uuid import UUID

from django.db import connection
from django.db.transaction import atomic

from memoryhub.audit import sealed_events
from memoryhub.models import AuditEvent, TrailMark

BATCH_ROWS = 1_000

type Take = Callable[[UUID, list[AuditEvent]], None]

# One probe of the index for each project.
_BEHIND = """
SELECT p.id FROM memoryhub_project p
  LEFT JOIN memoryhub_trailmark m ON m.project_id = p.id AND m.reader = %s
 WHERE (SELECT max(chain_index) FROM memoryhub_auditevent e WHERE e.project_id = p.id) > coalesce(m.chain_index, 0)
"""


def read_on(reader: str, take: Take) -> int:
    """Give `take` what was sealed since; the number of events. Any number of processes may run the same reader."""
    with connection.cursor() as cursor:
        cursor.execute(_BEHIND, [reader])
        behind = [row[0] for row in cursor.fetchall()]
    return sum(_read_project(reader, project_id, take) for project_id in behind)


def _read_project(reader: str, project_id: UUID, take: Take) -> int:
    read = 0
    while batch := _read_batch(reader, project_id, take):
        read += batch
    return read


@atomic
def _read_batch(reader: str, project_id: UUID, take: Take) -> int:
    TrailMark.objects.bulk_create([TrailMark(project_id=project_id, reader=reader)], ignore_conflicts=True)
    mark = TrailMark.objects.select_for_update().get(project_id=project_id, reader=reader)
    events = list(sealed_events(project_id).filter(chain_index__gt=mark.chain_index)[:BATCH_ROWS])
    if events:
        take(project_id, events)
        mark.chain_index = events[-1].chain_index or 0
        mark.save(update_fields=["chain_index"])
    return len(events)
