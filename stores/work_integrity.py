"""The invariants of work: one live item of a session, and no token that works without one."""

from memoryhub import ids
from memoryhub.integrity import Invariant, rows_of

_LIVE = """
SELECT w.id FROM stores_work w LEFT JOIN memoryhub_session s ON s.id = w.session_id
 WHERE w.state <> 'stopped'
   AND (s.ended_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM stores_work o
                    WHERE o.session_id = w.session_id AND o.state <> 'stopped' AND o.id <> w.id))
"""
_TENANCY = """
SELECT w.id FROM stores_work w LEFT JOIN memoryhub_session s ON s.id = w.session_id
 WHERE (s.project_id, s.environment_id) IS DISTINCT FROM (w.project_id, w.environment_id)
"""
_TOKEN = """
SELECT k.id FROM memoryhub_apikey k LEFT JOIN stores_work w ON w.id = k.work_id
 WHERE k.work_id IS NOT NULL
   AND (k.session_id IS DISTINCT FROM w.session_id OR k.scopes <> ARRAY['work']::varchar[]
        OR (k.revoked_at IS NULL AND w.token_id IS DISTINCT FROM k.id))
"""
_HELD = """
SELECT w.id FROM stores_work w LEFT JOIN memoryhub_apikey k ON k.id = w.token_id AND k.work_id = w.id
 WHERE w.token_id IS NOT NULL AND (k.id IS NULL OR k.revoked_at IS NOT NULL)
"""
# The item may be gone with its session, and the version stays.
_WRITTEN = """
SELECT v.id FROM stores_memoryversion v LEFT JOIN stores_work w ON w.id = v.work_id
 WHERE v.work_id IS NOT NULL
   AND (v.created_by_type <> 'session_actor'
        OR (w.id IS NOT NULL AND v.created_by_id <> 'sesn_' || replace(w.session_id::text, '-', '')))
"""

WORK_INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "work_live",
        "A session has one work item at most that has not stopped, and none once it has ended.",
        rows_of(ids.WORK, _LIVE),
    ),
    Invariant("work_tenancy", "A work item has its session's environment.", rows_of(ids.WORK, _TENANCY)),
    Invariant(
        "work_token",
        "A token of work works only while its item, which is of the same session, names it.",
        rows_of(ids.API_KEY, _TOKEN),
    ),
    Invariant(
        "work_held", "The token that a work item names is its own and works.", rows_of(ids.WORK, _HELD)
    ),
    Invariant(
        "version_work",
        "A version that a worker wrote is by the session of its work.",
        rows_of(ids.MEMORY_VERSION, _WRITTEN),
    ),
)
