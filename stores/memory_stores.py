"""The verbs of a store: create, get, update, list, archive, freeze, delete. Source: contract stores 4.1 to 4.6, 5.

Locks: a store row is taken FOR UPDATE by what changes the store or the set of its paths, FOR SHARE by updates and
deletes of a memory, always before the memory row. So updates of different memories never wait for each other, and
nothing commits after an archive or a freeze has answered.

Row locks alone are not fair: sharers that keep coming overtake one who waits to hold the row alone, without end. So
all of them first pass the store's gate, an advisory lock, whose waiters are served in their order.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Func, Max, Q, TextField, Value
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, job_files, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, InvalidRequest, LeaseLost, NotFound, PermissionRefused
from memoryhub.kept_queries import KeptSelect
from memoryhub.leases import hold_lease
from memoryhub.models import Environment
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from memoryhub.snapshots import allow_seconds
from stores import document_policy
from stores.limits import METADATA_PAIRS_MAX
from stores.models import Attachment, MemoryStore, MemoryVersion
from stores.totals import begin_totals

DELETE_STATEMENT_SECONDS_MAX = 300
HOLDERS_SHOWN_MAX = 10  # contract: 4.6 session_ids
# By name and not as *, which a plan that is kept would refuse once a column is added.
_COLUMNS = ", ".join(str(field.column) for field in MemoryStore._meta.concrete_fields)

_with_id = KeptSelect(lambda **values: MemoryStore.objects.filter(**values))


def visible_stores(actor: Actor) -> QuerySet[MemoryStore]:
    """The stores that exist for an actor. Every query of this room begins here."""
    stores = MemoryStore.objects.filter(**actor.owners)
    if actor.stores is not None:
        stores = stores.filter(id__in=list(actor.stores))
    return stores


def count_stores(environment_id: UUID, store_ids: list[UUID]) -> int:
    """How many of these are stores of the environment."""
    return MemoryStore.objects.filter(environment_id=environment_id, id__in=store_ids).count()


def newest_stores(environment_id: UUID, limit: int) -> list[tuple[UUID, str]]:
    """Those that can still be written."""
    stores = MemoryStore.objects.filter(environment_id=environment_id, archived_at=None).order_by(
        "-created_at", "-id"
    )
    return list(stores.values_list("id", "name")[:limit])


def name_stores(project_id: UUID, store_ids: list[UUID]) -> dict[UUID, str]:
    stores = MemoryStore.objects.filter(project_id=project_id, id__in=store_ids)
    return dict(stores.values_list("id", "name"))


def get_store(store_id: str, *, actor: Actor) -> MemoryStore:
    """Raises: NotFound."""
    if actor.stores is not None:
        return _get(visible_stores(actor), store_id)
    store = _with_id.row(id=_key(store_id), **actor.owners)
    if store is None:
        raise NotFound("memory store")
    return store


def lock_store(store_id: str, actor: Actor) -> MemoryStore:
    """A step: the store, held alone to the end of the transaction, after the lease of who works. Raises: NotFound, LeaseLost."""
    _hold_lease(store_id, actor)
    gate = Func(Value(gate_of(_key(store_id))), function="pg_advisory_xact_lock", output_field=TextField())
    find_row(visible_stores(actor).filter(id=_key(store_id)).values_list(gate))
    return _get(visible_stores(actor).select_for_update(of=("self",)), store_id)


def share_store(store_id: str, actor: Actor) -> MemoryStore:
    """A step: the store, kept from changing to the end of the transaction, shared with others. Raises: NotFound, LeaseLost."""
    _hold_lease(store_id, actor)
    key = _key(store_id)
    # FOR SHARE has no word in Django's query language.
    conditions = ["id = %s", "project_id = %s"]
    values: list[Any] = [key, actor.project_id]
    if actor.environment_id is not None:
        conditions.append("environment_id = %s")
        values.append(actor.environment_id)
    if actor.stores is not None:
        conditions.append("id = ANY(%s)")
        values.append(list(actor.stores))
    conditions.append("pg_advisory_xact_lock_shared(%s) IS NOT NULL")
    values.append(gate_of(key))
    where = " AND ".join(conditions)
    query = f"SELECT {_COLUMNS} FROM stores_memorystore WHERE {where} FOR SHARE"  # noqa: S608 - constants only
    for store in MemoryStore.objects.raw(query, values):
        return store
    raise NotFound("memory store")


def _hold_lease(store_id: str, actor: Actor) -> None:
    try:
        hold_lease(actor)
    except LeaseLost:
        get_store(
            store_id, actor=actor
        )  # one that it does not attach does not exist for it, with a lease or without
        raise


def share_stores(keys: Sequence[UUID]) -> dict[UUID, MemoryStore]:
    """A step: the stores of these keys, all found through the actor before, each held as `share_store` holds one."""
    with connection.cursor() as cursor:
        gates = [gate_of(key) for key in keys]
        cursor.execute("SELECT pg_advisory_xact_lock_shared(gate) FROM unnest(%s::bigint[]) AS gate", [gates])
    query = f"SELECT {_COLUMNS} FROM stores_memorystore WHERE id = ANY(%s) ORDER BY id FOR SHARE"  # noqa: S608
    return {store.id: store for store in MemoryStore.objects.raw(query, [list(keys)])}


def hold_stores(environment_id: UUID) -> None:
    """A step: every store of the environment, once whoever changes one is done."""
    list(
        MemoryStore.objects.select_for_update()
        .filter(environment_id=environment_id)
        .order_by("id")
        .only("id")
    )


def gate_of(key: UUID) -> int:
    """The number of a store's advisory lock, which every change of the store holds: 64 bits, all random but two."""
    return int.from_bytes(key.bytes[8:], signed=True)


