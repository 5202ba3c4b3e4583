"""The audit trail as it is read: a list with filters, and an export that a stranger can verify."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction, ChainHead
from memoryhub.digests import canonical_json
from memoryhub.errors import InvalidRequest
from memoryhub.models import AuditEvent
from memoryhub.pagination import ListRequest, Page, cut_page

EXPORT_ROWS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class EventFilters:
    """What a list shows; None does not restrict. `actor_ids`: any of them."""

    action: str | None = None
    actor_id: str | None = None
    actor_ids: tuple[str, ...] | None = None
    subject_id: str | None = None
    environment: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


def list_events(page: ListRequest, filters: EventFilters, *, actor: Actor) -> Page[AuditEvent]:
    """Newest first. A credential of one environment sees the events of that environment.

    Raises: InvalidRequest for an unknown action or a foreign cursor, NotFound for a foreign environment.
    """
    position = page.position()
    events = AuditEvent.objects.filter(project_id=actor.project_id, **_conditions(filters, actor))
    if position is not None:
        events = events.filter(number__lt=position[0])
    rows = list(events.order_by("-number")[: page.limit + 1])
    return cut_page(rows, page, lambda event: [event.number])


def _conditions(filters: EventFilters, actor: Actor) -> dict[str, Any]:
    if filters.action is not None and filters.action not in set(AuditAction):
        raise InvalidRequest(f"action: The hub records no {filters.action[:64]}.")
    wanted = {
        "action": filters.action,
        "actor_id": filters.actor_id,
        "actor_id__in": filters.actor_ids,
        "subject_id": filters.subject_id,
        "environment_id": actor.environment_id,
        "created_at__gte": filters.created_from,
        "created_at__lte": filters.created_to,
    }
    if filters.environment is not None:
        wanted["environment_id"] = tenancy.get_environment(filters.environment, actor=actor).id
    return {column: value for column, value in wanted.items() if value is not None}


@dataclass(frozen=True, slots=True)
class TrailExport:
    """`head` is the last row given, or the one asked to begin after; `has_more`: the chain goes on behind it."""

    lines: Iterator[bytes]
    head: ChainHead
    has_more: bool


def export_events(*, after: int, actor: Actor) -> TrailExport:
    """The project's chain from the row behind index `after` on, at most EXPORT_ROWS_MAX rows; what waits is sealed first.

    A line is the canonical JSON of {"event": what the seal covers, "chain_sha256"}; the last line is
    {"chain_head": {"project_id", "chain_index", "chain_sha256"}, "has_more"}.
    Raises: InvalidRequest when the chain has no row `after`.
    """
    audit.seal_project(actor.project_id)
    whole = audit.get_chain_head(actor.project_id)
    if after > whole.chain_index:
        raise InvalidRequest(f"after: The chain ends at index {whole.chain_index}.")
    last = min(whole.chain_index, after + EXPORT_ROWS_MAX)
    head = audit.get_chain_head(actor.project_id, chain_index=last)
    has_more = last < whole.chain_index
    return TrailExport(_export_lines(after, head, has_more), head, has_more)


def _export_lines(after: int, head: ChainHead, has_more: bool) -> Iterator[bytes]:
    events = audit.sealed_events(head.project_id).filter(
        chain_index__gt=after, chain_index__lte=head.chain_index
    )
    for event in events.iterator(chunk_size=audit.SEAL_BATCH_ROWS):
        line = {"event": audit.sealed_row(event), "chain_sha256": event.chain_sha256}
        yield canonical_json(line) + b"\n"
    shown = {
        "project_id": ids.to_wire(ids.PROJECT, head.project_id),
        "chain_index": str(head.chain_index),
        "chain_sha256": head.chain_sha256,
    }
    yield canonical_json({"chain_head": shown, "has_more": has_more}) + b"\n"
