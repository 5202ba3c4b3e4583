"""The vector arm of a recall: the best by words, and what stands nearest, in one order by the sum of both scores.

Source: design of recall. final = factor * ((1 - share) * words / most of words + share * cosine / most of cosine), with the factor of
its author and of a question. A record without a vector of the backend's model has the cosine 0, as one that says something else has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from memoryhub.ranking import AUTHOR_NAME_LENGTH_MIN, FACTOR
from providers import nearest
from providers.embedding import EmbeddingBackend, EmbeddingError, Vector
from providers.embedding.vectors import cosine, pack, unpack, unpack_each
from providers.record_models import RecordScope

CANDIDATES_MAX = 100  # by words, and as many that stand nearest

type Ranked = list[tuple[UUID, float]]

_NEWEST = """
SELECT record_id FROM providers_recordvector WHERE scope_id = %s AND vector IS NOT NULL ORDER BY record_id DESC LIMIT %s
"""
_CANDIDATES = f"""
SELECT i.record_id, {FACTOR}, v.vector
  FROM providers_recordindex i LEFT JOIN providers_recordvector v
       ON v.record_id = i.record_id AND v.model = %(model)s AND v.dim = %(dim)s
 WHERE i.scope_id = %(scope)s AND i.record_id = ANY(%(keys)s)
"""  # noqa: S608 - names of columns and numbers


@dataclass(frozen=True, slots=True)
class Candidate:
    """`words`: its score by words, without the factor; 0 for one that only stands near."""

    key: UUID
    words: float
    cosine: float
    factor: float


def fuse(candidates: Sequence[Candidate], *, share: float) -> Ranked:
    """Best first; of equal ones the latest key. `share`: of the cosine in a score, 0 to 1."""
    most_words = max((one.words for one in candidates), default=0.0) or 1.0
    most_cosine = max((one.cosine for one in candidates), default=0.0)
    most_cosine = most_cosine if most_cosine > 0 else 1.0
    scored = [
        (
            one.factor * ((1 - share) * one.words / most_words + share * max(one.cosine, 0.0) / most_cosine),
            one.key,
        )
        for one in candidates
    ]
    return [(key, score) for score, key in sorted(scored, reverse=True)]


def add_vectors(
    held: RecordScope,
    by_words: Ranked,
    vector: Vector,
    *,
    backend: EmbeddingBackend,
    names: Sequence[str],
    limit: int,
) -> Ranked:
    """`by_words`: best first, beyond the candidates too. While no candidate has a vector the order stays that of words, and so it does
    for a vector that is none of the backend's."""
    try:
        query = unpack(pack(vector, backend.dim))
    except EmbeddingError:
        return by_words[:limit]
    keys = [key for key, _ in by_words[:CANDIDATES_MAX]]
    keys += _find_near(held, query, backend, CANDIDATES_MAX - len(keys))
    rows = _read(held, keys, backend, names)
    if not any(packed for _, _, packed in rows):
        return by_words[:limit]
    scores = dict(by_words)
    candidates = [
        Candidate(
            key,
            scores.get(key, 0.0) / factor,
            max(cosine(query, one) for one in unpack_each(bytes(packed), backend.dim)) if packed else 0.0,
            factor,
        )
        for key, factor, packed in rows
    ]
    return fuse(candidates, share=settings.EMBEDDING_PERCENT / 100)[:limit]


def _find_near(
    held: RecordScope, query: Sequence[float], backend: EmbeddingBackend, places: int
) -> list[UUID]:
    """The nearest, where the database can tell; elsewhere the newest, in places that no word fills."""
    if nearest.is_ready():
        found = nearest.find_nearest(held, query, model=backend.name, limit=CANDIDATES_MAX)
        if found is not None:
            return found
    if places <= 0:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [held.id, places])
        return [key for (key,) in cursor]


def _read(
    held: RecordScope, keys: Sequence[UUID], backend: EmbeddingBackend, names: Sequence[str]
) -> list[tuple[UUID, float, Any]]:
    """(key, its factor, its vector or None), each once."""
    values: dict[str, Any] = {
        "scope": held.id,
        "keys": list(set(keys)),
        "model": backend.name,
        "dim": backend.dim,
        "names": [name for name in names if len(name) >= AUTHOR_NAME_LENGTH_MIN],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, values)
        return list(cursor.fetchall())
