"""How long the versions of a store are kept: its policy, what is past it, and the end of that.

A version is past it when a newer one of its memory replaced it more than `days` days ago and is not among the newest
`versions_min` of the memory. So the newest version of a memory never goes, be it a current content or the record of a
deletion: heads, lists of changes and the store as it was at a time within those days are as if nothing had gone. What
other rooms refer to stays too.

Versions go in batches, each in a transaction of its own that holds the store alone, as a restore does: no redaction,
restore or edit sees half of it. Files of exports that hold the text of what goes, go with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from django.db.transaction import atomic

from memoryhub import audit, job_files, jobs
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.rows import find_row
from memoryhub.snapshots import allow_seconds
from memoryhub.version_holders import VersionKey, find_held
from stores.memory_stores import get_store, lock_store, require_live
from stores.models import MemoryStore, StoreRetention

RETENTION_BATCH_VERSIONS = 200  # of one transaction, which holds the store alone
PLAN_CHUNK_ROWS = 2_000
PLAN_STATEMENT_SECONDS_MAX = 60
SWEEP = "stores.sweep_retention"


@dataclass(frozen=True, slots=True)
class Policy:
    """Versions replaced more than `days` days ago may go, but of each memory never the newest `versions_min`."""

    days: int
    versions_min: int


type Expected = Policy | Literal["for_ever", "any"]


@dataclass(frozen=True, slots=True)
class Retention:
    """Of a store. `policy` None: versions are kept for ever."""

    store: MemoryStore
    row: StoreRetention | None

    @property
    def policy(self) -> Policy | None:
        return None if self.row is None else Policy(self.row.days, self.row.versions_min)


@dataclass(frozen=True, slots=True)
class Doomed:
    """A version that is to go."""

    key: VersionKey
    size_bytes: int


@dataclass
class Removal:
    """What a run removed, or would. `held`: past the policy too, and referred to. `is_complete`: nothing more is to go."""

    policy: Policy
    versions: int = 0
    size_bytes: int = 0
    held: int = 0
    memories: set[UUID] = field(default_factory=set)
    is_complete: bool = True

    def add(self, doomed: Doomed) -> None:
        self.versions += 1
        self.size_bytes += doomed.size_bytes
        self.memories.add(doomed.key.memory_id)

    def counts(self) -> dict[str, int]:
        return {
            "memory_versions": self.versions,
            "memories": len(self.memories),
            "size_bytes": self.size_bytes,
        }


def get_retention(store_id: str, *, actor: Actor) -> Retention:
    """Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    return Retention(store, _find_row(store))


def _find_row(store: MemoryStore) -> StoreRetention | None:
    return find_row(StoreRetention.objects.filter(store_id=store.id))


@atomic(durable=True)
def set_retention(
    store_id: str, *, policy: Policy | None, expected: Expected = "any", actor: Actor
) -> Retention:
    """`policy` None: versions are kept for ever, from now on. The same again: unchanged.

    `expected`: what the caller saw. Raises: NotFound, InvalidRequest for an archived store, Conflict.
    """
    store = lock_store(store_id, actor)
    require_live(store)
    held = Retention(store, _find_row(store))
    if held.policy == policy:
        return held
    if expected not in ("any", held.policy or "for_ever"):
        raise Conflict(
            "Somebody else changed the retention of the store since it was read.",
            error_code="retention_changed",
        )
    if policy is None:
        StoreRetention.objects.filter(store_id=store.id).delete()
    else:
        _write_policy(store, policy, actor)
        jobs.enqueue(SWEEP)
    _record_policy(store, held.policy, policy, actor)
    return Retention(store, _find_row(store))


def _write_policy(store: MemoryStore, policy: Policy, actor: Actor) -> None:
    StoreRetention.objects.update_or_create(
        store=store,
        defaults={
            "project_id": store.project_id,
            "days": policy.days,
            "versions_min": policy.versions_min,
            "set_at": ClockTimestamp(),
            "set_by_type": actor.type,
            "set_by_id": actor.actor_id,
            "ran_at": None,
        },
    )


