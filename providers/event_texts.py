"""The log of a session keeps what applications and workers sent, and so what a tool read out of a memory.

A text that is erased wherever it stands is looked for here by itself: no version links it. The event stays, with the id of the call
that it answers, so that no worker takes the call for unanswered and runs it again.
"""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db import connection

from memoryhub.erasure import Elsewhere, TextErasure
from memoryhub.sought_texts import JSON, holds, sought_values

NAME = "session_events"
_HOLDING = """
SELECT t.id FROM memoryhub_sessionevent t JOIN memoryhub_session s ON s.id = t.session_id
 WHERE s.environment_id = %(environment)s AND {holds}
"""
_BLANK = """
UPDATE memoryhub_sessionevent SET data = {kept} || '{{"erased": true}}' WHERE id = ANY(%(keys)s)
"""
_CALLS_ID = """
jsonb_strip_nulls(jsonb_build_object('tool_use_id', data->'tool_use_id', 'custom_tool_use_id', data->'custom_tool_use_id'))
"""
_NOTHING = "'{}'::jsonb"


def erase_text(erasure: TextErasure) -> Elsewhere:
    """A step. The copies of the environment are held alone unless it is a dry run."""
    keys = _find(erasure)
    if keys and not erasure.dry_run:
        _run(_BLANK.format(kept=_CALLS_ID), keys=keys)
        if still := _find(erasure):  # the id itself holds it
            _run(_BLANK.format(kept=_NOTHING), keys=still)
    return Elsewhere(Counter({NAME: len(keys)} if keys else {}))


def _find(erasure: TextErasure) -> list[UUID]:
    query = _HOLDING.format(holds=holds(erasure.sought, (JSON, "t.data")))
    with connection.cursor() as cursor:
        cursor.execute(query, sought_values(erasure.sought) | {"environment": erasure.environment_id})
        return [row[0] for row in cursor.fetchall()]


def _run(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
