"""The vectors of records: a row waits from the record's own transaction on, a job fills it, and forgetting takes it away with the index row.

Nothing here runs unless the operator chose an embedding backend. A vector is only ever written into the row that waits for it,
so a record that was forgotten while its text was at the backend gets none.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import connection
from django.db.transaction import atomic

from memoryhub import jobs
from memoryhub.digests import sha256_hex
from providers import nearest
from providers.embedding import BATCH_TEXTS_MAX, EmbeddingBackend, EmbeddingError, Vector, find_backend
from providers.embedding.passages import cut_passages
from providers.embedding.vectors import pack, unpack
from providers.record_models import RecordScope

EMBED = "providers.embed_records"
CLAIM_SECONDS = 120  # then another worker may take the texts
RUN_SECONDS_MAX = 120.0
QUEUED_ROWS_MAX = 1_000  # records that are put in the queue by one statement

log = structlog.get_logger("memoryhub.record_vectors")

_QUEUE = """
INSERT INTO providers_recordvector (record_id, project_id, scope_id) VALUES (%s, %s, %s)
    ON CONFLICT (record_id) DO NOTHING
"""
# FOR KEY SHARE: a record that is being forgotten is waited for, and then it is not here any more.
_QUEUE_MISSING = """
INSERT INTO providers_recordvector (record_id, project_id, scope_id)
SELECT i.record_id, i.project_id, i.scope_id FROM providers_recordindex i
 WHERE NOT EXISTS (SELECT FROM providers_recordvector v WHERE v.record_id = i.record_id)
 LIMIT %s FOR KEY SHARE OF i
    ON CONFLICT (record_id) DO NOTHING
"""
_QUEUE_OTHERS = """
UPDATE providers_recordvector SET model = NULL, dim = NULL, vector = NULL, content_sha256 = NULL, claimed_until = NULL
 WHERE record_id IN (SELECT record_id FROM providers_recordvector
                      WHERE vector IS NOT NULL AND (model <> %s OR dim <> %s) LIMIT %s FOR UPDATE SKIP LOCKED)
"""
_CLAIM = """
UPDATE providers_recordvector v SET claimed_until = clock_timestamp() + make_interval(secs => %s)
  FROM providers_memoryrecord r
 WHERE r.id = v.record_id AND r.text IS NOT NULL AND v.record_id IN (
       SELECT record_id FROM providers_recordvector
        WHERE vector IS NULL AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
        ORDER BY claimed_until NULLS FIRST, record_id LIMIT %s FOR UPDATE SKIP LOCKED)
RETURNING v.record_id, r.author, r.title, r.text
"""
_FILL = """
UPDATE providers_recordvector SET model = %s, dim = %s, vector = %s, content_sha256 = %s, claimed_until = NULL
 WHERE record_id = %s AND vector IS NULL
"""
_WAITING = "SELECT count(*) FROM providers_recordvector WHERE vector IS NULL"


class Waiting(NamedTuple):
    """`passages`: what is embedded of a record."""

    record_id: UUID
    passages: tuple[str, ...]


def queue_vector(record_id: UUID, held: RecordScope) -> None:
    """A step, after the record's index row was written."""
    if find_backend() is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, [record_id, held.project_id, held.id])
    jobs.enqueue(EMBED)


