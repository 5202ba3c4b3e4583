"""Text wherever it stands: search in all versions of an environment, and erase what was found.

A request looks at a bounded number of versions and hands back where to go on. It goes through the stores in the order
of their ids, through each from its newest version: what is written after it began is not part of it.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.erasure import Elsewhere, Sought, TextErasure, erase_text
from memoryhub.errors import Conflict
from memoryhub.pagination import ListRequest, Page
from memoryhub.snapshots import allow_seconds
from stores.memories import remove_memory
from stores.memory_stores import get_store, share_stores, visible_stores
from stores.memory_versions import erase_version
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.reasons import check_reason, check_reason_of

CONTAINS_LENGTH_MIN = 4  # code points that are no white space: less would blank everything
CONTAINS_LENGTH_MAX = 1_024
SCAN_VERSIONS_MAX = 5_000
SCAN_BYTES_MAX = 33_554_432
REDACTION_VERSIONS_MAX = 200
ELSEWHERE_STATEMENT_SECONDS_MAX = 60

type Heads = Literal["refuse", "delete"]
type LeftReason = Literal["is_head", "store_archived"]
type Standing = tuple[UUID, bool]  # a version, and whether it is the current content of a memory


@dataclass(frozen=True, slots=True)
class Place:
    """Where a version stands in the order of a search."""

    store_id: UUID
    number: int
    version_id: UUID


@dataclass(frozen=True, slots=True)
class Found:
    """`heads`: the versions that are the current content of a memory."""

    version: MemoryVersion
    is_head: bool


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a run did, or would do. `next_page` None: every version of the environment or the store was looked at.

    `elsewhere`: beside versions; looked at once, with the first versions of an environment.
    """

    redacted: list[MemoryVersion] = field(default_factory=list)
    deleted: list[Memory] = field(default_factory=list)
    left: list[tuple[MemoryVersion, LeftReason]] = field(default_factory=list)
    next_page: str | None = None
    elsewhere: Elsewhere = field(default_factory=Elsewhere)

    @property
    def versions(self) -> list[MemoryVersion]:
        """All that were found, whatever becomes of them."""
        return [*self.redacted, *(version for version, _ in self.left)]

    @property
    def head_ids(self) -> set[UUID]:
        """Of those found, the current contents."""
        return {memory.head_id for memory in self.deleted} | {version.id for version, _ in self.left}

    def standings(self) -> frozenset[Standing]:
        heads = self.head_ids
        return frozenset((version.id, version.id in heads) for version in self.versions)


def search_versions(
    page: ListRequest, *, sought: Sought, environment: str | None, store_id: str | None, actor: Actor
) -> Page[Found]:
    """A page may be short, even empty, and yet have a next one. Raises: NotFound, InvalidRequest."""
    stores = _stores_in_reach(environment, store_id, actor)
    places, next_page = _find(stores, sought, page, limit=page.limit)
    versions = MemoryVersion.objects.defer("content").in_bulk([place.version_id for place in places])
    heads = set(Memory.objects.filter(head_id__in=versions).values_list("head_id", flat=True))
    found = [versions[place.version_id] for place in places if place.version_id in versions]
    return Page([Found(version, version.id in heads) for version in found], next_page)


def _stores_in_reach(environment: str | None, store_id: str | None, actor: Actor) -> QuerySet[MemoryStore]:
    """The store named, else all of the environment. Raises: NotFound, InvalidRequest when neither says which."""
    stores = visible_stores(actor)
    if store_id is not None:
        stores = stores.filter(id=get_store(store_id, actor=actor).id)
    if store_id is None or environment is not None:
        stores = stores.filter(environment_id=tenancy.choose_environment(environment, actor=actor))
    return stores


def _find(
    stores: QuerySet[MemoryStore], sought: Sought, page: ListRequest, *, limit: int
) -> tuple[list[Place], str | None]:
    """At most `limit` places that hold what is sought, and the cursor to go on from, if there is more to look at."""
    position = page.position()
    after = None if position is None else Place(UUID(hex=position[0]), position[1], UUID(int=0))
    keys = sorted(stores.values_list("id", flat=True))
    if sought.content_sha256 is not None:
        found, scanned_to = _find_digest(keys, sought.content_sha256, after, limit + 1), None
    else:
        found, scanned_to = _scan(keys, sought.contains or "", after)
    if len(found) > limit:
        found, scanned_to = found[:limit], found[limit - 1]
    cursor = None if scanned_to is None else page.cursor([scanned_to.store_id.hex, scanned_to.number])
    return found, cursor


