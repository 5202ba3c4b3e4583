"""The history of one memory as people read it: who did what, when, and by how much it grew."""

from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from django.db.models import OuterRef, Subquery

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pagination import ListRequest, Page
from stores.memory_stores import get_store
from stores.memory_versions import list_versions
from stores.models import Memory, MemoryVersion


@dataclass(frozen=True, slots=True)
class Step:
    """`growth_bytes` None: a side that is redacted or removed has no size left. `is_move`: the path is another than before."""

    version: MemoryVersion
    growth_bytes: int | None
    is_move: bool


def list_steps(store_id: str, memory_id: str, page: ListRequest, *, actor: Actor) -> Page[Step]:
    """Newest first; of a deleted memory too. Raises: NotFound, InvalidRequest for a foreign cursor."""
    if ids.from_wire(ids.MEMORY, memory_id) is None:
        raise NotFound("memory")
    versions = list_versions(
        store_id, page, memory_id=memory_id, created_by={}, with_content=False, actor=actor
    )
    if not versions.rows:
        raise NotFound("memory")
    oldest = versions.rows[-1]
    before = MemoryVersion.objects.filter(
        store_id=oldest.store_id, memory_id=oldest.memory_id, number__lt=oldest.number
    )
    rows = [*versions.rows, before.defer("content").order_by("-number").first()]
    steps = [_step(after, earlier) for after, earlier in pairwise(rows) if after]
    return Page(steps, versions.next_page)


def list_store_steps(
    store_id: str, page: ListRequest, *, operation: str | None, created_by_id: str | None, actor: Actor
) -> Page[Step]:
    """Of all memories of the store, newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    created_by = {} if created_by_id is None else {_actor_type(created_by_id): created_by_id}
    versions = list_versions(
        store_id, page, operation=operation, created_by=created_by, with_content=False, actor=actor
    )
    before = _before_each(versions.rows)
    return Page([_step(after, before.get(after.id)) for after in versions.rows], versions.next_page)


def _actor_type(actor_id: str) -> str:
    kinds = {ids.USER: "user_actor", ids.API_KEY: "api_actor", ids.SESSION: "session_actor"}
    return kinds.get(actor_id.partition("_")[0], "service_account_actor")


def _before_each(versions: list[MemoryVersion]) -> dict[UUID, MemoryVersion]:
    """Version -> the one before it of the same memory, where there is one: two queries for all of them."""
    earlier = MemoryVersion.objects.filter(
        store_id=OuterRef("store_id"), memory_id=OuterRef("memory_id"), number__lt=OuterRef("number")
    )
    before = Subquery(earlier.order_by("-number").values("id")[:1])
    named = MemoryVersion.objects.filter(id__in=[version.id for version in versions])
    keys = dict(named.annotate(before_id=before).values_list("id", "before_id"))
    found = MemoryVersion.objects.defer("content").in_bulk([key for key in keys.values() if key])
    return {after: found[key] for after, key in keys.items() if key in found}


def has_memory(store_id: str, memory_id: str, *, actor: Actor) -> bool:
    """Whether the memory is still there, and not only its versions. Raises: NotFound for the store."""
    store = get_store(store_id, actor=actor)
    key = ids.from_wire(ids.MEMORY, memory_id)
    return key is not None and Memory.objects.filter(store_id=store.id, id=key).exists()


def _step(after: MemoryVersion, before: MemoryVersion | None) -> Step:
    if after.follows_removed:
        return Step(after, None, is_move=False)
    path_before = after.path if before is None else before.path
    is_move = None not in (after.path, path_before) and after.path != path_before
    return Step(after, _growth(before, after), is_move=is_move)


def _growth(before: MemoryVersion | None, after: MemoryVersion) -> int | None:
    sizes = [_size(before), _size(after)]
    return None if sizes[0] is None or sizes[1] is None else sizes[1] - sizes[0]


def _size(version: MemoryVersion | None) -> int | None:
    """What a version holds; nothing and a deletion hold 0 bytes."""
    if version is None or version.operation == "deleted":
        return 0
    return version.content_size_bytes
