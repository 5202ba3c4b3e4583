"""What searches of sessions gave: kept for the requests that follow, for as long as the record is remembered.

Source: contract of the memory provider, sections 6 and 7. An item belongs to the scope that it was recalled in: while another
principal's input is current it is not shown, and by it nothing can be forgotten.
Order of locks: the session, the copies of the environment, the scope, rows.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from memoryhub.digests import canonical_json
from memoryhub.models import Session
from providers.contract import MemoryHit
from providers.limits import REFERENCES_BYTES_MAX, REFERENCES_MAX
from providers.models import ToolCall
from providers.record_models import MemoryEffect, RecordScope
from providers.record_names import seal_digest
from providers.record_session_models import RecalledItem


def share_scope(held: RecordScope) -> None:
    """A step, before what is recalled is kept: whoever forgets in the scope waits for it, and it for whoever forgets."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM providers_recordscope WHERE id = %s FOR SHARE", [held.id])


def keep_hits(session: Session, call: ToolCall, held: RecordScope, hits: Sequence[MemoryHit]) -> None:
    """A step, best first. The scope is shared."""
    RecalledItem.objects.bulk_create(
        RecalledItem(
            project_id=session.project_id,
            session=session,
            tool_call=call,
            scope=held,
            record_id=hit.id,
            version=hit.version,
            text=hit.text,
        )
        for hit in hits
    )


def find_forgotten(held: RecordScope, record_ids: Sequence[str]) -> set[str]:
    """Those that a forget was sent for, which may be under way: at another service one may come between a recall and its keeping."""
    digests = {seal_digest(canonical_json({"id": one})): one for one in record_ids}
    sent = MemoryEffect.objects.filter(scope_id=held.id, tool="forget_memory", digest__in=list(digests))
    sent = sent.exclude(state="failed").exclude(state="resolved", outcome__has_key="code")
    return {digests[bytes(one)] for one in sent.values_list("digest", flat=True)}


def forget_items(scope_id: UUID, record_id: str) -> None:
    """A step: a record is forgotten, and so is every copy of it. The scope is held alone."""
    kept = RecalledItem.objects.filter(scope_id=scope_id, record_id=record_id)
    kept.exclude(text=None).update(text=None)


def was_recalled(session: Session, held: RecordScope | None, record_id: str) -> bool:
    """Whether a search of this session, in this scope, gave it."""
    if held is None:
        return False
    recalled = RecalledItem.objects.filter(session_id=session.id, scope_id=held.id, record_id=record_id)
    return recalled.exists()


def list_items(
    session_id: UUID, held: RecordScope | None, *, until: datetime | None = None
) -> list[RecalledItem]:
    """What a request of this scope is shown: the newest that fit, each record once, in the order of their recall. `until`: of one
    that was accepted before."""
    if held is None:
        return []
    recalled = RecalledItem.objects.filter(session_id=session_id, scope_id=held.id).exclude(text=None)
    if until is not None:
        recalled = recalled.filter(created_at__lte=until)
    shown: dict[str, RecalledItem] = {}
    size = 0
    for item in recalled.order_by("-id")[:REFERENCES_MAX]:
        assert item.text is not None
        if item.record_id in shown:
            continue
        size += len(item.text.encode())
        if size > REFERENCES_BYTES_MAX:
            break
        shown[item.record_id] = item
    return list(reversed(shown.values()))