def _key(store_id: str) -> UUID:
    key = ids.from_wire(ids.MEMORY_STORE, store_id)
    if key is None:
        raise NotFound("memory store")
    return key


def _get(stores: QuerySet[MemoryStore], store_id: str) -> MemoryStore:
    store = find_row(stores.filter(id=_key(store_id)))
    if store is None:
        raise NotFound("memory store")
    return store


def require_writable(store: MemoryStore, actor: Actor) -> None:
    """A step: the state of a locked store allows this actor to change its memories.

    Raises: PermissionRefused for an agent's read-only store or a frozen one, InvalidRequest for an archived one.
    """
    if not actor.may_write_store(store.id):
        raise PermissionRefused(
            "This credential may only read this memory store.", error_code="store_read_only"
        )
    require_live(store)
    if actor.is_agent and store.frozen_at is not None:
        raise PermissionRefused(
            "The memory store is frozen: agents may not change it.", error_code="store_frozen"
        )


def require_live(store: MemoryStore) -> None:
    """Raises: InvalidRequest for an archived store."""
    if store.archived_at is not None:
        raise InvalidRequest(
            "The memory store is archived, so it is read-only.", error_code="memory_store_archived"
        )


@atomic(durable=True)
def create_store(
    *, environment: str | None, name: str, description: str, metadata: dict[str, str], actor: Actor
) -> MemoryStore:
    """Raises: InvalidRequest when the environment is full or none is named, NotFound for a foreign environment."""
    environment_id = tenancy.choose_environment(environment, actor=actor)
    return add_store(environment_id, name=name, description=description, metadata=metadata, actor=actor)


def add_store(
    environment_id: UUID, *, name: str, description: str, metadata: dict[str, str], actor: Actor
) -> MemoryStore:
    """The step of `create_store`: in the caller's transaction."""
    store = MemoryStore(
        project_id=actor.project_id,
        environment_id=environment_id,
        name=name,
        description=description,
        metadata=metadata,
    )
    store.save(force_insert=True)
    require_store_room(environment_id)
    # One clock reading for both: the columns' defaults are two.
    MemoryStore.objects.filter(id=store.id).update(updated_at=store.created_at)
    store.updated_at = store.created_at
    begin_totals(store)
    audit.record(AuditAction.MEMORY_STORE_CREATED, store.wire_id, environment_id=environment_id, actor=actor)
    return store


def require_store_room(environment_id: UUID) -> None:
    """A step after a store was added: the environment holds no more than it may. Raises: InvalidRequest."""
    Environment.objects.select_for_update(no_key=True).get(
        id=environment_id
    )  # two adds at the quota: one waits
    if MemoryStore.objects.filter(environment_id=environment_id).count() > settings.STORES_MAX:
        raise InvalidRequest(
            f"The environment holds {settings.STORES_MAX} stores already; delete some first.",
            error_code="stores_full",
        )


@atomic(durable=True)
def update_store(
    store_id: str,
    *,
    name: str | None = None,
    description: str | None = None,
    metadata: dict[str, str | None] | None = None,
    expected_updated_at: datetime | None = None,
    actor: Actor,
) -> MemoryStore:
    """`metadata` is a patch: null removes a key. A change of nothing is a success.

    Raises: NotFound, InvalidRequest, Conflict when the store was updated after `expected_updated_at`.
    """
    store = lock_store(store_id, actor)
    require_live(store)
    changed = _changed_fields(store, name=name, description=description, metadata=metadata)
    if not changed:
        return store
    if expected_updated_at is not None and expected_updated_at != store.updated_at:
        raise Conflict(
            "Somebody else changed the store since it was read.", error_code="memory_store_changed"
        )
    store.save(update_fields=[*changed, _touch(store)])
    audit.record(
        AuditAction.MEMORY_STORE_UPDATED,
        store.wire_id,
        environment_id=store.environment_id,
        details={"fields": sorted(changed)},
        actor=actor,
    )
    return store


def _touch(store: MemoryStore) -> str:
    store.updated_at = ClockTimestamp()
    return "updated_at"


def _changed_fields(store: MemoryStore, **wanted: Any) -> list[str]:
    """Set the wanted values that differ; their names."""
    if wanted["metadata"] is not None:
        merged = {**store.metadata, **wanted["metadata"]}
        wanted["metadata"] = {key: value for key, value in merged.items() if value is not None}
        if len(wanted["metadata"]) > METADATA_PAIRS_MAX:
            raise InvalidRequest(f"metadata: A store has at most {METADATA_PAIRS_MAX} pairs.")
    changed = [
        field for field, value in wanted.items() if value is not None and value != getattr(store, field)
    ]
    for field in changed:
        setattr(store, field, wanted[field])
    return changed


