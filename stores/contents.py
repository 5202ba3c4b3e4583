"""What stores hold, for the lists and the overview: sorted by figures counted some seconds ago, shown as they are now."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Lower

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from stores.memory_stores import visible_stores
from stores.models import Memory, MemoryStore, MemoryVersion, StoreTotals
from stores.paths import prefix_range

STORES_ON_PANEL_MAX = 5
VERSIONS_COUNTED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Order:
    """`column` of the row that is sorted; `read` makes a value of a cursor's."""

    column: str
    read: Callable[[Any], Any]


ORDERS: dict[str, Order] = {
    "name": Order("name_key", str),
    "memories": Order("totals__memories_count", int),
    "size": Order("totals__size_bytes", int),
    "changed": Order("totals__changed_at", datetime.fromisoformat),
}
STATES: dict[str, Q] = {
    "active": Q(archived_at=None, frozen_at=None),
    "frozen": Q(archived_at=None, frozen_at__isnull=False),
    "archived": Q(archived_at__isnull=False),
}


@dataclass(frozen=True, slots=True)
class StoreFilters:
    """`sort` is one of ORDERS; `state` one of STATES or empty, as `name_part`: all of them."""

    name_part: str = ""
    state: str = ""
    sort: str = "changed"
    direction: Literal["asc", "desc"] = "desc"

    def as_dict(self) -> dict[str, str]:
        """For the seal of a cursor."""
        return {"name": self.name_part, "state": self.state, "sort": self.sort, "direction": self.direction}


@dataclass(frozen=True, slots=True)
class StoreContents:
    """`changed_at` and `changed_by_id`: the last version of any memory, or the store's own beginning and nobody."""

    store: MemoryStore
    memories_count: int
    size_bytes: int
    changed_at: datetime
    changed_by_id: str | None


def list_contents(page: ListRequest, filters: StoreFilters, *, actor: Actor) -> Page[StoreContents]:
    """The stores of the actor's one environment, archived ones too. Raises: InvalidRequest for a foreign cursor."""
    order = ORDERS[filters.sort]
    stores = _find(filters, actor)
    position = page.position()
    if position is not None:
        stores = stores.filter(_behind(order, filters.direction, position))
    sign = "-" if filters.direction == "desc" else ""
    rows = list(stores.order_by(sign + order.column, sign + _tie(order))[: page.limit + 1])
    cut = cut_page(rows, page, lambda store: [_value(store, order), store.id.hex])
    return Page(_count(cut.rows), cut.next_page)


def _find(filters: StoreFilters, actor: Actor) -> QuerySet[MemoryStore]:
    stores = visible_stores(actor).select_related("totals")
    # said of both tables, so that either one's index can lead
    stores = stores.filter(totals__environment_id=tenancy.choose_environment(None, actor=actor)).annotate(
        name_key=Lower("name")
    )
    if filters.name_part:
        stores = stores.filter(name__icontains=filters.name_part)
    return stores.filter(STATES[filters.state]) if filters.state else stores


def _behind(order: Order, direction: str, position: list[Any]) -> Q:
    """Beyond the position; the first condition is the one that an index can begin at."""
    value, key = order.read(position[0]), UUID(hex=position[1])
    side = "lt" if direction == "desc" else "gt"
    ties = Q(**{order.column: value, f"{_tie(order)}__{side}": key})
    return Q(**{f"{order.column}__{side}e": value}) & (Q(**{f"{order.column}__{side}": value}) | ties)


def _tie(order: Order) -> str:
    """The id, from the table that is sorted."""
    return "id" if order.column == "name_key" else "totals__store_id"


def _value(store: MemoryStore, order: Order) -> Any:
    value: Any = store
    for name in order.column.split("__"):
        value = getattr(value, name)
    return value.isoformat() if isinstance(value, datetime) else value


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


def get_contents(store: MemoryStore) -> StoreContents:
    """What one store holds now. Raises: NotFound when it was deleted meanwhile."""
    for contents in _count([store]):
        return contents
    raise NotFound("memory store")


def count_versions(store: MemoryStore) -> int:
    """Those that there are, counted no further than one past VERSIONS_COUNTED_MAX."""
    counted = MemoryVersion.objects.filter(store_id=store.id).order_by()[: VERSIONS_COUNTED_MAX + 1]
    return counted.count()


@dataclass(frozen=True, slots=True)
class DirectoryContents:
    memories_count: int
    size_bytes: int
    changed_at: datetime


_DIRECTORIES = """
SELECT wanted.path, held.count, held.bytes, held.changed_at
  FROM unnest(%s::text[], %s::bytea[], %s::bytea[]) AS wanted (path, low, high),
       LATERAL (SELECT count(*) AS count, sum(content_size_bytes) AS bytes, max(updated_at) AS changed_at
                  FROM stores_memory WHERE store_id = %s AND path_key >= wanted.low AND path_key < wanted.high) AS held
 WHERE held.count > 0
"""


def count_directories(store: MemoryStore, paths: list[str]) -> dict[str, DirectoryContents]:
    """By path, with its final `/`: everything below it, in one query over no more than the store's memories."""
    ranges = [prefix_range(path.encode()) for path in paths]
    with connection.cursor() as cursor:
        cursor.execute(
            _DIRECTORIES, [paths, [low for low, _ in ranges], [high for _, high in ranges], store.id]
        )
        return {path: DirectoryContents(*held) for path, *held in cursor.fetchall()}


def list_writers(memories: list[Memory]) -> dict[UUID, str]:
    """Who wrote the current text of each, by the memory's id."""
    heads = {memory.head_id: memory.id for memory in memories}
    written = MemoryVersion.objects.filter(id__in=list(heads)).values_list("id", "created_by_id")
    return {heads[version_id]: actor_id for version_id, actor_id in written}


def read_panel(actor: Actor) -> dict[str, Any]:
    """`{"stores_count", "memories_count", "size_bytes", "newest": [StoreContents]}`, counted some seconds ago."""
    newest = list_contents(ListRequest("panel", {}, STORES_ON_PANEL_MAX, None), StoreFilters(), actor=actor)
    totals = StoreTotals.objects.filter(
        environment_id=tenancy.choose_environment(None, actor=actor)
    ).aggregate(
        stores_count=Count("store"),
        memories_count=Coalesce(Sum("memories_count"), 0),
        size_bytes=Coalesce(Sum("size_bytes"), 0),
    )
    return {**totals, "newest": newest.rows}
