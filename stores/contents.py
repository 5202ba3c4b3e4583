"""What stores hold, counted for those that are shown: the memories, their bytes, the last change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest, Page
from stores.memory_stores import list_stores, visible_stores
from stores.models import Memory, MemoryStore, MemoryVersion

STORES_ON_PANEL_MAX = 5


@dataclass(frozen=True, slots=True)
class StoreContents:
    """`changed_at` and `changed_by_id`: the last version of any memory, or the store's own beginning and nobody."""

    store: MemoryStore
    memories_count: int
    size_bytes: int
    changed_at: datetime
    changed_by_id: str | None


def list_contents(page: ListRequest, *, actor: Actor) -> Page[StoreContents]:
    """The stores, newest first, archived ones too. Raises: InvalidRequest for a foreign cursor."""
    stores = list_stores(page, include_archived=True, actor=actor)
    return Page(_count(stores.rows), stores.next_page)


def _count(stores: list[MemoryStore]) -> list[StoreContents]:
    """In one query for all of them."""
    memories = Memory.objects.filter(store_id=OuterRef("id")).order_by().values("store_id")
    newest = MemoryVersion.objects.filter(store_id=OuterRef("id")).order_by("-number")
    counted = MemoryStore.objects.filter(id__in=[store.id for store in stores]).values_list(
        "id",
        Coalesce(Subquery(memories.annotate(count=Count("id")).values("count")), 0),
        Coalesce(Subquery(memories.annotate(size=Sum("content_size_bytes")).values("size")), 0),
        Subquery(newest.values("created_at")[:1]),
        Subquery(newest.values("created_by_id")[:1]),
    )
    found = {key: facts for key, *facts in counted}
    return [_contents(store, *found[store.id]) for store in stores if store.id in found]


def _contents(
    store: MemoryStore, count: int, size: int, changed_at: datetime | None, changed_by_id: str | None
) -> StoreContents:
    return StoreContents(store, count, size, changed_at or store.created_at, changed_by_id)


def read_panel(actor: Actor) -> dict[str, Any]:
    """`{"stores_count", "memories_count", "newest": [StoreContents]}` of what the actor may see."""
    stores = visible_stores(actor)
    newest = list_contents(ListRequest("panel", {}, STORES_ON_PANEL_MAX, None), actor=actor)
    return {
        "stores_count": stores.count(),
        "memories_count": Memory.objects.filter(store__in=stores).count(),
        "newest": newest.rows,
    }
