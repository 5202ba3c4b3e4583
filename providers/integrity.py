"""The invariants of declared memory and of sessions, as queries that name what breaks them."""

from memoryhub import ids
from memoryhub.integrity import Invariant, rows_of

_ACTIVE = """
SELECT environment_id FROM providers_promotion
 GROUP BY environment_id, agent_id HAVING count(*) FILTER (WHERE is_active) <> 1
"""
_RESOURCE_STORE = """
SELECT r.id FROM providers_resource r LEFT JOIN stores_memorystore s ON s.id = r.store_id
 WHERE CASE r.kind WHEN 'document' THEN
            (s.environment_id, s.resource_id) IS DISTINCT FROM (r.environment_id, r.resource_id)
            OR s.content_bytes_max IS NULL OR s.archived_at IS NOT NULL
       ELSE r.store_id IS NOT NULL END
"""
_BINDING_PLACE = """
SELECT b.session_id FROM providers_binding b
  JOIN memoryhub_session s ON s.id = b.session_id
  JOIN providers_resource r ON r.id = b.resource_id
  LEFT JOIN providers_namespace n ON n.id = b.namespace_id
 WHERE r.environment_id IS DISTINCT FROM s.environment_id
    OR (b.namespace_id IS NOT NULL AND n.resource_id IS DISTINCT FROM b.resource_id)
"""
_OPEN_BINDINGS = """
SELECT s.id FROM memoryhub_session s JOIN providers_binding b ON b.session_id = s.id
 WHERE s.ended_at IS NOT NULL AND b.revoked_at IS NULL
"""
_PINNED = """
SELECT p.session_id FROM providers_pinneddeployment p JOIN memoryhub_session s ON s.id = p.session_id
 WHERE NOT EXISTS (SELECT 1 FROM providers_promotion o
                    WHERE o.deployment_id = p.deployment_id AND o.environment_id = s.environment_id)
"""
_ATTACHED_PLACE = """
SELECT a.session_id FROM stores_attachment a
  JOIN memoryhub_session s ON s.id = a.session_id
  JOIN stores_memorystore t ON t.id = a.store_id
 WHERE t.environment_id IS DISTINCT FROM s.environment_id
"""
# What was bound when the request was accepted, and of a request that was not accepted nothing.
_PROJECTIONS = """
SELECT r.id FROM providers_modelrequest r
 WHERE (SELECT count(*) FROM providers_projection p WHERE p.model_request_id = r.id)
       <> CASE WHEN r.state = 'accepted' THEN
               (SELECT count(*) FROM providers_binding b
                 WHERE b.session_id = r.session_id AND (b.revoked_at IS NULL OR b.revoked_at > r.accepted_at))
          ELSE 0 END
"""
_ERASED = """
SELECT p.model_request_id FROM providers_projection p
 WHERE EXISTS (SELECT 1 FROM stores_memoryversion v WHERE v.id = ANY(p.version_ids) AND v.redacted_at IS NOT NULL)
    OR (p.erased_at IS NOT NULL AND (p.text <> '' OR p.cursor IS NOT NULL))
UNION SELECT c.model_request_id FROM providers_toolcall c
 WHERE EXISTS (SELECT 1 FROM stores_memoryversion v WHERE v.id = ANY(c.version_ids) AND v.redacted_at IS NOT NULL)
    OR (c.erased_at IS NOT NULL AND num_nonnulls(c.arguments, c.output) > 0)
UNION SELECT o.model_request_id FROM providers_httpoperation o JOIN providers_toolcall c ON c.id = o.tool_call_id
 WHERE c.erased_at IS NOT NULL AND o.body IS NOT NULL
"""
_SHOWN = """
SELECT s.model_request_id FROM (
    SELECT model_request_id, unnest(version_ids) AS version_id FROM providers_projection
    UNION ALL SELECT model_request_id, unnest(version_ids) FROM providers_toolcall) AS s
 WHERE NOT EXISTS (SELECT 1 FROM stores_memoryversion v WHERE v.id = s.version_id)
"""

