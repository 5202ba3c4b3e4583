"""What every adapter shares: a record's row before it is sent, one turn for a key, ids checked here, hits matched by our table.

An adapter says how its service stores, searches and deletes. Keys, scopes, bindings and what was forgotten are this module's,
whatever the service says. Source: contract of the memory provider, section 9.1.
"""

import asyncio
from collections.abc import Awaitable, Sequence

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from providers import remote_records
from providers.adapters.hits import Found, match_hits
from providers.adapters.service import Service, ServiceError, in_database
from providers.contract import (
    EffectClass,
    Err,
    LookedUp,
    MemoryHit,
    MemoryRecord,
    Ok,
    ProviderError,
    RecordRef,
    Result,
    Scope,
    check_key,
    check_text,
    is_positive_integer,
    refuse,
)
from providers.limits import (
    PROVIDER_SECONDS_MAX,
    RECALL_HITS_DEFAULT,
    RECORD_ID_BYTES_MAX,
    REMOTE_HITS_MAX,
)
from providers.remote_models import RemoteRecord
from providers.remote_records import Place, Saving

WAIT_SECONDS = 0.05  # between two looks whether another has sent
SETTLED_SECONDS = 60.0  # after which a service that indexes later is believed to have done it


class RemoteMemory:
    """A MemoryProvider over a service."""

    write_effect: EffectClass = "unguarded"
    dedup_window_ms: int | None = None
    lag_seconds = 0.0  # how long after a write the service may not show it
    answers_when_done = True  # else it answers once it has taken what it does later

    def __init__(self, service: Service) -> None:
        self.service = service
        self.name = service.target.provider

    # What an adapter says. Each raises ServiceError.

    async def _open_home(self, place: Place) -> str:
        """The id of the scope's place at the service, made there if need be."""
        return place.identity

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str | None:
        """The service's id of what it stored, None where it does not say."""
        raise NotImplementedError

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        """Best first."""
        raise NotImplementedError

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        raise NotImplementedError

    async def _find_copies(self, place: Place, home: str, row: RemoteRecord) -> list[str] | None:
        """The ids of everything that stands under the row's name; None where nobody can tell."""
        return None

    # The provider.

    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        try:
            check_key(key)
            if type(record) is not MemoryRecord:
                raise TypeError("record must be a MemoryRecord.")
        except (TypeError, ValueError) as error:
            return refuse(str(error))
        return await self._tell(scope, self._remember(scope, record, key))

    async def recall(
        self, scope: Scope, query: str, *, k: int = RECALL_HITS_DEFAULT
    ) -> Result[Sequence[MemoryHit]]:
        if not is_positive_integer(k):
            return refuse("k must be a positive integer.")
        if type(query) is not str or not any(map(str.isalnum, query)):
            return Ok(())
        return await self._tell(scope, self._recall(scope, query, k))

    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        try:
            check_key(key)
            check_text(id, "id", bytes_max=RECORD_ID_BYTES_MAX)
        except (TypeError, ValueError) as error:
            return refuse(str(error))
        return await self._tell(scope, self._forget(scope, id, key))

    async def _tell[T](self, scope: Scope, act: Awaitable[Result[T]]) -> Result[T]:
        try:
            async with asyncio.timeout(PROVIDER_SECONDS_MAX):
                return await act
        except TimeoutError:
            return Err(ProviderError("timeout", "The service did not answer in time."))
        except ServiceError as error:
            if error.refuses_credential:
                await in_database(remote_records.note_refused, scope, self.name)
            return error.result
        except (OperationalError, InterfaceError) as error:
            message = f"The database did not answer ({type(error).__name__})."
            return Err(ProviderError("unavailable", message))

    async def _note_accepted(self, place: Place) -> None:
        if place.is_refused:
            await in_database(remote_records.note_accepted, place)

    async def _remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        place = await in_database(remote_records.open_place, scope, self.name, self.service.target.origin)
        if place is None:
            raise ServiceError("unavailable", "The scope's tenant is none of this hub's.", sent=False)
        saving = await self._wait_for_turn(place, record, key)
        ref = RecordRef(saving.row.record_id, saving.row.version)
        if not saving.is_same:
            return refuse("This key was used for another record.")
        if saving.claim is None:
            return Ok(ref)
        await self._send(place, saving, record)
        return Ok(ref)

    async def _send(self, place: Place, saving: Saving, record: MemoryRecord) -> None:
        """Whatever goes wrong, the turn is given back. Raises: ServiceError."""
        row, is_sent = saving.row, False
        try:
            home = await self._home(place)
            external_id = await self._find_earlier(place, home, row)
            if external_id is None:
                await in_database(remote_records.note_send, saving)
                is_sent = True
                external_id = await self._store(place, home, row, record)
        except ServiceError as error:
            is_certain = row.sends == 0 and not (is_sent and error.error.is_uncertain)
            await in_database(remote_records.release_save, saving, is_certain=is_certain)
            raise error.of_write(is_certain=is_certain) from error
        await in_database(remote_records.settle_save, saving, external_id)
        await self._note_accepted(place)

    async def _wait_for_turn(self, place: Place, record: MemoryRecord, key: str) -> Saving:
        """Two that save the same at once are one save: the other waits for how the first went."""
        while True:
            saving: Saving = await in_database(remote_records.claim_save, place, record, key)
            is_over = saving.row.saved_at is not None or saving.row.forgotten_at is not None
            if saving.claim is not None or is_over or not saving.is_same:
                return saving
            await asyncio.sleep(WAIT_SECONDS)

    async def _find_earlier(self, place: Place, home: str, row: RemoteRecord) -> str | None:
        """What an earlier send of the same left at the service, where it can be asked."""
        if row.sends == 0:
            return None
        copies = await self._find_copies(place, home, row)
        return copies[0] if copies else None

    async def _home(self, place: Place) -> str:
        if place.home is not None:
            return place.home
        opened = await self._open_home(place)
        kept: str = await in_database(remote_records.keep_home, place, opened)
        return kept

    async def _recall(self, scope: Scope, query: str, k: int) -> Result[Sequence[MemoryHit]]:
        place: Place | None = await in_database(remote_records.find_place, scope, self.name)
        if place is None or place.home is None:  # nothing was ever sent
            return Ok(())
        count = max(k, min(4 * k, REMOTE_HITS_MAX))
        found = await self._search(place, place.home, query, count)
        await self._note_accepted(place)
        rows: list[RemoteRecord] = await in_database(
            remote_records.find_records,
            place,
            {one.external_id for one in found},
            {one.name for one in found if one.name is not None},
        )
        hits, adopted = match_hits(found, rows, k)
        for row_id, external_id in adopted:
            await in_database(remote_records.adopt, row_id, external_id)
        return Ok(tuple(hits))

    async def _forget(self, scope: Scope, record_id: str, key: str) -> Result[None]:
        place: Place | None = await in_database(remote_records.find_place, scope, self.name)
        row = None if place is None else await in_database(remote_records.find_record, place, record_id)
        if place is None or row is None:
            return refuse("There is no such record in this scope.")
        if row.forgotten_at is not None:
            return Ok(None)
        home = await self._home(place)
        await in_database(remote_records.begin_forget, row, remote_records.name_of(scope, key))
        try:
            for external_id in await self._list_copies(place, home, row):
                await self._delete_known(place, home, external_id, row)
        except ServiceError as error:
            if not error.error.is_uncertain:
                await in_database(remote_records.undo_forget, row)
            raise
        await in_database(remote_records.settle_forget, row)
        return Ok(None)

    async def _list_copies(self, place: Place, home: str, row: RemoteRecord) -> list[str]:
        """Every copy that the service may have: more than one where a save was sent more than once."""
        known = [] if row.external_id is None else [row.external_id]
        if known and row.sends <= 1:
            return known
        copies = await self._find_copies(place, home, row) if row.sends else []
        if not known and (copies is None or (not copies and not self._has_settled(row))):
            raise ServiceError("unavailable", "The service has not said yet what it calls this record.")
        return list(dict.fromkeys([*known, *(copies or [])]))

    def _has_settled(self, row: RemoteRecord) -> bool:
        """Whether what the service does not show is not there."""
        if not self.lag_seconds or row.sent_at is None:
            return True
        return (timezone.now() - row.sent_at).total_seconds() >= SETTLED_SECONDS

    async def _delete_known(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        try:
            await self._delete(place, home, external_id, row)
        except ServiceError as error:
            if error.status != 404:  # it is gone, which is what was asked for
                raise


class FindsAgain(RemoteMemory):
    """Of a service that can be asked what stands under a name: LooksUp."""

    write_effect: EffectClass = "guarded"

    async def lookup(self, scope: Scope, key: str) -> Result[LookedUp]:
        try:
            check_key(key)
        except (TypeError, ValueError) as error:
            return refuse(str(error))
        return await self._tell(scope, self._lookup(scope, key))

    async def _lookup(self, scope: Scope, key: str) -> Result[LookedUp]:
        place: Place | None = await in_database(remote_records.find_place, scope, self.name)
        if place is None:
            return Ok("not_done")
        under = await in_database(remote_records.find_under_key, place, key)
        if under.tool == "save_memory":
            return Ok(await self._look_for_save(place, under.saved))
        if under.tool == "forget_memory":
            return Ok(await self._look_for_forget(place, under.forgotten))
        if under.saved is not None and under.forgotten is not None:
            return Ok("unknown")  # one key for two writes, and nobody says which is meant
        if under.forgotten is not None:
            return Ok(await self._look_for_forget(place, under.forgotten))
        return Ok(await self._look_for_save(place, under.saved))

    async def _look_for_save(self, place: Place, row: RemoteRecord | None) -> LookedUp:
        if row is not None and row.saved_at is not None:
            return "done"
        if row is None or place.home is None or row.sends == 0:
            return "not_done"
        await self._wait_for_lag(row)
        copies = await self._find_copies(place, place.home, row)
        if copies is None:
            return "unknown"
        if copies:
            await in_database(remote_records.adopt, row.id, copies[0])
        return "done" if copies else "not_done"

    async def _wait_for_lag(self, row: RemoteRecord) -> None:
        if row.sent_at is not None:
            since = (timezone.now() - row.sent_at).total_seconds()
            await asyncio.sleep(max(0.0, self.lag_seconds - since))

    async def _look_for_forget(self, place: Place, row: RemoteRecord | None) -> LookedUp:
        if row is None:
            return "not_done"
        if row.forgotten_at is not None:
            return "done"
        assert place.home is not None, "what is forgotten was sent"
        copies = await self._find_copies(place, place.home, row)
        if copies is None:
            return "unknown"
        if copies:
            return "not_done"
        if row.external_id is None and not self._has_settled(row):
            return "unknown"
        await in_database(remote_records.settle_forget, row)
        return "done"
