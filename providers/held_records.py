"""The records of a scope as people see them: those of the hub with their texts, those at a service by what the hub knows of them.

A record stands where it was written: when an environment changes its provider, what the former one holds stays there.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.db.models.query import QuerySet

from memoryhub.actors import Actor
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.erasure import Sought
from memoryhub.errors import NotFound, Unavailable
from memoryhub.pagination import ListRequest, Page, cut_newest
from providers.held_scopes import get_scope
from providers.provider_choice import LOCAL, provider_of
from providers.record_models import MemoryEffect, MemoryRecord, RecordScope
from providers.record_names import seal_digest
from providers.remote_models import RemoteRecord, RemoteScope
from stores.redactions import CONTAINS_LENGTH_MAX, CONTAINS_LENGTH_MIN

HELD, FORGOTTEN = "held", "forgotten"
EFFECTS_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class RecordFilters:
    """An empty one restricts nothing. `thread`, `author`: exactly so, of records of the hub alone."""

    state: str = HELD
    origin: str = ""
    author: str = ""
    thread: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """`text` None: it was forgotten, or a service keeps it. `is_unknown`: nobody knows whether it is there.

    `forgetting_at`: since when nobody knows whether it was forgotten.
    """

    scope: RecordScope
    provider: str
    id: str
    origin: str
    version: str
    digest: bytes
    created_at: datetime
    forgotten_at: datetime | None
    forgetting_at: datetime | None = None
    is_unknown: bool = False
    key_sha256: str | None = None
    text: str | None = None
    title: str | None = None
    author: str | None = None
    thread: str | None = None
    tags: Sequence[str] = ()
    occurred_at: datetime | None = None

    @property
    def is_local(self) -> bool:
        return self.provider == LOCAL

    @property
    def sought(self) -> Sought:
        """By which an erasure finds its text: a part of others, or, where it may not be that, a whole one."""
        assert self.text is not None, "it is not forgotten, and the hub keeps it"
        letters = sum(not character.isspace() for character in self.text)
        if letters < CONTAINS_LENGTH_MIN or len(self.text) > CONTAINS_LENGTH_MAX:
            return Sought(None, sha256_hex(self.text))
        return Sought(self.text, None)

    @property
    def state(self) -> str:
        if self.forgotten_at is not None:
            return FORGOTTEN
        if self.forgetting_at is not None:
            return "forgetting"
        return "unknown" if self.is_unknown else HELD


def list_providers(held: RecordScope) -> list[str]:
    """That hold or held records of the scope; the one that is used now stands first, whether it does or not."""
    now = provider_of(held.environment_id).name
    others = set(RemoteScope.objects.filter(scope_id=held.id).values_list("provider", flat=True))
    if MemoryRecord.objects.filter(scope_id=held.id).exists():
        others.add(LOCAL)
    return [now, *sorted(others - {now})]


def list_records(
    held: RecordScope, provider: str, page: ListRequest, filters: RecordFilters
) -> Page[HeldRecord]:
    """Of one provider, the newest first. Raises: InvalidRequest for a foreign cursor."""
    if provider == LOCAL:
        local = cut_newest(_filter(MemoryRecord.objects.filter(scope_id=held.id), filters), page)
        return Page([_of_hub(held, row) for row in local.rows], local.next_page)
    remote = RemoteRecord.objects.filter(scope_id=held.id, provider=provider)
    shown = cut_newest(_filter(remote, filters), page)
    return Page([_of_service(held, row) for row in shown.rows], shown.next_page)


def _filter[Row: (MemoryRecord, RemoteRecord)](rows: QuerySet[Row], filters: RecordFilters) -> QuerySet[Row]:
    if filters.state:
        rows = rows.filter(forgotten_at__isnull=filters.state == HELD)
    if filters.origin:
        rows = rows.filter(origin=filters.origin)
    if rows.model is MemoryRecord:
        named = {"author": filters.author, "thread": filters.thread}
        rows = rows.filter(**{name: value for name, value in named.items() if value})
    return rows


def get_record(scope_id: str, record_id: str, *, actor: Actor) -> HeldRecord:
    """Of whichever provider. Raises: NotFound."""
    held = get_scope(scope_id, actor=actor)
    found = {} if "\0" in record_id else find_known(held, [record_id])
    if not found:
        raise NotFound("record")
    return found[record_id]


def find_known(held: RecordScope, record_ids: Sequence[str]) -> dict[str, HeldRecord]:
    """By id, those that the hub knows: two queries."""
    named = {"scope_id": held.id, "record_id__in": list(record_ids)}
    remote = {row.record_id: _of_service(held, row) for row in RemoteRecord.objects.filter(**named)}
    local = {row.record_id: _of_hub(held, row) for row in MemoryRecord.objects.filter(**named)}
    return remote | local


def _of_hub(held: RecordScope, row: MemoryRecord) -> HeldRecord:
    return HeldRecord(
        held,
        LOCAL,
        row.record_id,
        row.origin,
        row.version,
        bytes(row.digest),
        row.created_at,
        row.forgotten_at,
        key_sha256=row.key_sha256,
        text=row.text,
        title=row.title,
        author=row.author,
        thread=row.thread,
        tags=row.tags or (),
        occurred_at=row.occurred_at,
    )


def _of_service(held: RecordScope, row: RemoteRecord) -> HeldRecord:
    return HeldRecord(
        held,
        row.provider,
        row.record_id,
        row.origin,
        row.version,
        bytes(row.digest),
        row.created_at,
        row.forgotten_at,
        forgetting_at=row.forgetting_at,
        is_unknown=row.saved_at is None,
    )


def list_effects(record: HeldRecord) -> list[MemoryEffect]:
    """What was written of it, in its order: its save, and what was to forget it."""
    wanted = Q(tool="save_memory", digest=record.digest)
    if record.key_sha256 is not None:
        wanted = Q(tool="save_memory", key_sha256=record.key_sha256)
    if record.state in (FORGOTTEN, "forgetting"):
        wanted |= _forgets(record)
    effects = MemoryEffect.objects.filter(wanted, scope_id=record.scope.id, provider=record.provider)
    return list(effects.order_by("id")[:EFFECTS_SHOWN_MAX])


def _forgets(record: HeldRecord) -> Q:
    """By their seals, which a hub that has lost its key cannot tell."""
    try:
        sealed = seal_digest(canonical_json({"id": record.id}))
    except Unavailable:
        return Q()
    return Q(tool="forget_memory", digest=sealed)


def find_save_writers(records: Sequence[HeldRecord]) -> dict[str, str]:
    """By the record's id, the wire id of who saved it, of those of the hub: one query."""
    by_key = {one.key_sha256: one for one in records if one.key_sha256 is not None}
    if not by_key:
        return {}
    scope = records[0].scope
    effects = MemoryEffect.objects.filter(
        scope_id=scope.id, tool="save_memory", key_sha256__in=list(by_key)
    ).values_list("key_sha256", "created_by_id")
    return {by_key[key].id: writer for key, writer in effects}


@dataclass(frozen=True, slots=True)
class HeldHistory:
    """`effects`: in their order."""

    record: HeldRecord
    effects: list[MemoryEffect]


def inspect_record(scope_id: str, record_id: str, *, actor: Actor) -> HeldHistory:
    """Raises: NotFound."""
    record = get_record(scope_id, record_id, actor=actor)
    return HeldHistory(record, list_effects(record))
