"""What receivers answered, as far as it is kept: the one place of webhooks where a text may stand, so an erasure looks there."""

from collections import Counter

from django.db import connection

from memoryhub.erasure import Elsewhere, TextErasure
from memoryhub.sought_texts import PLAIN, holds, sought_values

_HELD = """
  FROM memoryhub_webhookattempt a JOIN memoryhub_webhookdelivery d ON d.id = a.delivery_id
  JOIN memoryhub_webhook w ON w.id = d.webhook_id
 WHERE w.environment_id = %(environment)s AND a.answer_start <> '' AND {held}
"""


def erase_answers(erasure: TextErasure) -> Elsewhere:
    """Blanks every answer that holds the text."""
    source = _HELD.format(held=holds(erasure.sought, (PLAIN, "a.answer_start")))
    values = sought_values(erasure.sought) | {"environment": erasure.environment_id}
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT a.id {source}", values)
        found = [row[0] for row in cursor.fetchall()]
        if found and not erasure.dry_run:
            cursor.execute(
                "UPDATE memoryhub_webhookattempt SET answer_start = '' WHERE id = ANY (%s)", [found]
            )
    return Elsewhere(copies=Counter({"webhook_answers": len(found)} if found else {}))
