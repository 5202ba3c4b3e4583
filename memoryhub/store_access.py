"""The stores that an agent's key names, with its access to each.

The ground floor knows keys and not stores, so the room that has them registers how to find out whether they exist.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from memoryhub import ids
from memoryhub.actors import StoreAccess
from memoryhub.errors import InvalidRequest, NotFound

KEY_STORES_MAX = 100

type CountStores = Callable[[UUID, list[UUID]], int]
_count_stores: list[CountStores] = []

type ListStores = Callable[[UUID, int], list[tuple[UUID, str]]]
type NameStores = Callable[[UUID, list[UUID]], dict[UUID, str]]
_list_stores: list[ListStores] = []
_name_stores: list[NameStores] = []


def register_store_count(count: CountStores) -> None:
    """`count(environment_id, store_ids)`: how many of them are stores of that environment."""
    _count_stores.append(count)


def register_store_names(newest: ListStores, name: NameStores) -> None:
    """`newest(environment_id, limit)`: [(id, name)]; `name(project_id, store_ids)`: the names of those that are there."""
    _list_stores.append(newest)
    _name_stores.append(name)


def newest_stores(environment_id: UUID, limit: int) -> list[tuple[UUID, str]]:
    """The stores that an agent's key could name, newest first."""
    return [store for newest in _list_stores for store in newest(environment_id, limit)][:limit]


def name_stores(project_id: UUID, store_ids: list[UUID]) -> dict[UUID, str]:
    return {key: named for name in _name_stores for key, named in name(project_id, store_ids).items()}


def read_grants(items: list[dict[str, Any]] | None) -> dict[UUID, StoreAccess] | None:
    """`[{"memory_store_id", "access"?}]` as a mapping; access is `read_write` when left out. Raises: InvalidRequest, NotFound."""
    if items is None:
        return None
    grants: dict[UUID, StoreAccess] = {}
    for item in items:
        store_id = ids.from_wire(ids.MEMORY_STORE, item["memory_store_id"])
        if store_id is None:
            raise NotFound("memory store")
        if store_id in grants:
            raise InvalidRequest("stores: A key names each store once.")
        grants[store_id] = item.get("access", "read_write")
    return grants


def require_stores(environment_id: UUID, grants: Mapping[UUID, StoreAccess]) -> None:
    """Raises: InvalidRequest past the limit, NotFound when one is not a store of the environment."""
    if len(grants) > KEY_STORES_MAX:
        raise InvalidRequest(f"stores: A key names at most {KEY_STORES_MAX} stores.")
    found = sum(count(environment_id, list(grants)) for count in _count_stores)
    if found != len(grants):
        raise NotFound("memory store")
