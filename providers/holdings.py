"""What the declared memory of an environment holds, and who uses it: for the lists and the overview."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from memoryhub import ids, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest, Page
from providers import declared, documents
from providers.declared import DeclaredResource
from providers.models import Binding, Namespace, Resource
from stores.models import StoreTotals

SESSIONS_COUNTED_MAX = 1_000
SESSIONS_ON_PANEL_MAX = 5


@dataclass(frozen=True, slots=True)
class Holding:
    """`bindings_count`: of live sessions. `size_bytes`, `changed_at`: of documents, counted some seconds ago."""

    declared: DeclaredResource
    namespaces_count: int
    bindings_count: int
    size_bytes: int
    changed_at: datetime | None

    @property
    def resource(self) -> Resource:
        return self.declared.resource


def list_holdings(page: ListRequest, *, actor: Actor) -> Page[Holding]:
    """By id, retired resources too. Raises: InvalidRequest for a foreign cursor."""
    environment_id = tenancy.choose_environment(None, actor=actor)
    named = ids.to_wire(ids.ENVIRONMENT, environment_id)
    listed = declared.list_resources(named, page, actor=actor)
    return Page(_describe(listed.rows), listed.next_page)


def get_holding(resource_id: str, *, actor: Actor) -> Holding:
    """Raises: NotFound."""
    resource = documents.get_resource(None, resource_id, actor=actor)
    return _describe([declared.describe_resource(resource)])[0]


def _describe(rows: list[DeclaredResource]) -> list[Holding]:
    """Three queries, however many there are."""
    keys = [one.resource.id for one in rows]
    namespaces = Namespace.objects.filter(resource_id__in=keys).values_list("resource_id")
    named = dict(namespaces.annotate(count=Count("id")))
    live = Binding.objects.filter(resource_id__in=keys, revoked_at=None).values_list("resource_id")
    bound = dict(live.annotate(count=Count("id")))
    totals = StoreTotals.objects.filter(store_id__in=[one.resource.store_id for one in rows])
    held = {one.store_id: one for one in totals}
    return [_holding(one, named, bound, held) for one in rows]


def _holding(
    one: DeclaredResource, named: dict[UUID, int], bound: dict[UUID, int], held: dict[UUID, StoreTotals]
) -> Holding:
    resource = one.resource
    totals = held.get(resource.store_id) if resource.store_id else None
    return Holding(
        one,
        named.get(resource.id, 0),
        bound.get(resource.id, 0),
        totals.size_bytes if totals else 0,
        totals.changed_at if totals and totals.memories_count else None,
    )


def read_panel(actor: Actor) -> dict[str, Any]:
    """`{"resources_count", "documents_count", "sessions_count", "newest": [Session]}`; sessions: the live ones, counted
    no further than one past SESSIONS_COUNTED_MAX; documents as they were counted some seconds ago.
    """
    environment_id = tenancy.choose_environment(None, actor=actor)
    visible = sessions.visible_sessions(actor).order_by("-id")
    of_documents = StoreTotals.objects.filter(environment_id=environment_id, store__resource_id__isnull=False)
    return {
        "resources_count": Resource.objects.filter(environment_id=environment_id).count(),
        "documents_count": of_documents.aggregate(count=Coalesce(Sum("memories_count"), 0))["count"],
        "sessions_count": visible.filter(ended_at=None)[: SESSIONS_COUNTED_MAX + 1].count(),
        "newest": list(visible[:SESSIONS_ON_PANEL_MAX]),
    }
