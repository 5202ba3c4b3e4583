"""Quotas on history: what a project holds is counted in the background, and writes are checked against that count.

Exact limits (memories of a store, stores of an environment, keys, members) are checked where they are, under a lock.
These two are soft: they may be overrun by what is written between two counts.
"""

from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.transaction import atomic

from memoryhub.errors import InvalidRequest
from memoryhub.models import Usage
from memoryhub.rows import find_row

_COUNT = """
INSERT INTO memoryhub_usage (project_id, memory_stores, memories, memory_versions, version_bytes, counted_at)
SELECT p.id,
       (SELECT count(*) FROM stores_memorystore s WHERE s.project_id = p.id),
       (SELECT count(*) FROM stores_memory m WHERE m.project_id = p.id),
       v.versions, v.bytes, clock_timestamp()
  FROM memoryhub_project p,
       LATERAL (SELECT count(*) AS versions, coalesce(sum(content_size_bytes), 0) AS bytes
                  FROM stores_memoryversion WHERE project_id = p.id) v
    ON CONFLICT (project_id) DO UPDATE SET
       memory_stores = excluded.memory_stores, memories = excluded.memories,
       memory_versions = excluded.memory_versions, version_bytes = excluded.version_bytes,
       counted_at = excluded.counted_at
"""


@atomic
def count_usage() -> None:
    """Count every project's rows and bytes anew."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '300s'")
        cursor.execute(_COUNT)


def require_history_room(project_id: UUID, *, versions: int = 1, version_bytes: int = 1) -> None:
    """Raises: InvalidRequest when the project's last count and this much more would pass its quota.

    A single change is let in below the quota, whatever its size.
    """
    usage = find_row(
        Usage.objects.filter(project_id=project_id).values_list("memory_versions", "version_bytes")
    )
    held_versions, held_bytes = usage or (0, 0)
    if held_versions + versions > settings.VERSIONS_MAX:
        raise InvalidRequest(
            f"The project holds {held_versions} versions; its quota is {settings.VERSIONS_MAX}.",
            error_code="versions_full",
        )
    if held_bytes + version_bytes > settings.VERSION_BYTES_MAX:
        raise InvalidRequest(
            f"The project's versions hold {held_bytes} bytes; its quota is {settings.VERSION_BYTES_MAX}.",
            error_code="version_bytes_full",
        )
