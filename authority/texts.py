"""Where a text stands in spaces: they are hashed as a whole and never redacted, so an erasure names them.

A working space can be purged, and its texts are gone then; of a canonical one no text goes. A nomination is a copy that
somebody was asked to review: it is counted with the working space that it came from.
"""

from typing import Any

from django.db import connection

from memoryhub import ids
from memoryhub.erasure import Elsewhere, TextErasure
from memoryhub.sought_texts import JSON_TEXT, holds, sought_values

_FOUND = """
SELECT s.id, s.space_id, s.profile_kind, found.records, found.nominations
  FROM authority_space s JOIN (
       SELECT space_id, sum(records) AS records, sum(nominations) AS nominations FROM (
            SELECT r.space_id, count(*) AS records, 0 AS nominations
              FROM authority_recordversion r JOIN authority_space i ON i.id = r.space_id
             WHERE i.environment_id = %(environment)s AND {record} GROUP BY 1
            UNION ALL
            SELECT a.working_id, 0, count(*) FROM authority_nomination n JOIN authority_authority a ON a.id = n.authority_id
             WHERE a.environment_id = %(environment)s AND {nomination} GROUP BY 1
       ) AS counted GROUP BY 1
  ) AS found ON found.space_id = s.id ORDER BY s.id
"""


def find_texts(erasure: TextErasure) -> Elsewhere:
    """A step; it changes nothing."""
    sought = erasure.sought
    statement = _FOUND.format(
        record=holds(sought, (JSON_TEXT, "r.body")), nomination=holds(sought, (JSON_TEXT, "n.body"))
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, sought_values(sought) | {"environment": erasure.environment_id})
        return Elsewhere(spaces=[_describe(*row) for row in cursor.fetchall()])


def _describe(key: Any, name: str, kind: str, records: int, nominations: int) -> dict[str, Any]:
    return {
        "id": ids.to_wire(ids.SPACE, key),
        "space": name,
        "profile_kind": kind,
        "records": int(records),
        "nominations": int(nominations),
    }
