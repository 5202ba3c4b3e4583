"""Which record of a scope is which at a service: written before anything is sent there, so that keys, ids and scopes are checked
here, whatever the service says. Every function is one short transaction.

Source: contract of the memory provider, section 9.1, rules 3 to 6. No text is kept: digests are sealed, keys are sealed names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import F, Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import are_equal, sha256_hex
from memoryhub.rows import find_row
from providers.contract import MemoryRecord, RecordRef, Scope
from providers.record_models import MemoryEffect, RecordScope
from providers.record_names import remote_record_id, seal_digest, seal_name
from providers.record_scopes import ensure_scope, find_scope
from providers.remote_models import RemoteRecord, RemoteScope

VERSION = "1"  # a record is never edited
CLAIM_FOR = timedelta(seconds=15)  # longer than a call may take

_ADD_SCOPE = """
INSERT INTO providers_remotescope (scope_id, provider, project_id, origin, identity) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (scope_id, provider) DO UPDATE SET origin = EXCLUDED.origin
"""
_ADD_RECORD = """
INSERT INTO providers_remoterecord (id, project_id, scope_id, provider, record_id, name, digest, namespace, binding_id,
       origin, version, text_seal, sends) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0)
    ON CONFLICT DO NOTHING
"""  # whichever of the unique indexes two saves of one key meet in: its name and its record id both come of the key


@dataclass(frozen=True, slots=True)
class Place:
    """A scope at a service. `identity`: what the service knows it by, and nobody can tell a principal from it.
    `is_refused`: the service refused the credential when it was called last."""

    scope: Scope
    held: RecordScope
    provider: str
    identity: str
    home: str | None
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Saving:
    """`claim` None: there is nothing to send, or it is another's turn. `is_same` False: the key is of another record."""

    row: RemoteRecord
    claim: UUID | None
    is_same: bool = True


def identity_of(*parts: str) -> str:
    return "mh_" + seal_name("memoryhub/remote/v1", *parts)


def seal_text(text_sha256: str) -> str:
    return seal_name("memoryhub/remote-text/v1", text_sha256)


def name_of(scope: Scope, key: str) -> str:
    """What a key is called at a service: it may hold anything, so it does not leave."""
    return "k_" + seal_name("memoryhub/remote-key/v1", scope.tenant_id, scope.agent, scope.scope, key)


@atomic
def open_place(scope: Scope, provider: str, origin: str) -> Place | None:
    """Noted before a first write, so that it is known who may hold what. None for a tenant that is none of this hub's."""
    held = ensure_scope(scope)
    if held is None:
        return None
    identity = identity_of(scope.tenant_id, scope.agent, scope.scope)
    with connection.cursor() as cursor:
        cursor.execute(_ADD_SCOPE, [held.id, provider, held.project_id, origin, identity])
    return find_place(scope, provider)


def find_place(scope: Scope, provider: str) -> Place | None:
    """None where nothing was ever written."""
    held = find_scope(scope)
    if held is None:
        return None
    remote = find_row(RemoteScope.objects.filter(scope_id=held.id, provider=provider))
    return (
        None
        if remote is None
        else Place(scope, held, provider, remote.identity, remote.home, remote.refused_at is not None)
    )


def note_refused(scope: Scope, provider: str) -> None:
    """The service refused the credential: whoever may give another is told."""
    held = find_scope(scope)
    if held is not None:
        remotes = RemoteScope.objects.filter(scope_id=held.id, provider=provider)
        remotes.filter(refused_at=None).update(refused_at=ClockTimestamp())


def note_accepted(place: Place) -> None:
    """It takes the credential again, which is the same for every scope of the agent."""
    RemoteScope.objects.filter(
        scope__environment_id=place.held.environment_id,
        scope__agent=place.held.agent,
        provider=place.provider,
    ).update(refused_at=None)


def keep_home(place: Place, home: str) -> str:
    """The home that was kept first."""
    remotes = RemoteScope.objects.filter(scope_id=place.held.id, provider=place.provider)
    remotes.filter(home=None).update(home=home)
    kept = remotes.values_list("home", flat=True).get()
    assert kept is not None
    return kept


def _records(place: Place) -> QuerySet[RemoteRecord]:
    return RemoteRecord.objects.filter(scope_id=place.held.id, provider=place.provider)