# A request recalls while a service is asked and not longer; a call is started as long as its operation is not done. A call of
# records at another service has no operation: what is left of it is ended by a sweep.
_OPERATIONS = """
SELECT r.id FROM providers_modelrequest r JOIN providers_httpoperation o ON o.model_request_id = r.id
 WHERE o.kind = 'recall' AND o.round = r.round
 GROUP BY r.id, r.state HAVING (r.state = 'recalling') <> bool_or(o.state <> 'done')
UNION SELECT c.model_request_id FROM providers_toolcall c JOIN providers_httpoperation o ON o.tool_call_id = c.id
 WHERE (c.state = 'started') <> (o.state <> 'done')
UNION SELECT c.model_request_id FROM providers_toolcall c
 WHERE c.state = 'started' AND c.name NOT IN ('save_memory', 'search_memory', 'forget_memory') AND NOT EXISTS (SELECT 1 FROM providers_httpoperation o WHERE o.tool_call_id = c.id)
UNION SELECT o.model_request_id FROM providers_httpoperation o
 WHERE (SELECT count(*) FROM providers_httpattempt a WHERE a.operation_id = o.id)
       NOT IN (o.attempt, o.attempt - (o.state = 'sending')::int)
"""
_EXTERNAL_RECORDS = """
SELECT p.id FROM providers_externalpartition p JOIN providers_externalrecord r ON r.partition_id = p.id
 WHERE r.revision > p.revision
"""
# Its environment is that of its session, and it is revoked with the session's end; of a work item's it is the item that tells.
_TOKENS = """
SELECT k.id FROM memoryhub_apikey k LEFT JOIN memoryhub_session s ON s.id = k.session_id
 WHERE k.session_id IS NOT NULL
   AND (s.environment_id IS DISTINCT FROM k.environment_id
        OR (s.ended_at IS NOT NULL AND k.revoked_at IS NULL AND k.work_id IS NULL))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "http_operations",
        "Requests and calls wait for services that are being asked, and for no other; each attempt is noted.",
        rows_of(ids.MODEL_REQUEST, _OPERATIONS),
    ),
    Invariant(
        "external_records",
        "No record of a partition is newer than the partition.",
        rows_of(ids.EXTERNAL_PARTITION, _EXTERNAL_RECORDS),
    ),
    Invariant(
        "promotion_active",
        "Of an agent that was promoted in an environment one deployment is in force.",
        rows_of(ids.ENVIRONMENT, _ACTIVE),
    ),
    Invariant(
        "resource_store",
        "A resource of documents has its store, in its environment; no other resource has one.",
        rows_of(ids.RESOURCE, _RESOURCE_STORE),
    ),
    Invariant(
        "binding_environment",
        "A session binds resources and namespaces of its own environment.",
        rows_of(ids.SESSION, _BINDING_PLACE),
    ),
    Invariant(
        "attachment_environment",
        "A session holds stores of its own environment.",
        rows_of(ids.SESSION, _ATTACHED_PLACE),
    ),
    Invariant(
        "binding_ended", "A session that has ended binds nothing.", rows_of(ids.SESSION, _OPEN_BINDINGS)
    ),
    Invariant(
        "session_tokens",
        "A token of a session reaches its environment, and works no more once it has ended.",
        rows_of(ids.API_KEY, _TOKENS),
    ),
    Invariant(
        "session_deployment",
        "A session keeps a deployment that was promoted in its environment.",
        rows_of(ids.SESSION, _PINNED),
    ),
    Invariant(
        "request_projections",
        "An accepted request keeps what every bound memory gave; no other keeps anything.",
        rows_of(ids.MODEL_REQUEST, _PROJECTIONS),
    ),
    Invariant(
        "request_erased",
        "No request and no call keeps a text that was erased.",
        rows_of(ids.MODEL_REQUEST, _ERASED),
    ),
    Invariant(
        "request_versions",
        "The version of every text that a model was shown is there.",
        rows_of(ids.MODEL_REQUEST, _SHOWN),
    ),
)
