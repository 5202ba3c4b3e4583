"""Sessions as a list shows them: what each pins, and when something was last asked of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max
from django.db.models.query import QuerySet

from memoryhub import sessions
from memoryhub.actors import Actor
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page
from providers.models import Binding, ModelRequest, PinnedDeployment
from stores.attachments import find_holders
from stores.memory_stores import get_store
from stores.models import Attachment


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """Empty: all. `is_live` None: live and ended ones. `target_id`: of a document or namespace."""

    is_live: bool | None = None
    resource_id: str = ""
    target_id: str = ""
    store_id: str = ""

    def as_dict(self) -> dict[str, str]:
        """For the seal of a cursor."""
        named = {"resource": self.resource_id, "target": self.target_id, "store": self.store_id}
        return named | {"live": str(self.is_live)}


@dataclass(frozen=True, slots=True)
class SessionOverview:
    """`asked_at`: when its newest model request began."""

    session: Session
    agent_id: str | None
    bindings: list[Binding] = field(default_factory=list)
    stores_count: int = 0
    requests_count: int = 0
    asked_at: datetime | None = None


def list_overviews(page: ListRequest, filters: SessionFilters, *, actor: Actor) -> Page[SessionOverview]:
    """Newest first. Raises: NotFound for a foreign store, InvalidRequest for a foreign cursor."""
    shown = _filtered(filters, actor)
    cut = sessions.cut_sessions(shown, page, environment=None, is_live=filters.is_live, actor=actor)
    return Page(_describe(cut.rows), cut.next_page)


def _filtered(filters: SessionFilters, actor: Actor) -> QuerySet[Session]:
    shown = sessions.visible_sessions(actor)
    if filters.store_id:
        shown = shown.filter(id__in=find_holders(get_store(filters.store_id, actor=actor)))
    if filters.resource_id or filters.target_id:
        bound = Binding.objects.filter(project_id=actor.project_id)
        if filters.resource_id:
            bound = bound.filter(resource__resource_id=filters.resource_id)
        if filters.target_id:
            bound = bound.filter(target_id=filters.target_id)
        shown = shown.filter(id__in=bound.values("session_id"))
    return shown


def _describe(rows: Sequence[Session]) -> list[SessionOverview]:
    """Four queries, however many there are."""
    keys = [session.id for session in rows]
    pinned = PinnedDeployment.objects.filter(session_id__in=keys)
    agents = dict(pinned.values_list("session_id", "deployment__agent_id"))
    bindings: dict[UUID, list[Binding]] = defaultdict(list)
    bound = Binding.objects.filter(session_id__in=keys).select_related("resource")
    for binding in bound.order_by("resource__resource_id"):
        bindings[binding.session_id].append(binding)
    held = Attachment.objects.filter(session_id__in=keys).values_list("session_id")
    stores = dict(held.annotate(count=Count("id")))
    asked = ModelRequest.objects.filter(session_id__in=keys).values_list("session_id")
    requests = {
        key: (count, newest)
        for key, count, newest in asked.annotate(count=Count("id"), newest=Max("created_at"))
    }
    return [
        SessionOverview(
            session,
            agents.get(session.id),
            bindings[session.id],
            stores.get(session.id, 0),
            *requests.get(session.id, (0, None)),
        )
        for session in rows
    ]
