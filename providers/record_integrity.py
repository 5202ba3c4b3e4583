"""The invariants of records and of the ledger, as queries that name what breaks them. A record is named by its scope's environment."""

from memoryhub import ids
from memoryhub.integrity import Invariant, rows_of

# A record that is not forgotten has its text and is found; of one that is, nothing is left.
_RECORDS = """
SELECT s.environment_id FROM providers_memoryrecord r JOIN providers_recordscope s ON s.id = r.scope_id
  LEFT JOIN providers_recordindex i ON i.record_id = r.id
 WHERE CASE WHEN r.forgotten_at IS NULL THEN r.text IS NULL OR i.scope_id IS DISTINCT FROM r.scope_id
       ELSE num_nonnulls(r.text, r.provenance, r.thread, r.author, r.title, r.tags, r.occurred_at) > 0
            OR i.record_id IS NOT NULL END
"""
_BINDINGS = """
SELECT s.environment_id FROM providers_memoryrecord r JOIN providers_recordscope s ON s.id = r.scope_id
 WHERE r.namespace = s.namespace
   AND NOT EXISTS (SELECT 1 FROM providers_recordbinding b WHERE b.scope_id = r.scope_id AND b.record_id = r.binding_id)
"""
_POSITIONS = """
SELECT s.environment_id FROM providers_recordindex i JOIN providers_recordscope s ON s.id = i.scope_id
  LEFT JOIN providers_recordthread t ON t.id = i.thread
 WHERE i.thread <> i.record_id AND (t.scope_id IS DISTINCT FROM i.scope_id OR i.position >= t.count)
"""
# What is forgotten has no vector, and none waits for one. A vector is of one passage or of several, each as long.
_VECTORS = """
SELECT s.environment_id FROM providers_recordvector v JOIN providers_recordscope s ON s.id = v.scope_id
  LEFT JOIN providers_recordindex i ON i.record_id = v.record_id
 WHERE i.scope_id IS DISTINCT FROM v.scope_id OR octet_length(v.vector) % (2 * v.dim) <> 0 OR octet_length(v.content_sha256) <> 32
"""
_EFFECTS = """
SELECT e.id FROM providers_memoryeffect e
 WHERE (e.state = 'begun') <> (e.claimed_until IS NOT NULL) OR (e.claim IS NOT NULL AND e.state <> 'begun')
    OR (e.state = 'resolved') > (e.decision IS NOT NULL) OR (e.state IN ('done', 'failed') AND e.outcome IS NULL)
"""
# At another service a forget may be under way, or nobody knows of it.
_ITEMS = """
SELECT i.session_id FROM providers_recalleditem i
  JOIN providers_memoryrecord r ON r.scope_id = i.scope_id AND r.record_id = i.record_id
 WHERE r.forgotten_at IS NOT NULL AND i.text IS NOT NULL
"""
# What was never sent is nowhere; what has an id there was found there; of what was forgotten no seal of its text is left.
_REMOTE_RECORDS = """
SELECT s.environment_id FROM providers_remoterecord r JOIN providers_recordscope s ON s.id = r.scope_id
 WHERE (r.claim IS NULL) <> (r.claimed_until IS NULL) OR (r.sends > 0) <> (r.sent_at IS NOT NULL)
    OR (r.saved_at IS NOT NULL AND r.sends = 0) OR (r.external_id IS NOT NULL AND r.saved_at IS NULL)
    OR (r.forgotten_at IS NULL) <> (r.text_seal IS NOT NULL)
    OR (r.correction_sha256 IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM providers_memoryeffect e WHERE e.scope_id = r.scope_id AND e.tool = 'save_memory'
                         AND e.key_sha256 = r.correction_sha256))
    OR NOT EXISTS (SELECT 1 FROM providers_remotescope p WHERE p.scope_id = r.scope_id AND p.provider = r.provider)
"""
_REMOTE_BINDINGS = """
SELECT s.environment_id FROM providers_remoterecord r JOIN providers_recordscope s ON s.id = r.scope_id
 WHERE r.namespace = s.namespace
   AND NOT EXISTS (SELECT 1 FROM providers_recordbinding b WHERE b.scope_id = r.scope_id AND b.record_id = r.binding_id)
"""
# Two scopes under one name, or in one place, would be one scope there.
_REMOTE_SCOPES = """
SELECT s.environment_id FROM providers_remotescope r JOIN providers_recordscope s ON s.id = r.scope_id
 WHERE EXISTS (SELECT 1 FROM providers_remotescope o
                WHERE o.provider = r.provider AND o.origin = r.origin AND o.scope_id <> r.scope_id
                  AND (o.identity = r.identity OR o.home = r.home))
"""
_REMOTE_SAVES = """
SELECT e.id FROM providers_memoryeffect e
  JOIN providers_remotescope p ON p.scope_id = e.scope_id AND p.provider = e.provider
 WHERE e.tool = 'save_memory' AND e.state IN ('done', 'resolved') AND e.outcome ? 'id'
   AND NOT EXISTS (SELECT 1 FROM providers_remoterecord r WHERE r.scope_id = e.scope_id
                    AND r.provider = e.provider AND r.record_id = e.outcome ->> 'id')
"""
# Who decided is kept, and the text no longer than it must be; what was done stands in the ledger, and what was not does not.
_WRITES = """
SELECT w.id FROM providers_recordwrite w
  JOIN providers_recordscope p ON p.id = w.scope_id JOIN memoryhub_session s ON s.id = w.session_id
  LEFT JOIN providers_toolcall c ON c.id = w.tool_call_id
  LEFT JOIN providers_modelrequest r ON r.id = c.model_request_id
  LEFT JOIN providers_memoryeffect e ON e.scope_id = w.scope_id AND e.tool = w.tool
        AND e.key_sha256 = encode(sha256(convert_to(w.key, 'UTF8')), 'hex')
 WHERE p.environment_id <> s.environment_id OR r.session_id IS DISTINCT FROM w.session_id
    OR (w.state IN ('approved', 'rejected')) <> (num_nonnulls(w.decided_at, w.decided_by_type, w.decided_by_id) = 3)
    OR CASE w.state WHEN 'waiting' THEN w.payload IS NULL
            WHEN 'approved' THEN w.outcome IS NOT NULL AND w.payload IS NOT NULL ELSE w.payload IS NOT NULL END
    OR CASE WHEN w.state <> 'approved' THEN e.id IS NOT NULL
            WHEN w.outcome ? 'id' OR w.outcome = '{}' THEN e.state IS NULL OR e.state NOT IN ('done', 'resolved')
            ELSE false END
"""

