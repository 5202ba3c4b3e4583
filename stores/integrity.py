"""The invariants of stores, as queries that name what breaks them."""

from collections.abc import Iterator

from memoryhub import ids
from memoryhub.integrity import Invariant, rows_of
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory
from stores.paths import find_path_problem

STORE, MEMORY, VERSION = ids.MEMORY_STORE, ids.MEMORY, ids.MEMORY_VERSION
PATHS_CHUNK_ROWS = 2_000

_CONTENT = """
SELECT id FROM stores_memoryversion
 WHERE content IS NOT NULL
   AND (content_sha256 IS DISTINCT FROM encode(sha256(convert_to(content, 'UTF8')), 'hex')
        OR content_size_bytes IS DISTINCT FROM octet_length(content))
"""
# Redacted rows hold nothing of the text; all others hold what their operation says.
_REDACTED = """
SELECT id FROM stores_memoryversion
 WHERE CASE WHEN redacted_at IS NOT NULL THEN
            num_nonnulls(path, content, content_size_bytes, content_sha256, title, summary) > 0
            OR num_nulls(redacted_by_type, redacted_by_id) > 0
       ELSE path IS NULL OR num_nonnulls(redacted_by_type, redacted_by_id) > 0
            OR num_nulls(content, content_size_bytes, content_sha256)
               <> CASE WHEN operation = 'deleted' THEN 3 ELSE 0 END
       END
"""
_ORDER = """
SELECT id FROM (
    SELECT id, operation, follows_removed,
           lag(operation) OVER (PARTITION BY store_id, memory_id ORDER BY number) AS before
      FROM stores_memoryversion) AS versions
 WHERE operation NOT IN ('created', 'modified', 'deleted') OR before = 'deleted'
    OR (before IS NULL AND NOT follows_removed) <> (operation = 'created')
"""
# What was removed when it was old: the next version says so, and the store says from when on nothing is missing.
_REMOVED = """
SELECT v.id FROM stores_memoryversion v JOIN stores_memorystore s ON s.id = v.store_id
 WHERE v.follows_removed AND (s.history_from IS NULL OR v.created_at > s.history_from)
"""
_NEWEST = """
SELECT DISTINCT ON (store_id, memory_id) store_id, memory_id, operation
  FROM stores_memoryversion ORDER BY store_id, memory_id, number DESC
"""
_HEAD = """
SELECT m.id FROM stores_memory m
  LEFT JOIN LATERAL (SELECT * FROM stores_memoryversion v WHERE v.store_id = m.store_id AND v.memory_id = m.id
                      ORDER BY number DESC LIMIT 1) AS newest ON true
  LEFT JOIN LATERAL (SELECT created_at, follows_removed FROM stores_memoryversion v WHERE v.store_id = m.store_id AND v.memory_id = m.id
                      ORDER BY number LIMIT 1) AS oldest ON true
 WHERE newest.id IS DISTINCT FROM m.head_id OR newest.operation = 'deleted' OR newest.redacted_at IS NOT NULL
    OR (newest.path, newest.content_size_bytes, newest.content_sha256, newest.created_at)
       IS DISTINCT FROM (m.path, m.content_size_bytes, m.content_sha256, m.updated_at)
    OR CASE WHEN oldest.follows_removed THEN m.created_at > oldest.created_at
            ELSE m.created_at IS DISTINCT FROM oldest.created_at END
"""
_MISSING_HEAD = f"""
SELECT newest.memory_id FROM ({_NEWEST}) AS newest
  LEFT JOIN stores_memory m ON m.id = newest.memory_id AND m.store_id = newest.store_id
 WHERE newest.operation <> 'deleted' AND m.id IS NULL
"""  # noqa: S608 - constants
_OCCUPANCY = """
SELECT m.id FROM stores_memory m
 WHERE m.path_key IS DISTINCT FROM convert_to(m.path, 'UTF8')
    OR EXISTS (SELECT 1 FROM stores_memory o WHERE o.store_id = m.store_id AND o.path_key >= m.path_key || '/'::bytea
                                               AND o.path_key < m.path_key || '0'::bytea)
    OR EXISTS (SELECT 1 FROM stores_memory o WHERE o.store_id = m.store_id AND o.path_key = m.path_key AND o.id <> m.id)
"""
_FULL = f"""
SELECT m.store_id FROM stores_memory m JOIN stores_memorystore s ON s.id = m.store_id
 WHERE s.resource_id IS NULL GROUP BY m.store_id HAVING count(*) > {MEMORIES_PER_STORE_MAX}
"""  # noqa: S608 - constants
_SIZE = f"""
SELECT id FROM stores_memoryversion WHERE content_size_bytes > {MEMORY_CONTENT_BYTES_MAX}
"""  # noqa: S608 - constants
_STORE_TENANCY = """
SELECT s.id FROM stores_memorystore s LEFT JOIN memoryhub_environment e ON e.id = s.environment_id
 WHERE e.project_id IS DISTINCT FROM s.project_id
"""
_MEMORY_TENANCY = """
SELECT m.id FROM stores_memory m LEFT JOIN stores_memorystore s ON s.id = m.store_id
 WHERE s.project_id IS DISTINCT FROM m.project_id
"""
_VERSION_TENANCY = """
SELECT v.id FROM stores_memoryversion v LEFT JOIN stores_memorystore s ON s.id = v.store_id
 WHERE s.project_id IS DISTINCT FROM v.project_id
"""
_INDEX = """
SELECT coalesce(m.id, i.memory_id) FROM stores_memory m
  FULL JOIN stores_memoryindex i ON i.memory_id = m.id
  LEFT JOIN stores_memorystore s ON s.id = m.store_id
 WHERE m.id IS NULL OR i.memory_id IS NULL
    OR (i.project_id, i.environment_id, i.store_id) IS DISTINCT FROM (s.project_id, s.environment_id, s.id)
"""
_ARCHIVED = """
SELECT v.id FROM stores_memorystore s JOIN stores_memoryversion v ON v.store_id = s.id
 WHERE v.created_at > s.archived_at
"""
_AGENTS = """
SELECT v.id FROM stores_memoryversion v
  JOIN stores_memorystore s ON s.id = v.store_id
  LEFT JOIN stores_memory m ON m.id = v.memory_id
 WHERE (v.created_at > s.frozen_at OR v.created_at > m.frozen_at)
   AND (v.created_by_type = 'session_actor' OR v.created_by_id IN (
        SELECT 'apikey_' || replace(id::text, '-', '') FROM memoryhub_apikey WHERE 'agent' = ANY(scopes)))
"""
_CARDS = """
SELECT v.id FROM stores_memoryversion v JOIN stores_memorystore s ON s.id = v.store_id
 WHERE v.redacted_at IS NULL
   AND num_nonnulls(v.title, v.summary, v.agent_writes)
       <> CASE WHEN s.resource_id IS NULL OR v.operation = 'deleted' THEN 0 ELSE 3 END
"""
_POLICY = """
SELECT m.id FROM stores_memory m
  JOIN stores_memorystore s ON s.id = m.store_id AND s.resource_id IS NOT NULL
  JOIN stores_memoryversion v ON v.id = m.head_id
 WHERE v.agent_writes IS DISTINCT FROM (m.frozen_at IS NULL)
"""
_USED_AGAIN = """
SELECT m.id FROM stores_memory m JOIN stores_usedpath u ON u.store_id = m.store_id AND u.path_key = m.path_key
"""
# What erases takes the files away in its own transaction.
_EXPORTED = """
SELECT j.id FROM memoryhub_job j LEFT JOIN stores_memorystore s ON s.id = j.subject_id
 WHERE j.kind = 'export_store' AND j.file_bytes IS NOT NULL AND s.id IS NULL
"""


