"""The verbs of a memory: create, get, update, list, delete. Source: contract stores 4.7 to 4.11.

Each change appends exactly one version and moves the head in the same transaction; a change of nothing appends none.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, quotas
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import sha256_hex
from memoryhub.errors import (
    InvalidRequest,
    MemoryPathConflict,
    MemoryPreconditionFailed,
    NotFound,
    PermissionRefused,
    RequestTooLarge,
)
from memoryhub.kept_queries import KeptSelect, insert_row, update_row
from memoryhub.pagination import ListRequest, Page, cut_page
from stores import document_policy, search
from stores.document_policy import Card
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.memory_stores import get_store, lock_store, require_writable, share_store
from stores.memory_versions import erase_history
from stores.models import Memory, MemoryStore, MemoryVersion, UsedPath
from stores.paths import check_path, check_path_prefix, parent_keys, prefix_range, subtree_range


@dataclass(frozen=True, slots=True)
class MemoryPrefix:
    """A child directory in a list of depth 1; the path ends with `/`."""

    path: str


def check_content(content: str) -> int:
    """The content's size in bytes. Raises: RequestTooLarge."""
    size = len(content.encode())
    if size > MEMORY_CONTENT_BYTES_MAX:
        raise RequestTooLarge(
            f"content: It has {size} bytes; a memory holds at most {MEMORY_CONTENT_BYTES_MAX}.",
            error_code="memory_content_too_large",
        )
    return size


@atomic(durable=True)
def create_memory(store_id: str, *, path: str, content: str, actor: Actor) -> Memory:
    """Raises: InvalidRequest, RequestTooLarge, NotFound, PermissionRefused, MemoryPathConflict."""
    check_path(path)
    check_content(content)
    store = lock_store(store_id, actor)
    require_writable(store, actor)
    return add_memory(store, path=path, content=content, actor=actor)


def add_memory(
    store: MemoryStore, *, path: str, content: str, card: Card | None = None, actor: Actor
) -> Memory:
    """The step of `create_memory`: the store is locked and writable, path and content are checked.

    `card`: of a document; its id is its title when none is given.
    """
    path_key = path.encode()
    if document_policy.is_document_store(store):
        document_policy.require_new(store, path, content)
        card = card or document_policy.first_card(path)
    require_free_path(store, path_key)
    if card is None:
        require_room(store)
    quotas.require_history_room(store.project_id)
    memory = Memory(project_id=store.project_id, store=store, path=path, path_key=path_key)
    if card is not None and not card.agent_writes:
        memory.frozen_at = ClockTimestamp()
    append_version(memory, operation="created", content=content, card=card, actor=actor)
    search.index_memory(memory, store, content)
    record_change(AuditAction.MEMORY_CREATED, memory, store, actor)
    return memory


