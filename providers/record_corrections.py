"""What an owner does to a record that is there: forget it, or put another in its place.

A record is never edited: its key is kept for ever with what was written under it. So a correction saves a new record and forgets the
old one, each a write of its own in the ledger. In this database both are one transaction. At another service the correction is noted at
the old record in the transaction that begins the save; whatever ends it between the two, both are there, and the same correction sent
again goes on. So of several corrections of one record one is made, and the others are refused.
The old one's provider does both. Order of locks: the copies of the environment, the scope, rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.transaction import atomic

from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.erasure import hold_copies
from memoryhub.errors import Conflict
from memoryhub.rows import find_row
from providers import provider_choice
from providers.contract import Ok, Provenance
from providers.guard import ScopedMemory, Written
from providers.held_records import HeldRecord, find_known, get_record
from providers.record_answers import value_of
from providers.record_models import MemoryEffect, RecordScope
from providers.record_scopes import read_scope
from providers.remote_models import RemoteRecord


@dataclass(frozen=True, slots=True)
class Corrected:
    """`record_id` None: nobody knows whether the new record was saved, and the old one is untouched, or under which id it was.

    `is_forgotten` False: nobody knows whether the old one is gone.
    """

    record_id: str | None
    is_uncertain: bool = False
    is_forgotten: bool = True


def forget_held(scope_id: str, record_id: str, *, key: str, actor: Actor) -> bool:
    """Whether it is certain. Raises: NotFound, Conflict, Unprocessable, Unavailable, ProviderTimeout."""
    record = get_record(scope_id, record_id, actor=actor)
    return _forget(_memory(record, actor), record, key)


def correct_record(
    scope_id: str, record_id: str, *, fields: Mapping[str, Any], key: str, actor: Actor
) -> Corrected:
    """`fields`: what the new record says, None for nothing; what is not named stays as it was. `key`: of this correction,
    for as often as it is sent.

    Raises: NotFound; Conflict when it was forgotten or corrected meanwhile; Unprocessable, Unavailable, ProviderTimeout.
    """
    record = get_record(scope_id, record_id, actor=actor)
    memory = _memory(record, actor)
    if memory.is_here:
        return _correct_here(record, replace(memory, joins=True), fields, key)
    if record.forgotten_at is not None:
        return _find_done(record, key)
    memory = replace(memory, before=partial(_note_correction, record, key))
    written = memory.remember(_said(record, fields, key), key)
    if written.is_uncertain:
        return Corrected(None, is_uncertain=True)
    ref = value_of(written)
    is_forgotten = _forget(memory, record, f"{key}:forget")
    return Corrected(None if ref is None else ref.id, is_forgotten=is_forgotten)


def _correct_here(record: HeldRecord, memory: ScopedMemory, fields: Mapping[str, Any], key: str) -> Corrected:
    with atomic(durable=True):
        written = _replace(record, memory, fields, key)
    return written if isinstance(written, Corrected) else Corrected(value_of(written).id)


def _replace(
    record: HeldRecord, memory: ScopedMemory, fields: Mapping[str, Any], key: str
) -> Written | Corrected:
    """A step: the save, refused or done with the forget; or what the same correction did before. Raises: Conflict."""
    hold_copies(record.scope.environment_id)
    RecordScope.objects.select_for_update(no_key=True).only("id").get(id=record.scope.id)
    now = find_known(record.scope, [record.id])[record.id]
    if now.forgotten_at is not None:
        return _find_done(now, key)
    written = memory.remember(_said(now, fields, key), key)
    if isinstance(written.result, Ok):
        forgotten = memory.forget(record.id, f"{key}:forget")
        assert isinstance(forgotten.result, Ok), "it is there, and held"
    return written


def _note_correction(record: HeldRecord, key: str) -> None:
    """A step, before its save is begun: it is the record's only one, unless another was made and failed. Raises: Conflict."""
    hold_copies(record.scope.environment_id)
    rows = RemoteRecord.objects.filter(scope_id=record.scope.id, record_id=record.id)
    row, named = rows.select_for_update().get(), sha256_hex(key)
    noted, is_open = row.correction_sha256, not _has_failed(record, row.correction_sha256)
    if noted == named and is_open:
        return
    if row.forgetting_at is not None or row.forgotten_at is not None:
        raise Conflict("The record was forgotten meanwhile, so nothing was saved.")
    if noted not in (None, named) and is_open:
        raise Conflict(
            "The record was corrected meanwhile: another stands in its place, or is about to. Nothing was saved."
        )
    rows.update(correction_sha256=named)


def _has_failed(record: HeldRecord, key_sha256: str | None) -> bool:
    saves = MemoryEffect.objects.filter(
        scope_id=record.scope.id, tool="save_memory", key_sha256=key_sha256, state="failed"
    )
    return saves.exists()


def _said(record: HeldRecord, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    said = {name: value for name, value in (_kept(record) | dict(fields)).items() if value is not None}
    return said | {"origin": "host", "provenance": Provenance("api", (key,))}


def _kept(record: HeldRecord) -> dict[str, Any]:
    """What a correction does not change. Of a record at a service nothing is known here."""
    names = ("title", "author", "thread", "occurred_at")
    kept = {name: getattr(record, name) for name in names if getattr(record, name) is not None}
    return kept | ({"tags": tuple(record.tags)} if record.tags else {})


def _find_done(record: HeldRecord, key: str) -> Corrected:
    """The same correction was carried out before, or another hand forgot the record."""
    saves = MemoryEffect.objects.filter(
        scope_id=record.scope.id, tool="save_memory", key_sha256=sha256_hex(key)
    )
    done = find_row(saves.filter(state__in=("done", "resolved")))
    if done is None:
        raise Conflict("The record was forgotten meanwhile, so nothing was saved.")
    return Corrected((done.outcome or {}).get("id"))


def _memory(record: HeldRecord, actor: Actor) -> ScopedMemory:
    bound = provider_choice.find_provider(record.provider)
    if bound is None:
        raise Conflict(
            f"The provider {record.provider} is not configured any more, so nothing can be done there."
        )
    return ScopedMemory(bound, read_scope(record.scope), actor)


def _forget(memory: ScopedMemory, record: HeldRecord, key: str) -> bool:
    written = memory.forget(record.id, key)
    if written.is_uncertain:
        return False
    value_of(written)
    return True
