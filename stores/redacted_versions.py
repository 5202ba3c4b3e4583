"""What was redacted in an environment: which version, when, by whom and, where one was given, for which reason."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.models import AuditEvent
from memoryhub.pagination import ListRequest, Page, cut_page
from stores.memory_stores import visible_stores
from stores.models import MemoryStore, MemoryVersion


@dataclass(frozen=True, slots=True)
class RedactedVersion:
    version: MemoryVersion
    store: MemoryStore
    reason: str | None


def list_redacted(page: ListRequest, *, actor: Actor) -> Page[RedactedVersion]:
    """Newest first. Raises: InvalidRequest for a foreign cursor."""
    stores = visible_stores(actor)
    versions = MemoryVersion.objects.filter(
        project_id=actor.project_id, redacted_at__isnull=False, store_id__in=stores.values("id")
    )
    position = page.position()
    if position is not None:
        moment, key = datetime.fromisoformat(position[0]), UUID(hex=position[1])
        versions = versions.filter(Q(redacted_at__lt=moment) | Q(redacted_at=moment, id__lt=key))
    rows = list(versions.defer("content").order_by("-redacted_at", "-id")[: page.limit + 1])
    cut = cut_page(rows, page, _position)
    named = stores.in_bulk([version.store_id for version in cut.rows])
    reasons = _reasons(cut.rows)
    shown = [
        RedactedVersion(version, named[version.store_id], reasons.get(version.wire_id))
        for version in cut.rows
        if version.store_id in named
    ]
    return Page(shown, cut.next_page)


def _position(version: MemoryVersion) -> list[str]:
    assert version.redacted_at is not None
    return [version.redacted_at.isoformat(), version.id.hex]


def _reasons(versions: list[MemoryVersion]) -> dict[str, str]:
    """Version -> reason, from the audit trail, of those that have one."""
    events = AuditEvent.objects.filter(
        subject_id__in=[version.wire_id for version in versions],
        action=AuditAction.MEMORY_VERSION_REDACTED,
    )
    details = events.values_list("subject_id", "details")
    return {subject_id: found["reason"] for subject_id, found in details if "reason" in found}
