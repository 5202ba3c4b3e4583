"""What a memory provider keeps of a partition goes: all of it when the owner deletes the partition, else what is past its time.

Record by record, each a forget like any other: begun in the ledger, sent, and settled. While nobody knows how one of these went no other
is begun, so a service that is away is left with one doubt and not with a thousand; a sweep goes on. The partition's row goes
last, when nothing is held and no write of its scope is in doubt, so that who looks sees how far it is. Each run may run twice or never.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.utils import timezone

from memoryhub import jobs
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.rows import find_row
from providers import ledger, provider_choice
from providers.contract import Ok
from providers.endpoint_models import Endpoint, ExternalPartition
from providers.endpoint_scopes import find_scope_of
from providers.guard import ScopedMemory
from providers.provider_choice import LOCAL
from providers.record_models import MemoryEffect, MemoryRecord, RecordScope
from providers.record_scopes import read_scope

# `gone`: nothing is left, and no write is open. `more`: this run has done its part. `waiting`: it is not known how a write went, or
# its provider is not there.
type Progress = Literal["gone", "more", "waiting"]

ERASE, FORGET_AGED = "providers.erase_partition", "providers.forget_aged"
FORGOTTEN_MAX = 100  # by one run
SWEPT_MAX = 20
_PAGE = 200
_KEYS = "#forget:"


def erase_partition(partition_id: UUID) -> None:
    """Go on with one that its owner deletes; its row goes with the last record."""
    erasing = ExternalPartition.objects.filter(id=partition_id, erasing_at__isnull=False)
    partition = find_row(erasing.select_related("endpoint"))
    progress = None if partition is None else _forget_records(partition, None)
    if progress == "gone":
        erasing.delete()  # the database removes what belongs to it
    elif progress == "more":
        jobs.enqueue(ERASE, partition_id.hex)


def sweep_erasures() -> None:
    """Nobody asks for it: what was begun and has not come to its end; in no order, so that one that waits keeps no other waiting."""
    erasing = ExternalPartition.objects.filter(erasing_at__isnull=False).order_by("?")
    for partition_id in list(erasing.values_list("id", flat=True)[:SWEPT_MAX]):
        erase_partition(partition_id)


def forget_aged(partition_id: UUID) -> None:
    """What was saved longer ago than the endpoint keeps records."""
    partition = find_row(ExternalPartition.objects.filter(id=partition_id).select_related("endpoint"))
    days = None if partition is None else partition.endpoint.retention_days
    if partition is None or days is None:
        return
    if _forget_records(partition, timezone.now() - timedelta(days=days)) == "more":
        jobs.enqueue(FORGET_AGED, partition_id.hex)


def _forget_records(partition: ExternalPartition, before: datetime | None) -> Progress:
    """Up to FORGOTTEN_MAX of those that were saved before that moment, or of all."""
    held = find_scope_of(partition.endpoint, partition)
    if held is None:
        return "gone"
    doubts = MemoryEffect.objects.filter(scope_id=held.id, state__in=("begun", "unknown"))
    if doubts.filter(key__startswith=_KEYS).exists():
        return "waiting"
    for count, (provider, record_id) in enumerate(_list_kept(held, before)):
        if count == FORGOTTEN_MAX:
            return "more"
        if not _forget(partition.endpoint, held, provider, record_id):
            return "waiting"
    return "waiting" if before is None and doubts.exists() else "gone"


def _forget(endpoint: Endpoint, held: RecordScope, provider: str, record_id: str) -> bool:
    """Whether it is gone for certain; what the provider says it never had is."""
    bound = provider_choice.find_provider(provider)
    if bound is None:
        return False
    actor = Actor(
        "service_account_actor", endpoint.wire_id, held.project_id, held.environment_id, frozenset()
    )
    written = ScopedMemory(bound, read_scope(held), actor).forget(record_id, _key_of(record_id))
    return isinstance(written.result, Ok) or written.result.error.code not in ("unavailable", "timeout")


def _key_of(record_id: str) -> str:
    """No key of a host's operation begins so."""
    return _KEYS + sha256_hex(record_id)


def _list_kept(held: RecordScope, before: datetime | None) -> Iterator[tuple[str, str]]:
    """(provider, record's id), the oldest first: of the hub by its rows, of others by what the ledger says that they took."""
    here = MemoryRecord.objects.filter(scope_id=held.id, forgotten_at=None)
    here = here if before is None else here.filter(created_at__lt=before)
    for record_id in here.order_by("id").values_list("record_id", flat=True)[: FORGOTTEN_MAX + 1]:
        yield LOCAL, record_id
    saves = MemoryEffect.objects.filter(
        scope_id=held.id, tool="save_memory", state__in=("done", "resolved"), outcome__has_key="id"
    ).exclude(provider=LOCAL)
    saves = saves if before is None else saves.filter(created_at__lt=before)
    rows = list(saves.order_by("id")[:_PAGE])
    while rows:
        yield from _unforgotten(held, rows)
        rows = list(saves.filter(id__gt=rows[-1].id).order_by("id")[:_PAGE])


def _unforgotten(held: RecordScope, saves: list[MemoryEffect]) -> Iterator[tuple[str, str]]:
    """Those that no erasure has forgotten before."""
    named = {_key_of(save.outcome["id"]): save for save in saves if save.outcome}
    known = ledger.find_effects(held, "forget_memory", list(named))
    for key, save in named.items():
        effect = known.get(sha256_hex(key))
        if save.outcome and (effect is None or not _is_gone(effect)):
            yield save.provider, save.outcome["id"]


def _is_gone(effect: MemoryEffect) -> bool:
    if effect.state == "failed":
        return (effect.outcome or {}).get("code") not in ("unavailable", "timeout")
    return effect.state in ("done", "resolved")