def drop_vector(record_id: UUID) -> None:
    """A step, after the record's index row was taken away: who queues it anew locks that first."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM providers_recordvector WHERE record_id = %s", [record_id])


def embedded_passages(text: str, author: str | None, title: str | None) -> tuple[str, ...]:
    """Each with author and title, as an index row has them, but for tags and dates, which say little to a model."""
    before = (f"{title}\n" if title else "") + (f"{author}: " if author else "")
    return tuple(before + passage for passage in cut_passages(text))


def find_query_vector(query: str) -> Vector | None:
    """Outside of transactions. None without a backend, and when it has no answer: then words alone rank."""
    backend = find_backend()
    if backend is None or not query.strip():
        return None
    try:
        return unpack(pack(backend.embed_query(query), backend.dim))
    except EmbeddingError as error:
        log.warning("query_not_embedded", model=backend.name, cause=str(error))
    except Exception as error:  # noqa: BLE001 - an operator's backend; what it says may quote the query
        log.error("query_not_embedded", model=backend.name, cause=type(error).__name__)
    return None


def sweep_vectors() -> None:
    """A job: put in the queue what has no vector of this model, then fill what waits."""
    backend = find_backend()
    if backend is None:
        return
    queue_missing(backend)
    embed_records()


def queue_missing(backend: EmbeddingBackend) -> int:
    """How many records were put in the queue, at most QUEUED_ROWS_MAX without a vector and as many with another model's."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE_MISSING, [QUEUED_ROWS_MAX])
        added = cursor.rowcount
        cursor.execute(_QUEUE_OTHERS, [backend.name, backend.dim, QUEUED_ROWS_MAX])
        return int(added + cursor.rowcount)


def embed_records() -> int:
    """A job: fill rows that wait, for RUN_SECONDS_MAX at most; how many. It asks for itself again when some are left."""
    backend = find_backend()
    if backend is None:
        return 0
    ends_at, filled = time.monotonic() + RUN_SECONDS_MAX, 0
    while waiting := _claim():
        if time.monotonic() > ends_at:
            jobs.enqueue(EMBED)
            break
        try:
            filled += _embed(backend, waiting)
        except EmbeddingError as error:  # the sweeper comes again when the claim is over
            log.warning("records_not_embedded", model=backend.name, records=len(waiting), cause=str(error))
            break
    return filled


def count_waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return int(cursor.fetchone()[0])


@atomic
def _claim() -> list[Waiting]:
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [CLAIM_SECONDS, BATCH_TEXTS_MAX])
        return [Waiting(key, embedded_passages(text, author, title)) for key, author, title, text in cursor]


def _embed(backend: EmbeddingBackend, waiting: Sequence[Waiting]) -> int:
    """A text that the backend refuses waits on and holds up none of the others: of a batch that fails each is tried alone.

    Raises: EmbeddingError, when one alone fails without being refused.
    """
    try:
        packed = _pack(backend, waiting)
    except EmbeddingError as error:
        if len(waiting) > 1:
            return sum(_embed(backend, [one]) for one in waiting)
        if not error.refuses:
            raise
        log.warning("record_refused", model=backend.name, cause=str(error))
        return 0
    return _fill(backend, waiting, packed)


def _pack(backend: EmbeddingBackend, waiting: Sequence[Waiting]) -> list[bytes]:
    """Of each record the vectors of its passages. Raises: EmbeddingError."""
    packed = _pack_each(backend, [passage for one in waiting for passage in one.passages])
    return [b"".join(next(packed) for _ in one.passages) for one in waiting]


def _pack_each(backend: EmbeddingBackend, passages: Sequence[str]) -> Iterator[bytes]:
    for batch in batched(passages, BATCH_TEXTS_MAX):
        vectors = backend.embed_documents(batch)
        if len(vectors) != len(batch):
            raise EmbeddingError(f"The backend gave {len(vectors)} vectors for {len(batch)} texts.")
        yield from (pack(vector, backend.dim) for vector in vectors)


@atomic
def _fill(backend: EmbeddingBackend, waiting: Sequence[Waiting], packed: Sequence[bytes]) -> int:
    filled = 0
    with connection.cursor() as cursor:
        for one, vector in sorted(zip(waiting, packed, strict=True)):
            content_sha256 = bytes.fromhex(sha256_hex("\0".join(one.passages)))
            row: list[Any] = [backend.name, backend.dim, vector, content_sha256]
            cursor.execute(_FILL, [*row, one.record_id])
            filled += cursor.rowcount
    if nearest.is_ready():
        rows = [(one.record_id, backend.dim, vector) for one, vector in zip(waiting, packed, strict=True)]
        nearest.add_near(rows)
    return filled