def _find_digest(keys: list[UUID], sha256: str, after: Place | None, limit: int) -> list[Place]:
    project = MemoryStore.objects.filter(id__in=keys[:1]).values("project_id")
    versions = MemoryVersion.objects.filter(project_id__in=project, content_sha256=sha256, store_id__in=keys)
    if after is not None:
        versions = versions.filter(
            Q(store_id__gt=after.store_id) | Q(store_id=after.store_id, number__lt=after.number)
        )
    rows = versions.order_by("store_id", "-number").values_list("store_id", "number", "id")
    return [Place(*row) for row in rows[:limit]]


# The rest of the store that the last page ended in, then the next stores: both in the order of one index.
_SCAN = """
WITH ahead AS (
    (SELECT id, store_id, number, path, title, summary, content, coalesce(content_size_bytes, 0) AS bytes
       FROM stores_memoryversion WHERE store_id = %(store)s AND number < %(number)s
      ORDER BY number DESC LIMIT %(rows)s + 1)
    UNION ALL
    (SELECT id, store_id, number, path, title, summary, content, coalesce(content_size_bytes, 0) AS bytes
       FROM stores_memoryversion WHERE store_id = ANY(%(stores)s)
      ORDER BY store_id, number DESC LIMIT %(rows)s + 1)
), counted AS (
    SELECT *, row_number() OVER in_order AS place, sum(bytes) OVER in_order - bytes AS bytes_before,
           count(*) OVER () AS rows_ahead
      FROM ahead WINDOW in_order AS (ORDER BY store_id, number DESC)
)
SELECT store_id, number, id,
       greatest(strpos(content, %(text)s), strpos(path, %(text)s), strpos(title, %(text)s), strpos(summary, %(text)s)) > 0,
       rows_ahead
  FROM counted
 WHERE place <= %(rows)s AND bytes_before < %(bytes)s
 ORDER BY place
"""


def _scan(keys: list[UUID], text: str, after: Place | None) -> tuple[list[Place], Place | None]:
    """(the places that hold the text, the last place looked at if others follow it)."""
    values: dict[str, Any] = {
        "store": after.store_id if after and after.store_id in keys else None,
        "number": after.number if after else 0,
        "stores": [key for key in keys if after is None or key > after.store_id],
        "text": text,
        "rows": SCAN_VERSIONS_MAX,
        "bytes": SCAN_BYTES_MAX,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SCAN, values)
        rows = cursor.fetchall()
    found = [Place(*row[:3]) for row in rows if row[3]]
    is_cut = bool(rows) and rows[-1][4] > len(rows)
    return found, Place(*rows[-1][:3]) if is_cut else None


@atomic(durable=True)
def redact_text(
    page: ListRequest,
    *,
    sought: Sought,
    environment: str | None,
    store_id: str | None,
    heads: Heads,
    dry_run: bool,
    reason: str | None,
    shown: frozenset[Standing] | None,
    actor: Actor,
) -> Redaction:
    """Erase the versions that hold what is sought; the current content of a memory only by deleting the memory.

    A dry run answers the same and changes nothing. `shown`: what the caller saw of a dry run; nothing else is touched.
    Raises: NotFound, InvalidRequest, Conflict when something else was found.
    """
    stores = _stores_in_reach(environment, store_id, actor)
    places, next_page = _find(stores, sought, page, limit=REDACTION_VERSIONS_MAX)
    locked = _stores_at(places, share=not dry_run)
    versions = _versions_at(places)
    _check_reason(reason, sought, versions)
    memories = _memories_of(versions, lock=not dry_run)
    plan = _plan(locked, memories, versions, heads, next_page)
    _require_shown(plan, shown)
    if not dry_run:
        _carry_out(plan, locked, sought, reason, actor)
    environment_id = next((store.environment_id for store in locked.values()), None)
    if store_id is None and page.position() is None:
        environment_id = tenancy.choose_environment(environment, actor=actor)
        erasure = TextErasure(environment_id, sought, dry_run, deletes=heads == "delete")
        plan = replace(plan, elsewhere=_erase_elsewhere(erasure))
    if not dry_run and (plan.redacted or plan.elsewhere.is_changed):
        assert environment_id is not None
        _record(plan, environment_id, sought, store_id, reason, actor)
    return plan