def get_memory(store_id: str, memory_id: str, *, with_content: bool, actor: Actor) -> Memory:
    """The memory; its `head` holds the content when asked for. Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    memory = _with_id[with_content].row(store_id=store.id, id=_key(memory_id))
    if memory is None:
        raise NotFound("memory")
    return memory


_with_id = {
    False: KeptSelect(lambda **key: Memory.objects.filter(**key)),
    True: KeptSelect(lambda **key: Memory.objects.filter(**key).select_related("head")),
}
_locked = KeptSelect(lambda **key: Memory.objects.select_for_update().filter(**key))


def memories_of(store: MemoryStore, with_content: bool) -> QuerySet[Memory]:
    memories = Memory.objects.filter(store_id=store.id)
    return memories.select_related("head") if with_content else memories


def _key(memory_id: str) -> UUID:
    key = ids.from_wire(ids.MEMORY, memory_id)
    if key is None:
        raise NotFound("memory")
    return key


def lock_memory(store: MemoryStore, memory_id: str) -> Memory:
    """A step: the memory, held alone to the end of the transaction. Raises: NotFound."""
    memory = _locked.row(store_id=store.id, id=_key(memory_id))
    if memory is None:
        raise NotFound("memory")
    return memory


def require_unfrozen(memory: Memory, actor: Actor) -> None:
    """Raises: PermissionRefused for an agent and a frozen memory."""
    if actor.is_agent and memory.frozen_at is not None:
        raise PermissionRefused("The memory is frozen: agents may not change it.", error_code="memory_frozen")


def require_path(memory: Memory, expected_path: str | None) -> None:
    """A step. Raises: MemoryPreconditionFailed for a memory that is not where the caller saw it; None: anywhere."""
    if expected_path is not None and expected_path != memory.path:
        raise MemoryPreconditionFailed(f"The memory moved since it was read: it is now at {memory.path}.")


@atomic(durable=True)
def update_memory(
    store_id: str,
    memory_id: str,
    *,
    path: str | None = None,
    content: str | None = None,
    expected_sha256: str | None = None,
    expected_path: str | None = None,
    actor: Actor,
) -> Memory:
    """Set the content, the path or both; `expected_sha256` is of the current content, `expected_path` the current path.

    What already is as wanted is a success, even with a stale expectation, and appends nothing.
    Raises: InvalidRequest, RequestTooLarge, NotFound, PermissionRefused, MemoryPreconditionFailed, MemoryPathConflict.
    """
    if path is not None:
        check_path(path)
    if content is not None:
        check_content(content)
    # A rename changes which paths are taken, so it holds the store alone.
    store = share_store(store_id, actor) if path is None else lock_store(store_id, actor)
    require_writable(store, actor)
    memory = lock_memory(store, memory_id)
    require_unfrozen(memory, actor)
    if path != memory.path:
        require_path(memory, expected_path)
    return change_memory(
        store, memory, path=path, content=content, expected_sha256=expected_sha256, actor=actor
    )


def change_memory(
    store: MemoryStore,
    memory: Memory,
    *,
    path: str | None,
    content: str | None,
    expected_sha256: str | None,
    actor: Actor,
) -> Memory:
    """The step of `update_memory`: both rows are locked and writable, path and content are checked."""
    if document_policy.is_document_store(store):
        document_policy.require_same_path(memory, path)
    same_path = path is None or path == memory.path
    same_content = content is None or sha256_hex(content) == memory.content_sha256
    if same_path and same_content:
        # with its text, while it is locked: the answer may show it
        return Memory.objects.select_related("head").get(id=memory.id)
    if expected_sha256 is not None and expected_sha256 != memory.content_sha256:
        raise MemoryPreconditionFailed
    if path is not None and not same_path:
        require_free_path(store, path.encode(), moving=memory)
        memory.path, memory.path_key = path, path.encode()
    text = head_content(memory) if content is None else content
    card = None
    if document_policy.is_document_store(store):
        document_policy.require_fit(store, text)
        card = document_policy.card_of(memory.head)
    return rewrite_memory(store, memory, content=text, card=card, actor=actor)


def rewrite_memory(
    store: MemoryStore, memory: Memory, *, content: str, card: Card | None, actor: Actor
) -> Memory:
    """A step: a new version of a memory whose rows are locked, with a text and a card that were checked."""
    quotas.require_history_room(store.project_id)
    append_version(memory, operation="modified", content=content, card=card, actor=actor)
    search.index_memory(memory, store, content)
    record_change(AuditAction.MEMORY_UPDATED, memory, store, actor)
    return memory


def head_content(memory: Memory) -> str:
    content = MemoryVersion.objects.values_list("content", flat=True).get(id=memory.head_id)
    assert content is not None, "the head of a live memory is never redacted"
    return content


@atomic(durable=True)
def delete_memory(
    store_id: str,
    memory_id: str,
    *,
    expected_sha256: str | None = None,
    expected_path: str | None = None,
    actor: Actor,
) -> str:
    """Append a `deleted` version and remove the head; the memory's id.

    Raises: NotFound, InvalidRequest, PermissionRefused, LeaseLost, MemoryPreconditionFailed.
    """
    store = share_store(store_id, actor)
    require_writable(store, actor)
    memory = lock_memory(store, memory_id)
    require_unfrozen(memory, actor)
    require_path(memory, expected_path)
    remove_memory(store, memory, expected_sha256=expected_sha256, actor=actor)
    return ids.to_wire(ids.MEMORY, _key(memory_id))


def remove_memory(
    store: MemoryStore, memory: Memory, *, expected_sha256: str | None, actor: Actor
) -> MemoryVersion:
    """The step of `delete_memory`: both rows are locked and writable. The version that records the deletion."""
    if expected_sha256 is not None and expected_sha256 != memory.content_sha256:
        raise MemoryPreconditionFailed
    document_policy.require_deleter(store, actor)
    deletion = append_version(memory, operation="deleted", content=None, card=None, actor=actor)
    Memory.objects.filter(id=memory.id).delete()  # its search row goes with it
    record_change(AuditAction.MEMORY_DELETED, memory, store, actor)
    if document_policy.is_document_store(store):
        UsedPath.objects.create(project_id=store.project_id, store=store, path_key=memory.path_key)
        erase_history(store, memory, actor)
    return deletion


def append_version(
    memory: Memory, *, operation: str, content: str | None, card: Card | None, actor: Actor
) -> MemoryVersion:
    """A step: write the version of a change, and point the head at it unless the memory is deleted."""
    version = MemoryVersion(
        project_id=memory.project_id,
        store_id=memory.store_id,
        memory_id=memory.id,
        operation=operation,
        path=memory.path,
        content=content,
        content_size_bytes=None if content is None else len(content.encode()),
        content_sha256=None if content is None else sha256_hex(content),
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
        title=card.title if card else None,
        summary=card.summary if card else None,
        agent_writes=card.agent_writes if card else None,
        work_id=actor.work_id,
    )
    insert_row(version)
    if operation != "deleted":
        _move_head(memory, version, is_new=operation == "created")
    return version


def _move_head(memory: Memory, version: MemoryVersion, *, is_new: bool) -> None:
    memory.head = version
    memory.content_size_bytes = version.content_size_bytes or 0
    memory.content_sha256 = version.content_sha256 or ""
    memory.updated_at = version.created_at
    if is_new:
        memory.created_at = version.created_at
        insert_row(memory)
        return
    update_row(memory, "head", "path", "path_key", "content_size_bytes", "content_sha256", "updated_at")


def record_change(action: AuditAction, memory: Memory, store: MemoryStore, actor: Actor) -> None:
    audit.record(
        action,
        memory.wire_id,
        environment_id=store.environment_id,
        parent_id=store.wire_id,
        details={"memory_version_id": ids.to_wire(ids.MEMORY_VERSION, memory.head_id)},
        actor=actor,
    )


def require_free_path(store: MemoryStore, path_key: bytes, *, moving: Memory | None = None) -> None:
    """A step: nothing is at the path, above or below it; the store is locked. Raises: MemoryPathConflict with the first."""
    below = subtree_range(path_key)
    taken = Memory.objects.filter(store_id=store.id).filter(
        Q(path_key__in=[*parent_keys(path_key), path_key]) | Q(path_key__gte=below[0], path_key__lt=below[1])
    )
    if moving is not None:
        taken = taken.exclude(id=moving.id)
    first = taken.order_by("path_key").first()
    if first is not None:
        raise MemoryPathConflict(
            path_key.decode(), conflicting_memory_id=first.wire_id, conflicting_path=first.path
        )


def require_room(store: MemoryStore) -> None:
    """Raises: InvalidRequest for a store with the most memories it may hold."""
    if Memory.objects.filter(store_id=store.id).count() >= MEMORIES_PER_STORE_MAX:
        raise InvalidRequest(
            f"The memory store holds {MEMORIES_PER_STORE_MAX} memories, the most there may be; delete some, or use another store.",
            error_code="memory_store_full",
        )


def list_memories(
    store_id: str, page: ListRequest, *, path_prefix: str, depth: int, with_content: bool, actor: Actor
) -> Page[Memory | MemoryPrefix]:
    """In byte order of the path. Depth 1 shows what is deeper as one prefix for each child directory.

    Raises: NotFound, InvalidRequest.
    """
    store = get_store(store_id, actor=actor)
    prefix_key = check_path_prefix(path_prefix)
    position = page.position()
    low, high = prefix_range(prefix_key)
    if position is not None:
        low = max(low, _after(position[0]))
    if depth == 1:
        children = _child_keys(store, prefix_key, low, high, page.limit + 1)
        cut = cut_page(children, page, lambda key: [key.decode()])
        return Page(_children(store, cut.rows, with_content), cut.next_page)
    found = memories_of(store, with_content).filter(path_key__gte=low, path_key__lt=high)
    rows: list[Memory | MemoryPrefix] = list(found.order_by("path_key")[: page.limit + 1])
    return cut_page(rows, page, lambda row: [row.path])


def _after(path: str) -> bytes:
    """The least key after a shown item: after a prefix, what follows its whole subtree."""
    key = path.encode()
    return prefix_range(key)[1] if path.endswith("/") else key + b"\0"


# One index probe for each child: from each row found, the next begins after it, or after its whole directory.
_CHILDREN = """
WITH RECURSIVE child AS (
    (SELECT path_key, position('/'::bytea IN substring(path_key FROM %(start)s)) AS slash
       FROM stores_memory WHERE store_id = %(store)s AND path_key >= %(low)s AND path_key < %(high)s
      ORDER BY path_key LIMIT 1)
    UNION ALL
    SELECT next.path_key, position('/'::bytea IN substring(next.path_key FROM %(start)s))
      FROM child, LATERAL (
        SELECT path_key FROM stores_memory
         WHERE store_id = %(store)s AND path_key < %(high)s AND path_key >= CASE
               WHEN child.slash = 0 THEN child.path_key || '\\x00'::bytea
               ELSE substring(child.path_key FROM 1 FOR %(start)s + child.slash - 2) || '0'::bytea END
         ORDER BY path_key LIMIT 1) AS next
)
SELECT CASE WHEN slash = 0 THEN path_key ELSE substring(path_key FROM 1 FOR %(start)s + slash - 1) END
  FROM child LIMIT %(count)s
"""


def _child_keys(store: MemoryStore, prefix_key: bytes, low: bytes, high: bytes, count: int) -> list[bytes]:
    """The paths of memories directly below the prefix, and of each directory with its final `/`, in order."""
    values: dict[str, Any] = {
        "store": store.id,
        "low": low,
        "high": high,
        "start": len(prefix_key) + 1,
        "count": count,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHILDREN, values)
        return [bytes(row[0]) for row in cursor.fetchall()]


def _children(store: MemoryStore, keys: list[bytes], with_content: bool) -> list[Memory | MemoryPrefix]:
    """What stands at the keys. A memory that went away since they were read is left out; the page goes on after it."""
    files = [key for key in keys if not key.endswith(b"/")]
    found = memories_of(store, with_content).filter(path_key__in=files)
    memories = {bytes(memory.path_key): memory for memory in found}
    rows = [MemoryPrefix(key.decode()) if key.endswith(b"/") else memories.get(key) for key in keys]
    return [row for row in rows if row is not None]