def list_stores(
    page: ListRequest,
    *,
    environment: str | None = None,
    created_from: datetime | None = None,
    created_to: datetime | None = None,
    include_archived: bool = False,
    actor: Actor,
) -> Page[MemoryStore]:
    """Newest first. Raises: NotFound for a foreign environment, InvalidRequest for a foreign cursor."""
    stores = visible_stores(actor)
    if environment is not None:
        stores = stores.filter(environment_id=tenancy.get_environment(environment, actor=actor).id)
    if created_from is not None:
        stores = stores.filter(created_at__gte=created_from)
    if created_to is not None:
        stores = stores.filter(created_at__lte=created_to)
    if not include_archived:
        stores = stores.filter(archived_at=None)
    position = page.position()
    if position is not None:
        created_at, key = datetime.fromisoformat(position[0]), UUID(hex=position[1])
        stores = stores.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=key))
    rows = list(stores.order_by("-created_at", "-id")[: page.limit + 1])
    return cut_page(rows, page, lambda store: [store.created_at.isoformat(), store.id.hex])


@atomic(durable=True)
def archive_store(store_id: str, *, actor: Actor) -> MemoryStore:
    """One way. Again: unchanged. Raises: NotFound."""
    store = lock_store(store_id, actor)
    document_policy.require_plain(store, "archived")
    if store.archived_at is not None:
        return store
    store.archived_at = ClockTimestamp()
    store.save(update_fields=["archived_at"])
    store.updated_at = archived_at = cast(datetime, store.archived_at)
    MemoryStore.objects.filter(id=store.id).update(updated_at=archived_at)
    audit.record(
        AuditAction.MEMORY_STORE_ARCHIVED, store.wire_id, environment_id=store.environment_id, actor=actor
    )
    return store


@atomic(durable=True)
def freeze_store(store_id: str, *, actor: Actor) -> MemoryStore:
    """Agents may no longer change the store; owners may. Again: unchanged. Raises: NotFound."""
    store = lock_store(store_id, actor)
    if store.frozen_at is None:
        store.frozen_at = ClockTimestamp()
        store.save(update_fields=["frozen_at"])
        audit.record(
            AuditAction.MEMORY_STORE_FROZEN, store.wire_id, environment_id=store.environment_id, actor=actor
        )
    return store


@atomic(durable=True)
def unfreeze_store(store_id: str, *, actor: Actor) -> MemoryStore:
    """Again: unchanged. Raises: NotFound."""
    store = lock_store(store_id, actor)
    if store.frozen_at is not None:
        store.frozen_at = None
        store.save(update_fields=["frozen_at"])
        audit.record(
            AuditAction.MEMORY_STORE_UNFROZEN, store.wire_id, environment_id=store.environment_id, actor=actor
        )
    return store


def require_unattached(store: MemoryStore) -> None:
    """A step: no session holds the store, which is locked. Raises: InvalidRequest with the first of those that do."""
    holders = (
        Attachment.objects.filter(store_id=store.id)
        .order_by("session_id")
        .values_list("session_id", flat=True)
    )
    session_ids = [ids.to_wire(ids.SESSION, key) for key in holders[:HOLDERS_SHOWN_MAX]]
    if session_ids:
        raise InvalidRequest(
            "The memory store is attached to sessions; delete those first, or archive the store.",
            error_code="memory_store_attached",
            session_ids=session_ids,
        )


@atomic(durable=True)
def delete_store(
    store_id: str, *, expected_name: str | None = None, expected_number: int | None = None, actor: Actor
) -> str:
    """Remove the store, its memories and all their versions for good; its id.

    `expected_number`: of its newest version, 0 when it has none.
    Raises: NotFound, InvalidRequest when the name is another, Conflict when a memory changed meanwhile.
    """
    store = lock_store(store_id, actor)
    document_policy.require_plain(store, "deleted")
    require_unattached(store)
    wire_id = store.wire_id
    if expected_name is not None and expected_name.strip() != store.name.strip():
        raise InvalidRequest("name: This is not the name of the store.", error_code="store_name_differs")
    if expected_number is not None and expected_number != newest_number(store):
        raise Conflict("A memory of the store changed meanwhile.", error_code="memory_store_changed")
    allow_seconds(DELETE_STATEMENT_SECONDS_MAX)  # 100,000 versions take 3 s
    job_files.forget_files_of(store.id)
    MemoryStore.objects.filter(id=store.id).delete()  # the database removes what belongs to it
    audit.record(AuditAction.MEMORY_STORE_DELETED, wire_id, environment_id=store.environment_id, actor=actor)
    return wire_id


def newest_number(store: MemoryStore) -> int:
    """Of the versions of a store; 0 when it has none."""
    newest = MemoryVersion.objects.filter(store_id=store.id).aggregate(newest=Max("number"))["newest"]
    return int(newest or 0)
