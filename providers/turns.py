"""How many recalls each day saw, and how many calls that were refused: counted in the background, each once."""

import time
from uuid import UUID

from django.db import connection
from django.db.transaction import atomic

from memoryhub import ids
from providers.models import TurnMark

SETTLED_SECONDS = 120  # longer than any transaction may take, so that no row comes up behind the mark

# A result of a service may say rejected, or anything else: it is what the service answered, and no refusal of the hub.
_COUNT = """
WITH turns AS (
    SELECT s.project_id, s.environment_id, (r.created_at AT TIME ZONE 'UTC')::date AS day, 1 AS recalls, 0 AS refusals
      FROM providers_modelrequest r JOIN memoryhub_session s ON s.id = r.session_id
     WHERE r.id > %(after)s AND r.id <= %(until)s AND r.state = 'accepted'
     UNION ALL
    SELECT s.project_id, s.environment_id, (c.created_at AT TIME ZONE 'UTC')::date, 0, 1
      FROM providers_toolcall c
      JOIN providers_modelrequest r ON r.id = c.model_request_id
      JOIN memoryhub_session s ON s.id = r.session_id
     WHERE c.id > %(after)s AND c.id <= %(until)s
       AND (c.is_error OR (c.output->>'status' IN ('conflict', 'rejected')
                           AND NOT EXISTS (SELECT 1 FROM providers_httpoperation o
                                            WHERE o.tool_call_id = c.id AND o.code = 'ok')))
), added AS (
    INSERT INTO memoryhub_activityday (project_id, environment_id, day, recalls, refusals)
    SELECT project_id, environment_id, day, sum(recalls), sum(refusals) FROM turns GROUP BY 1, 2, 3
        ON CONFLICT (environment_id, day) DO UPDATE
       SET recalls = memoryhub_activityday.recalls + excluded.recalls,
           refusals = memoryhub_activityday.refusals + excluded.refusals
)
SELECT count(*) FROM turns
"""


def count_turns() -> int:
    """Count what began since, and SETTLED_SECONDS ago; the number of recalls and refusals found."""
    return _count_until(ids.first_id(time.time() - SETTLED_SECONDS))


@atomic
def _count_until(until: UUID) -> int:
    """`until`: ids are ordered by time."""
    TurnMark.objects.bulk_create([TurnMark(id=1, until=UUID(int=0))], ignore_conflicts=True)
    mark = TurnMark.objects.select_for_update().get(id=1)
    if until <= mark.until:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"after": mark.until, "until": until})
        [(found,)] = cursor.fetchall()
    mark.until = until
    mark.save(update_fields=["until"])
    return int(found)