def find_bad_paths() -> Iterator[str]:
    """The grammar of paths is a function, not a query."""
    memories = Memory.objects.order_by("id").values_list("id", "path")
    for key, path in memories.iterator(chunk_size=PATHS_CHUNK_ROWS):
        if find_path_problem(path) is not None:
            yield ids.to_wire(MEMORY, key)


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "version_content", "A version's digest and size are those of its content.", rows_of(VERSION, _CONTENT)
    ),
    Invariant("version_size", "No content is larger than a memory may be.", rows_of(VERSION, _SIZE)),
    Invariant(
        "version_redaction",
        "A redacted version holds nothing of its text; every other holds what its operation says.",
        rows_of(VERSION, _REDACTED),
    ),
    Invariant(
        "version_order",
        "A memory's versions are one created, then modified ones, then at most one deleted.",
        rows_of(VERSION, _ORDER),
    ),
    Invariant(
        "version_removed",
        "Before a store's history is whole, and only there, versions were removed.",
        rows_of(VERSION, _REMOVED),
    ),
    Invariant("version_tenancy", "A version has its store's project.", rows_of(VERSION, _VERSION_TENANCY)),
    Invariant(
        "version_archived", "Nothing was written after its store was archived.", rows_of(VERSION, _ARCHIVED)
    ),
    Invariant("version_frozen", "No agent wrote after the freeze.", rows_of(VERSION, _AGENTS)),
    Invariant("memory_head", "A memory is what its newest version says.", rows_of(MEMORY, _HEAD)),
    Invariant(
        "memory_missing", "What was not deleted last is a current memory.", rows_of(MEMORY, _MISSING_HEAD)
    ),
    Invariant(
        "memory_occupancy",
        "No two memories are at one path or one above the other.",
        rows_of(MEMORY, _OCCUPANCY),
    ),
    Invariant("memory_path", "A memory's path keeps the rules of paths.", find_bad_paths),
    Invariant("memory_tenancy", "A memory has its store's project.", rows_of(MEMORY, _MEMORY_TENANCY)),
    Invariant(
        "memory_index", "Each current memory, and no other, has its search row.", rows_of(MEMORY, _INDEX)
    ),
    Invariant(
        "document_card",
        "A version of a document has a title, a summary and a policy; no other version has any.",
        rows_of(VERSION, _CARDS),
    ),
    Invariant(
        "document_policy",
        "A document is frozen exactly when its newest version says so.",
        rows_of(MEMORY, _POLICY),
    ),
    Invariant("document_id", "The id of a deleted document is not used again.", rows_of(MEMORY, _USED_AGAIN)),
    Invariant("store_size", "A store holds no more memories than it may.", rows_of(STORE, _FULL)),
    Invariant(
        "store_exported", "The file of an export is of a store that is there.", rows_of(ids.JOB, _EXPORTED)
    ),
    Invariant("store_tenancy", "A store's environment is of its project.", rows_of(STORE, _STORE_TENANCY)),
)