RECORD_INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "memory_records",
        "A record is found, or it is forgotten and nothing of its text is kept.",
        rows_of(ids.ENVIRONMENT, _RECORDS),
    ),
    Invariant(
        "record_bindings",
        "The binding of every record was issued to its scope.",
        rows_of(ids.ENVIRONMENT, _BINDINGS),
    ),
    Invariant(
        "record_positions",
        "A record stands in a thread of its scope, at a place that was counted.",
        rows_of(ids.ENVIRONMENT, _POSITIONS),
    ),
    Invariant(
        "recalled_items",
        "What a session was shown of a record goes with the record.",
        rows_of(ids.SESSION, _ITEMS),
    ),
    Invariant(
        "record_vectors",
        "A vector is of a record that is found in its scope, and has as many numbers as it says.",
        rows_of(ids.ENVIRONMENT, _VECTORS),
    ),
    Invariant(
        "memory_effects",
        "An effect is begun, has an outcome, or waits for a person, and keeps its text no longer than it must.",
        rows_of(ids.MEMORY_EFFECT, _EFFECTS),
    ),
    Invariant(
        "record_writes",
        "A write that a person decides on keeps its text until then and no longer, says who decided, and is in the ledger once it was approved and done.",
        rows_of(ids.RECORD_WRITE, _WRITES),
    ),
    Invariant(
        "remote_records",
        "A record at a service was sent in a scope that the service has, and was found there before it has an id; nothing tells of the text of a forgotten one.",
        rows_of(ids.ENVIRONMENT, _REMOTE_RECORDS),
    ),
    Invariant(
        "remote_bindings",
        "The binding of every record at a service was issued to its scope.",
        rows_of(ids.ENVIRONMENT, _REMOTE_BINDINGS),
    ),
    Invariant(
        "remote_scopes",
        "No two scopes have one name or one place at a service.",
        rows_of(ids.ENVIRONMENT, _REMOTE_SCOPES),
    ),
    Invariant(
        "remote_saves",
        "What the ledger says was saved at a service is known by its id.",
        rows_of(ids.MEMORY_EFFECT, _REMOTE_SAVES),
    ),
)