def _record_policy(store: MemoryStore, before: Policy | None, after: Policy | None, actor: Actor) -> None:
    details: dict[str, int | None] = {}
    for when, policy in (("before", before), ("after", after)):
        details[f"days_{when}"] = policy.days if policy else None
        details[f"versions_min_{when}"] = policy.versions_min if policy else None
    audit.record(
        AuditAction.RETENTION_CHANGED,
        store.wire_id,
        environment_id=store.environment_id,
        details=details,
        actor=actor,
    )


@atomic(durable=True)
def plan_removal(store_id: str, *, policy: Policy | None = None, actor: Actor) -> Removal:
    """All that would go now under `policy`, else under that of the store; nothing changes. Raises: NotFound, InvalidRequest."""
    retention = get_retention(store_id, actor=actor)
    policy = policy or _require_policy(retention)
    plan = Removal(policy)
    if retention.store.archived_at is None:
        for doomed in _find_doomed(retention.store, policy, plan):
            plan.add(doomed)
    return plan


def _require_policy(retention: Retention) -> Policy:
    if retention.policy is None:
        raise InvalidRequest(
            "The memory store keeps its versions for ever: give it a retention first.",
            error_code="retention_off",
        )
    return retention.policy


@atomic(durable=True)
def remove_old_versions(store_id: str, *, actor: Actor) -> Removal:
    """One batch of what is past the policy of the store. Raises: NotFound, InvalidRequest without a policy or when archived."""
    retention = get_retention(store_id, actor=actor)
    require_live(retention.store)
    removal = Removal(_require_policy(retention))
    batch: list[Doomed] = []
    for doomed in _find_doomed(retention.store, removal.policy, removal):
        if len(batch) == RETENTION_BATCH_VERSIONS:
            removal.is_complete = False
            break
        batch.append(doomed)
    store = _lock_under(removal.policy, store_id, actor)
    if store is None:
        raise Conflict("The retention of the store was changed meanwhile.", error_code="retention_changed")
    _remove(store, batch, removal, audit.record, actor)
    if removal.is_complete:
        note_run(store, removal.policy)
    return removal


def note_run(store: MemoryStore, policy: Policy) -> None:
    """A step: all that was to go under this policy is gone."""
    under = {"store_id": store.id, "days": policy.days, "versions_min": policy.versions_min}
    StoreRetention.objects.filter(**under).update(ran_at=ClockTimestamp())


def find_doomed(store: MemoryStore, policy: Policy, *, limit: int) -> list[Doomed]:
    """The first of what is to go now."""
    with atomic(durable=True):
        return list(islice(_find_doomed(store, policy, Removal(policy)), limit))


@atomic(durable=True)
def remove_batch(store_id: str, batch: list[Doomed], *, policy: Policy, actor: Actor) -> Removal | None:
    """Remove these, which were found before, unless the store is not under this policy any more: then None.

    In the name of who set the policy, whose credential may be gone by now. Raises: NotFound.
    """
    assert len(batch) <= RETENTION_BATCH_VERSIONS, len(batch)
    store = _lock_under(policy, store_id, actor)
    if store is None:
        return None
    removal = Removal(policy)
    _remove(store, batch, removal, audit.record_accepted, actor)
    return removal


def _lock_under(policy: Policy, store_id: str, actor: Actor) -> MemoryStore | None:
    """A step: the store, held alone, if it is not archived and this is its policy."""
    store = lock_store(store_id, actor)
    is_under = store.archived_at is None and Retention(store, _find_row(store)).policy == policy
    return store if is_under else None


# Of each memory the number below which versions are to go: that of the version in force when the days began, or of the
# oldest of the newest `kept`, whichever is less. All is read in the order of one index but the times.
_BOUNDARIES = """
WITH old AS (
    SELECT memory_id, min(number) FILTER (WHERE created_at >= %(since)s) AS fresh
      FROM stores_memoryversion
     WHERE store_id = %(store)s
     GROUP BY memory_id
    HAVING count(*) > %(kept)s AND min(created_at) < %(since)s)
SELECT old.memory_id, least(newest.number, in_force.number)
  FROM old,
       LATERAL (SELECT number FROM stores_memoryversion v
                 WHERE v.store_id = %(store)s AND v.memory_id = old.memory_id
                 ORDER BY number DESC OFFSET %(kept)s - 1 LIMIT 1) AS newest,
       LATERAL (SELECT coalesce(max(number), 0) AS number FROM stores_memoryversion v
                 WHERE v.store_id = %(store)s AND v.memory_id = old.memory_id
                   AND (old.fresh IS NULL OR v.number < old.fresh)) AS in_force
 ORDER BY old.memory_id
"""
_BELOW = """
SELECT v.memory_id, v.id, coalesce(v.content_size_bytes, 0)
  FROM unnest(%(memories)s::uuid[], %(numbers)s::bigint[]) AS bound (memory_id, number)
  JOIN stores_memoryversion v ON v.store_id = %(store)s AND v.memory_id = bound.memory_id AND v.number < bound.number
 ORDER BY v.memory_id, v.number
"""


