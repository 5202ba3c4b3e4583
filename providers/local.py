"""`local_memory`: the built-in provider. Records in this hub's PostgreSQL, their keys kept for ever.

Source: contract of the memory provider, section 8.1; architecture 6, item 19. Its writes are steps: what is remembered, its index
row and whatever the host writes beside them are one transaction. As a MemoryProvider it opens one of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, connection
from django.db.transaction import atomic
from psycopg.types.json import Jsonb

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import are_equal, sha256_hex
from memoryhub.rows import find_row
from providers import record_vectors
from providers.contract import (
    Binding,
    EffectClass,
    Err,
    MemoryHit,
    MemoryRecord,
    Ok,
    Origin,
    ProviderError,
    RecordRef,
    Result,
    Scope,
    check_key,
    is_positive_integer,
    refuse,
)
from providers.embedding import Vector
from providers.limits import POSITIVE_INTEGER_MAX, RECALL_HITS_DEFAULT
from providers.recalled_items import forget_items
from providers.record_models import MemoryRecord as RecordRow
from providers.record_models import RecordScope
from providers.record_names import record_id_of, seal_digest
from providers.record_scopes import ensure_scope, find_scope, read_scope
from providers.record_search import index_record, rank_records, unindex_record

VERSION = "1"  # a record is never edited
_INSERT = """
INSERT INTO providers_memoryrecord (id, project_id, scope_id, record_id, version, key_sha256, digest, text, origin,
       provenance, namespace, binding_id, thread, author, title, tags, occurred_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (scope_id, record_id) DO NOTHING
"""


def local_memory() -> "LocalMemory":
    """A pure factory: it reads and writes nothing."""
    return LocalMemory()


class LocalMemory:
    write_effect: EffectClass = "idempotent"
    dedup_window_ms: int | None = POSITIVE_INTEGER_MAX

    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        def act() -> Result[RecordRef]:
            held = ensure_scope(scope)
            return _not_bound() if held is None else self.remember_here(held, record, key)

        return await _in_transaction(act)

    async def recall(
        self, scope: Scope, query: str, *, k: int = RECALL_HITS_DEFAULT
    ) -> Result[Sequence[MemoryHit]]:
        vector = await sync_to_async(self.find_query_vector, thread_sensitive=True)(query)

        def act() -> Result[Sequence[MemoryHit]]:
            return self._recall(find_scope(scope), query, k, vector)

        return await _in_transaction(act)

    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        def act() -> Result[None]:
            return self._forget(find_scope(scope), id, key)

        return await _in_transaction(act)

    def remember_here(self, held: RecordScope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        problem = _find_problem(record, key)
        if problem is not None:
            return refuse(problem)
        ref = RecordRef(record_id_of(read_scope(held), key), VERSION)
        digest = seal_digest(record.canonical())
        if _insert(held, ref, key, digest, record):
            return Ok(ref)
        known = RecordRow.objects.only("key_sha256", "digest").get(scope_id=held.id, record_id=ref.id)
        if known.key_sha256 != sha256_hex(key) or not are_equal(bytes(known.digest), digest):
            return refuse("This key was used for another record.")
        return Ok(ref)

    def find_query_vector(self, query: object) -> Vector | None:
        return record_vectors.find_query_vector(query) if type(query) is str else None

    def recall_here(
        self, held: RecordScope, query: str, *, k: int, vector: Vector | None
    ) -> Result[Sequence[MemoryHit]]:
        return self._recall(held, query, k, vector)

    def _recall(
        self, held: RecordScope | None, query: object, k: object, vector: Vector | None
    ) -> Result[Sequence[MemoryHit]]:
        if type(query) is not str:
            return refuse("query must be a string.")
        if type(k) is not int or not is_positive_integer(k):
            return refuse("k must be a positive integer.")
        if held is None:
            return Ok(())
        scores = dict(rank_records(held, query.replace("\0", " "), limit=k, vector=vector))
        # one that was forgotten since it was ranked is left out
        rows = RecordRow.objects.filter(scope_id=held.id, forgotten_at=None).in_bulk(list(scores))
        return Ok(tuple(_hit(rows[key], score) for key, score in scores.items() if key in rows))

    def forget_here(self, held: RecordScope, id: str, key: str) -> Result[None]:
        return self._forget(held, id, key)

    def _forget(self, held: RecordScope | None, id: object, key: object) -> Result[None]:
        problem = _find_key_problem(key)
        if problem is not None:
            return refuse(problem)
        record = None if held is None or type(id) is not str else _lock_record(held, id)
        if record is None:
            return refuse("There is no such record in this scope.")
        if record.forgotten_at is None:
            erase_record(record)
        return Ok(None)


async def _in_transaction[T](act: Callable[[], Result[T]]) -> Result[T]:
    def run() -> Result[T]:
        try:
            with atomic():
                return act()
        except (OperationalError, InterfaceError) as error:
            return Err(ProviderError("unavailable", f"The database did not answer ({type(error).__name__})."))

    return await sync_to_async(run, thread_sensitive=True)()


def _not_bound() -> Err:
    return Err(ProviderError("unavailable", "The scope's tenant is none of this hub's."))


def _find_problem(record: object, key: object) -> str | None:
    if type(record) is not MemoryRecord:
        return "record must be a MemoryRecord."
    return _find_key_problem(key)


def _find_key_problem(key: object) -> str | None:
    try:
        check_key(key)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _insert(held: RecordScope, ref: RecordRef, key: str, digest: bytes, record: MemoryRecord) -> bool:
    """Whether it is new. A write of the same key that is under way is waited for."""
    wire, row_id = record.to_wire(), ids.new_id()
    row: list[Any] = [row_id, held.project_id, held.id, ref.id, ref.version, sha256_hex(key), digest]
    row += [record.text, record.origin, Jsonb(wire["provenance"])]
    row += [record.binding.namespace, record.binding.record_id]
    row += [record.thread, record.author, record.title, list(record.tags), record.occurred_at]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, row)
        if not cursor.rowcount:
            return False
    index_record(row_id, held, record)
    return True


def _lock_record(held: RecordScope, record_id: str) -> RecordRow | None:
    """The scope first: who counts its words must not meet who takes some away."""
    RecordScope.objects.select_for_update(no_key=True).only("id").get(id=held.id)
    return find_row(RecordRow.objects.filter(scope_id=held.id, record_id=record_id))


def erase_record(record: RecordRow) -> None:
    """A step: of the record nothing is left but its id and what tells its key and itself from others. The scope is locked."""
    unindex_record(record)
    forget_items(record.scope_id, record.record_id)
    RecordRow.objects.filter(id=record.id).update(
        text=None,
        provenance=None,
        thread=None,
        author=None,
        title=None,
        tags=None,
        occurred_at=None,
        forgotten_at=ClockTimestamp(),
    )


def _hit(record: RecordRow, score: float) -> MemoryHit:
    assert record.text is not None, "a record that is not forgotten has its text"
    return MemoryHit(
        id=record.record_id,
        version=record.version,
        text=record.text,
        score=float(score),
        origin=cast(Origin, record.origin),
        binding=Binding(record.namespace, record.binding_id),
    )