@atomic(durable=True)
def find_elsewhere(*, sought: Sought, actor: Actor) -> Elsewhere:
    """What stands beside versions, in the environment of the actor, as a run that may delete would leave it."""
    environment_id = tenancy.choose_environment(None, actor=actor)
    return _erase_elsewhere(TextErasure(environment_id, sought, dry_run=True, deletes=True))


def _erase_elsewhere(erasure: TextErasure) -> Elsewhere:
    allow_seconds(ELSEWHERE_STATEMENT_SECONDS_MAX)
    return erase_text(erasure)


def _stores_at(places: list[Place], *, share: bool) -> dict[UUID, MemoryStore]:
    """The stores of the places, kept from changing if `share`, in the order of their ids."""
    keys = sorted({place.store_id for place in places})
    if not share:
        return MemoryStore.objects.in_bulk(keys)
    return share_stores(keys)


def _versions_at(places: list[Place]) -> list[MemoryVersion]:
    """In the order of the places, without those that were erased meanwhile."""
    keys = [place.version_id for place in places]
    standing = MemoryVersion.objects.filter(redacted_at=None).defer("content").in_bulk(keys)
    return [standing[key] for key in keys if key in standing]


def _check_reason(reason: str | None, sought: Sought, versions: list[MemoryVersion]) -> None:
    """The reason goes into the audit trail, which outlives the text. Raises: InvalidRequest when it repeats it."""
    check_reason(reason, [sought.contains or sought.content_sha256 or ""])
    if reason is not None and sought.content_sha256 is not None and versions:
        check_reason_of(reason, MemoryVersion.objects.get(id=versions[0].id))


def _memories_of(versions: list[MemoryVersion], *, lock: bool) -> dict[UUID, Memory]:
    memories = Memory.objects.filter(id__in={version.memory_id for version in versions}).order_by("id")
    return {memory.id: memory for memory in (memories.select_for_update() if lock else memories)}


def _plan(
    stores: dict[UUID, MemoryStore],
    memories: dict[UUID, Memory],
    versions: list[MemoryVersion],
    heads: Heads,
    next_page: str | None,
) -> Redaction:
    """What becomes of each version: pure, so that a dry run and the run decide alike."""
    plan = Redaction(next_page=next_page)
    for version in versions:
        memory = memories.get(version.memory_id)
        if memory is None or memory.head_id != version.id:
            plan.redacted.append(version)
        elif heads == "refuse":
            plan.left.append((version, "is_head"))
        elif stores[version.store_id].archived_at is not None:
            plan.left.append((version, "store_archived"))
        else:
            plan.deleted.append(memory)
            plan.redacted.append(version)
    return plan


def _require_shown(plan: Redaction, shown: frozenset[Standing] | None) -> None:
    """Raises: Conflict."""
    if shown is not None and not plan.standings() <= shown:
        raise Conflict(
            "What was found changed since it was shown: look at it again.",
            error_code="redaction_plan_changed",
        )


def _carry_out(
    plan: Redaction, stores: dict[UUID, MemoryStore], sought: Sought, reason: str | None, actor: Actor
) -> None:
    """A step: everything is locked. A memory goes before its head, and leaves a `deleted` version with its path."""
    for memory in plan.deleted:
        store = stores[memory.store_id]
        deletion = remove_memory(store, memory, expected_sha256=None, actor=actor)
        if sought.is_in(memory.path):
            erase_version(store, deletion.id, reason=reason, actor=actor)
    for version in plan.redacted:
        erase_version(stores[version.store_id], version.id, reason=reason, actor=actor)


def _record(
    plan: Redaction,
    environment_id: UUID,
    sought: Sought,
    store_id: str | None,
    reason: str | None,
    actor: Actor,
) -> None:
    """One row over the rows of the single changes."""
    details: dict[str, Any] = {
        "by": "contains" if sought.contains is not None else "content_sha256",
        "memory_versions": len(plan.redacted),
        "memories_deleted": len(plan.deleted),
        "left": len(plan.left),
    }
    elsewhere = plan.elsewhere
    if elsewhere.is_changed:
        details["copies"], details["records_deleted"] = elsewhere.copies_count, len(elsewhere.deleted)
    if reason is not None:
        details["reason"] = reason
    audit.record(
        AuditAction.TEXT_REDACTED,
        store_id or ids.to_wire(ids.ENVIRONMENT, environment_id),
        environment_id=environment_id,
        details=details,
        actor=actor,
    )
