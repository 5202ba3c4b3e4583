"""The nearest vectors of a scope by pgvector, where the operator had it added; without it nothing here is used.

`./hub embed_records --pgvector` creates the extension and the column `near`, an array of vectors, beside their bytes. A scope is looked through
row by row: it is exact, and a few milliseconds up to NEAREST_ROWS_MAX records. In a larger one words alone find candidates.
"""

from collections.abc import Sequence
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import ProgrammingError, connection
from django.db.transaction import atomic

from memoryhub.embedded import SUPERUSER_NAME
from memoryhub.errors import Unavailable
from providers.embedding.vectors import unpack_each
from providers.record_models import RecordScope

NEAREST_ROWS_MAX = 10_000
ADDED_ROWS_MAX = 500  # of one transaction

_IS_READY = """
SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'providers_recordvector'::regclass AND attname = 'near'
                  AND NOT attisdropped)
"""
_CREATE = "CREATE EXTENSION IF NOT EXISTS vector"
_IS_AVAILABLE = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')"
_ROWS = "SELECT count(*) FROM (SELECT FROM providers_recordvector WHERE scope_id = %s LIMIT %s) AS first_rows"
# MATERIALIZED: between vectors of other lengths there is no distance but an error, so those go first.
_NEAREST = """
WITH same AS MATERIALIZED (
  SELECT record_id, near FROM providers_recordvector
   WHERE scope_id = %s AND model = %s AND dim = %s AND near IS NOT NULL)
SELECT record_id FROM same
 ORDER BY (SELECT min(passage <=> %s::halfvec) FROM unnest(near) AS passage) LIMIT %s
"""
_ADD = "UPDATE providers_recordvector SET near = %s::halfvec[] WHERE record_id = %s AND vector = %s"
_WITHOUT = """
SELECT record_id, dim, vector FROM providers_recordvector
 WHERE vector IS NOT NULL AND near IS NULL AND record_id > %s ORDER BY record_id LIMIT %s
"""


def is_ready() -> bool:
    """Whether there is the column."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_READY)
        return bool(cursor.fetchone()[0])


def find_nearest(held: RecordScope, query: Sequence[float], *, model: str, limit: int) -> list[UUID] | None:
    """Nearest first. None for a scope that is too large to be looked through."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [held.id, NEAREST_ROWS_MAX + 1])
        if cursor.fetchone()[0] > NEAREST_ROWS_MAX:
            return None
        cursor.execute(_NEAREST, [held.id, model, len(query), write_halfvec(query), limit])
        return [key for (key,) in cursor]


def add_near(rows: Sequence[tuple[UUID, int, bytes]]) -> None:
    """A step: what these vectors (of which record, how many numbers, of all its passages) are found by."""
    with connection.cursor() as cursor:
        for key, dim, packed in rows:
            cursor.execute(_ADD, [[write_halfvec(one) for one in unpack_each(packed, dim)], key, packed])


def write_halfvec(numbers: Sequence[float]) -> str:
    return f"[{','.join(map(repr, numbers))}]"


def add_column() -> None:
    """Create the extension and the column, if they are not there. Raises: Unavailable where that cannot be."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_AVAILABLE)
        if not cursor.fetchone()[0]:
            raise Unavailable("This PostgreSQL has no pgvector: install it, or go without --pgvector.")
    _create_extension()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE providers_recordvector ADD COLUMN IF NOT EXISTS near halfvec[]")


def _create_extension() -> None:
    """pgvector asks for a superuser. That of the embedded database has the application's own password."""
    try:
        with atomic(), connection.cursor() as cursor:
            cursor.execute(_CREATE)
    except ProgrammingError as error:
        if settings.DATABASE_URL:
            raise Unavailable(
                "The database role may not add pgvector: let an administrator run CREATE EXTENSION vector; then run this again."
            ) from error
        reached = connection.get_connection_params()
        reached = {name: reached[name] for name in ("host", "port", "dbname", "password") if name in reached}
        with psycopg.connect(**reached, user=SUPERUSER_NAME, autocommit=True) as superuser:
            superuser.execute(_CREATE)


def fill_column() -> int:
    """How many vectors that were there before the column are in it now."""
    filled, after = 0, UUID(int=0)
    while rows := _read_without(after):
        with atomic():
            add_near(rows)
        filled, after = filled + len(rows), rows[-1][0]
    return filled


def _read_without(after: UUID) -> list[tuple[UUID, int, bytes]]:
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT, [after, ADDED_ROWS_MAX])
        return [(key, dim, bytes(packed)) for key, dim, packed in cursor]
