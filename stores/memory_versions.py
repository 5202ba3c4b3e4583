"""The verbs of a version: get, list, redact. Source: contract stores 4.12 to 4.14."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, job_files
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.erasure import erase_copies
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from stores.memory_stores import get_store, share_store
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.reasons import check_reason_of


def versions_of(store: MemoryStore, with_content: bool) -> QuerySet[MemoryVersion]:
    versions = MemoryVersion.objects.filter(store_id=store.id)
    return versions if with_content else versions.defer("content")


def get_version(store_id: str, version_id: str, *, with_content: bool, actor: Actor) -> MemoryVersion:
    """Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    return get_version_of(versions_of(store, with_content), version_id)


def get_version_of(versions: QuerySet[MemoryVersion], version_id: str) -> MemoryVersion:
    """A step. Raises: NotFound."""
    key = ids.from_wire(ids.MEMORY_VERSION, version_id)
    version = find_row(versions.filter(id=key)) if key is not None else None
    if version is None:
        raise NotFound("memory version")
    return version


def list_versions(
    store_id: str,
    page: ListRequest,
    *,
    memory_id: str | None = None,
    operation: str | None = None,
    created_by: dict[str, str],
    created_from: datetime | None = None,
    created_to: datetime | None = None,
    with_content: bool,
    actor: Actor,
) -> Page[MemoryVersion]:
    """Newest first. `created_by`: actor type -> wire id, all must fit (so two types give nothing).

    Raises: NotFound, InvalidRequest for a foreign cursor.
    """
    store = get_store(store_id, actor=actor)
    position = page.position()
    versions = versions_of(store, with_content).filter(
        **_filters(memory_id, operation, created_from, created_to)
    )
    for actor_type, actor_id in created_by.items():
        versions = versions.filter(created_by_type=actor_type, created_by_id=actor_id)
    if position is not None:
        versions = versions.filter(number__lt=position[0])
    rows = list(versions.order_by("-number")[: page.limit + 1])
    return cut_page(rows, page, lambda version: [version.number])


def _filters(
    memory_id: str | None, operation: str | None, created_from: datetime | None, created_to: datetime | None
) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if memory_id is not None:
        filters["memory_id"] = ids.from_wire(ids.MEMORY, memory_id) or UUID(
            int=0
        )  # no memory has the zero id
    if operation is not None:
        filters["operation"] = operation
    if created_from is not None:
        filters["created_at__gte"] = created_from
    if created_to is not None:
        filters["created_at__lte"] = created_to
    return filters


@atomic(durable=True)
def redact_version(store_id: str, version_id: str, *, reason: str | None, actor: Actor) -> MemoryVersion:
    """Erase the text, path and digest of one version. Again: unchanged. `reason`: for the audit trail.

    Raises: NotFound; InvalidRequest for the head of a live memory, and for a reason that repeats the text.
    """
    store = share_store(store_id, actor)
    version = get_version_of(MemoryVersion.objects.filter(store_id=store.id), version_id)
    # The memory's lock decides the race with an update that would make this version the head, or a former one.
    memory = lock_memory_of(version)
    if memory is not None and memory.head_id == version.id:
        raise InvalidRequest(
            "This version is the current content of a memory: write a newer version or delete the memory first.",
            error_code="memory_version_is_head",
        )
    check_reason_of(reason, version)
    return erase_version(store, version.id, reason=reason, actor=actor)


def lock_memory_of(version: MemoryVersion) -> Memory | None:
    """A step: the version's memory, held alone to the end of the transaction; None when it is deleted."""
    return find_row(
        Memory.objects.select_for_update().filter(store_id=version.store_id, id=version.memory_id)
    )


def erase_version(
    store: MemoryStore, version_key: UUID, *, reason: str | None, actor: Actor
) -> MemoryVersion:
    """The step of `redact_version`: the version is not the head of a live memory, and the reason is checked."""
    erased = _erase(store, MemoryVersion.objects.filter(id=version_key), actor)
    version = MemoryVersion.objects.get(id=version_key)
    if erased:
        audit.record(
            AuditAction.MEMORY_VERSION_REDACTED,
            version.wire_id,
            environment_id=store.environment_id,
            parent_id=store.wire_id,
            details={"memory_id": version.memory_wire_id}
            | ({"reason": reason} if reason is not None else {}),
            actor=actor,
        )
    return version


def erase_history(store: MemoryStore, memory: Memory, actor: Actor) -> None:
    """A step: nothing is left of the texts of a deleted document. Its deletion is what the audit trail has of it."""
    _erase(store, MemoryVersion.objects.filter(store_id=store.id, memory_id=memory.id), actor)


def _erase(store: MemoryStore, versions: QuerySet[MemoryVersion], actor: Actor) -> int:
    """The texts of some versions of one store: in their rows, in files of exports, and in every copy that a room keeps."""
    job_files.forget_files_of(store.id)
    erased = versions.filter(redacted_at=None)
    erase_copies(store.environment_id, list(erased.values_list("id", flat=True)))
    return erased.update(
        path=None,
        content=None,
        content_size_bytes=None,
        content_sha256=None,
        title=None,
        summary=None,
        redacted_at=ClockTimestamp(),
        redacted_by_type=actor.type,
        redacted_by_id=actor.actor_id,
    )
