"""What each store holds, counted in the background: by these figures lists are sorted.

To count within a change would make changes of one store wait for each other, so a store is counted some seconds after
it changed. What a page shows of a store is counted anew for that page.
"""

from uuid import UUID

from django.db import connection

from memoryhub import ids
from memoryhub.models import AuditEvent
from memoryhub.trail_readers import read_on
from stores.models import MemoryStore, StoreTotals

READER = "store_totals"
# Only a store's deletion holds its row: that one needs no count.
_COUNT = """
UPDATE stores_storetotals t
   SET memories_count = held.count, size_bytes = held.bytes, changed_at = coalesce(newest.created_at, s.created_at)
  FROM stores_memorystore s,
       LATERAL (SELECT count(*) AS count, coalesce(sum(content_size_bytes), 0) AS bytes
                  FROM stores_memory m WHERE m.store_id = s.id) AS held,
       LATERAL (SELECT (SELECT created_at FROM stores_memoryversion v
                         WHERE v.store_id = s.id ORDER BY number DESC LIMIT 1) AS created_at) AS newest
 WHERE t.store_id = s.id
   AND s.id IN (SELECT store_id FROM stores_storetotals WHERE store_id = ANY(%s) FOR UPDATE SKIP LOCKED)
"""


def begin_totals(store: MemoryStore) -> None:
    """A step: the row of a new store, still empty."""
    StoreTotals.objects.create(
        store=store,
        project_id=store.project_id,
        environment_id=store.environment_id,
        changed_at=store.created_at,
    )


def count_totals() -> int:
    """Count the stores that changed since; the number of events read."""
    return read_on(READER, _count_changed)


def _count_changed(project_id: UUID, events: list[AuditEvent]) -> None:
    named = {event.parent_id or event.subject_id for event in events}
    keys = {ids.from_wire(ids.MEMORY_STORE, wire_id) for wire_id in named}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [sorted(key for key in keys if key is not None)])