@atomic
def claim_save(place: Place, record: MemoryRecord, key: str) -> Saving:
    """The record's row, made if it is new, and whether it is this caller's turn to send it."""
    name, digest = name_of(place.scope, key), seal_digest(record.canonical())
    binding = record.binding
    values: list[Any] = [ids.new_id(), place.held.project_id, place.held.id, place.provider]
    values += [remote_record_id(place.provider, place.scope, key), name, digest]
    values += [
        binding.namespace,
        binding.record_id,
        record.origin,
        VERSION,
        seal_text(sha256_hex(record.text)),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ADD_RECORD, values)
    row = _records(place).select_for_update().get(name=name)
    if not are_equal(bytes(row.digest), digest):
        return Saving(row, None, is_same=False)
    if row.saved_at is not None or row.forgotten_at is not None:
        return Saving(row, None)
    claim = ids.new_id()
    free = RemoteRecord.objects.filter(
        Q(claimed_until=None) | Q(claimed_until__lt=ClockTimestamp()), id=row.id
    )
    is_mine = free.update(claim=claim, claimed_until=ClockTimestamp() + CLAIM_FOR)
    return Saving(row, claim if is_mine else None)


def note_send(saving: Saving) -> None:
    """Before it is sent."""
    _claimed(saving).update(sends=F("sends") + 1, sent_at=ClockTimestamp())


def settle_save(saving: Saving, external_id: str | None) -> None:
    adopt(saving.row.id, external_id)
    _claimed(saving).update(claim=None, claimed_until=None)


def release_save(saving: Saving, *, is_certain: bool) -> None:
    """It was not done, or nobody knows. Of what was certainly never sent nothing is left, and its key is free."""
    if is_certain and saving.row.sends == 0:
        _claimed(saving).delete()
    else:
        _claimed(saving).update(claim=None, claimed_until=None)


def _claimed(saving: Saving) -> QuerySet[RemoteRecord]:
    return RemoteRecord.objects.filter(id=saving.row.id, claim=saving.claim)


def adopt(row_id: UUID, external_id: str | None) -> None:
    """It is there, under this id. An id that another record of the scope has is not taken for its own."""
    rows = RemoteRecord.objects.filter(id=row_id)
    rows.filter(saved_at=None).update(saved_at=ClockTimestamp())
    if external_id is None:
        return
    try:
        with atomic():
            rows.filter(external_id=None).update(external_id=external_id)
    except IntegrityError:
        return


def find_records(place: Place, external_ids: Iterable[str], names: Iterable[str]) -> list[RemoteRecord]:
    return list(_records(place).filter(Q(external_id__in=list(external_ids)) | Q(name__in=list(names))))


def find_record(place: Place, record_id: str) -> RemoteRecord | None:
    return find_row(_records(place).filter(record_id=record_id))


def begin_forget(row: RemoteRecord, name: str) -> None:
    """From now on no recall shows it, since it may be gone."""
    RemoteRecord.objects.filter(id=row.id).update(forgetting_at=ClockTimestamp(), forget_name=name)


def settle_forget(row: RemoteRecord) -> None:
    RemoteRecord.objects.filter(id=row.id).update(forgotten_at=ClockTimestamp(), text_seal=None)


def undo_forget(row: RemoteRecord) -> None:
    """The service refused, so it is still there."""
    RemoteRecord.objects.filter(id=row.id, forgotten_at=None).update(forgetting_at=None, forget_name=None)


def find_reference(held: RecordScope, provider: str, scope: Scope, key: str) -> RecordRef | None:
    """What a save under this key is called, whether or not it is known to be there."""
    row = find_row(RemoteRecord.objects.filter(scope_id=held.id, provider=provider, name=name_of(scope, key)))
    return None if row is None else RecordRef(row.record_id, row.version)


@dataclass(frozen=True, slots=True)
class UnderKey:
    """What stands under a key: what was saved, what was forgotten, and which of the two the ledger has open, if it is one."""

    saved: RemoteRecord | None
    forgotten: RemoteRecord | None
    tool: str | None


def find_under_key(place: Place, key: str) -> UnderKey:
    name = name_of(place.scope, key)
    effects = MemoryEffect.objects.filter(
        scope_id=place.held.id, provider=place.provider, key_sha256=sha256_hex(key), state="begun"
    )
    tools = list(effects.values_list("tool", flat=True))
    forgotten = _records(place).filter(forget_name=name).order_by("-forgetting_at")[:1]
    return UnderKey(
        find_row(_records(place).filter(name=name)),
        find_row(forgotten),
        tools[0] if len(tools) == 1 else None,
    )