def _find_doomed(store: MemoryStore, policy: Policy, removal: Removal) -> Iterator[Doomed]:
    """What is to go, memory by memory, each from its oldest version; what is held is counted and passed over."""
    allow_seconds(PLAN_STATEMENT_SECONDS_MAX)
    values: dict[str, Any] = {"store": store.id, "kept": policy.versions_min}
    with connection.cursor() as cursor:
        # the database's clock: by it versions have their times, and by it the guard of the table lets them go
        cursor.execute("SELECT clock_timestamp() - %s * interval '1 day'", [policy.days])
        [(values["since"],)] = cursor.fetchall()
        cursor.execute(_BOUNDARIES, values)
        bounds = cursor.fetchall()
    with connection.chunked_cursor() as cursor:
        cursor.execute(_BELOW, values | _columns(bounds))
        while rows := cursor.fetchmany(PLAN_CHUNK_ROWS):
            chunk = [Doomed(VersionKey(store.id, row[0], row[1]), row[2]) for row in rows]
            held = find_held(store.environment_id, [doomed.key for doomed in chunk])
            removal.held += len(held)
            yield from (doomed for doomed in chunk if doomed.key.version_id not in held)


def _columns(bounds: list[tuple[UUID, int]]) -> dict[str, list[UUID] | list[int]]:
    return {"memories": [memory_id for memory_id, _ in bounds], "numbers": [number for _, number in bounds]}


# What comes next in each memory and stays is marked: it cannot tell what was before it.
_MARK = """
WITH next AS (
    SELECT DISTINCT following.id, following.created_at
      FROM stores_memoryversion gone,
           LATERAL (SELECT v.id, v.created_at FROM stores_memoryversion v
                     WHERE v.store_id = gone.store_id AND v.memory_id = gone.memory_id AND v.number > gone.number
                       AND v.id <> ALL(%(gone)s)
                     ORDER BY v.number LIMIT 1) AS following
     WHERE gone.store_id = %(store)s AND gone.id = ANY(%(gone)s)),
marked AS (
    UPDATE stores_memoryversion v SET follows_removed = true
      FROM next WHERE v.id = next.id AND NOT v.follows_removed)
SELECT max(created_at) FROM next
"""
_DELETE = "DELETE FROM stores_memoryversion WHERE store_id = %(store)s AND id = ANY(%(gone)s) RETURNING id"


def _remove(
    store: MemoryStore, batch: list[Doomed], removal: Removal, record: Callable[..., None], actor: Actor
) -> None:
    """A step: the store is held alone. What began to be referred to, or is gone already, is passed over."""
    held = find_held(store.environment_id, [doomed.key for doomed in batch])
    doomed_of = {doomed.key.version_id: doomed for doomed in batch if doomed.key.version_id not in held}
    values: dict[str, Any] = {"store": store.id, "gone": list(doomed_of)}
    with connection.cursor() as cursor:
        cursor.execute(_MARK, values)
        [(replaced_at,)] = cursor.fetchall()
        cursor.execute(_DELETE, values)
        gone = [row[0] for row in cursor.fetchall()]
    if not gone:
        return
    for version_id in gone:
        removal.add(doomed_of[version_id])
    job_files.forget_files_of(store.id)
    _move_history_start(store, replaced_at)
    record(
        AuditAction.OLD_VERSIONS_REMOVED,
        store.wire_id,
        environment_id=store.environment_id,
        details=removal.counts() | {"days": removal.policy.days, "versions_min": removal.policy.versions_min},
        actor=actor,
    )


def _move_history_start(store: MemoryStore, replaced_at: datetime) -> None:
    if store.history_from is None or store.history_from < replaced_at:
        store.history_from = replaced_at
        store.save(update_fields=["history_from"])
