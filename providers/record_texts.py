"""A text that is erased wherever it stands, in records and in the ledger of effects.

Records are data of their own: they are forgotten when the erasure may delete, and named when it may not. What sessions were shown is a
copy: it is blanked. So is what waits for a person, and what the ledger keeps to be sent again; the effect is left to a person, since
it can be sent no more.
Order of locks: the copies of the environment, scopes, rows.
"""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db import connection

from memoryhub.erasure import Elsewhere, TextErasure
from memoryhub.sought_texts import JSON, PLAIN, Form, holds, sought_values
from providers.local import erase_record
from providers.record_models import MemoryEffect, MemoryRecord, RecordScope
from providers.record_session_models import RecalledItem, RecordWrite

_OF_SCOPE = """
  FROM {table} t JOIN providers_recordscope s ON s.id = t.scope_id WHERE s.environment_id = %(environment)s
"""
_RECORD_TEXTS: tuple[tuple[Form, str], ...] = (
    (PLAIN, "t.text"),
    (PLAIN, "t.thread"),
    (PLAIN, "t.author"),
    (PLAIN, "t.title"),
    (PLAIN, "array_to_string(t.tags, E'\\n')"),
    (JSON, "t.provenance"),
)
_ITEM_TEXTS: tuple[tuple[Form, str], ...] = ((PLAIN, "t.text"),)
_WRITE_TEXTS: tuple[tuple[Form, str], ...] = ((JSON, "t.payload"), (JSON, "t.outcome"))
_EFFECT_TEXTS: tuple[tuple[Form, str], ...] = ((JSON, "t.payload"), (JSON, "t.outcome"), (PLAIN, "t.key"))


def erase_text(erasure: TextErasure) -> Elsewhere:
    """A step. The copies of the environment are held alone unless it is a dry run."""
    effects = [row[0] for row in _find("providers_memoryeffect", "t.id", _EFFECT_TEXTS, erasure)]
    items = [row[0] for row in _find("providers_recalleditem", "t.id", _ITEM_TEXTS, erasure)]
    writes = [row[0] for row in _find("providers_recordwrite", "t.id", _WRITE_TEXTS, erasure)]
    if not erasure.dry_run:
        _blank(effects)
        _blank_writes(writes)
    records = _find_records(erasure)
    if not erasure.dry_run:  # after the scopes, which a forget locks before them
        RecalledItem.objects.filter(id__in=items).update(text=None)
    data = [
        {"type": "memory_record", "id": record_id, "agent": agent, "scope": scope}
        for _, _, record_id, agent, scope in records
    ]
    copies = {"memory_effects": len(effects), "recalled_items": len(items), "record_writes": len(writes)}
    return Elsewhere(
        Counter({name: count for name, count in copies.items() if count}),
        deleted=data if erasure.deletes else [],
        left=[] if erasure.deletes else data,
    )


def _find(
    table: str, shown: str, texts: tuple[tuple[Form, str], ...], erasure: TextErasure
) -> list[tuple[Any, ...]]:
    source = _OF_SCOPE.format(table=table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {shown} {source} AND {holds(erasure.sought, *texts)} ORDER BY t.id",
            sought_values(erasure.sought) | {"environment": erasure.environment_id},
        )
        return list(cursor.fetchall())


def _blank(effects: list[UUID]) -> None:
    held = MemoryEffect.objects.filter(id__in=effects)
    held.filter(state__in=("begun", "unknown")).update(
        state="unknown", payload=None, claim=None, claimed_until=None, outcome=None
    )
    held.update(key=None)
    held.filter(outcome__has_key="message").update(outcome={"code": "invalid", "message": "erased"})


def _blank_writes(writes: list[UUID]) -> None:
    """What waited has expired; what was approved ends without it."""
    held = RecordWrite.objects.filter(id__in=writes)
    held.filter(state="waiting").update(state="expired", payload=None)
    held.filter(outcome__has_key="message").update(outcome={"code": "invalid", "message": "erased"})
    held.update(payload=None)


def _find_records(erasure: TextErasure) -> list[tuple[Any, ...]]:
    """(key, scope's key, id, agent, scope); gone when the erasure may delete. Scopes are locked before their rows are looked for again."""
    shown = "t.id, t.scope_id, t.record_id, s.agent, s.scope"
    found = _find("providers_memoryrecord", shown, _RECORD_TEXTS, erasure)
    if erasure.dry_run or not erasure.deletes or not found:
        return found
    touched = sorted({row[1] for row in found})
    list(RecordScope.objects.select_for_update(no_key=True).filter(id__in=touched).order_by("id"))
    found = _find("providers_memoryrecord", shown, _RECORD_TEXTS, erasure)
    found = [row for row in found if row[1] in set(touched)]
    for record in MemoryRecord.objects.filter(id__in=[row[0] for row in found]).only("id", "scope_id"):
        erase_record(record)
    return found
