"""Full-text search over current memories: the index row of each, and the verbs that search a store or an environment.

Old versions are never indexed. The index row is written and removed in the memory's own transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from memoryhub import excerpts, ranking, tenancy
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.excerpts import Excerpt
from memoryhub.ranking import QUERY_LENGTH_MAX, QUERY_LEXEMES_MAX, IndexTable, Wanted
from stores.memory_stores import get_store, visible_stores
from stores.models import Memory, MemoryStore
from stores.paths import check_path_prefix, prefix_range

MODES = ("words", "operators")
_TABLE = IndexTable("stores_memoryindex", key="memory_id")
# The words of the path have the label A, so that they count twice.
_INDEX = """
INSERT INTO stores_memoryindex (memory_id, project_id, environment_id, store_id, terms, length)
SELECT %s, %s, %s, %s, terms, coalesce((SELECT sum(cardinality(positions)) FROM unnest(terms)), 0)
  FROM (SELECT setweight(to_tsvector('english', %s), 'A') || to_tsvector('english', %s) AS terms) AS made
    ON CONFLICT (memory_id) DO UPDATE SET terms = excluded.terms, length = excluded.length
"""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """`mode` words: any word of the query, best first. `mode` operators: `"a phrase"`, `-without`, `or`."""

    query: str
    mode: str
    path_prefix: str
    limit: int


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """The memory's `head` is loaded. A score compares within one answer only."""

    memory: Memory
    score: float
    excerpt: Excerpt


def index_memory(memory: Memory, store: MemoryStore, content: str) -> None:
    """A step: make the memory's current path and text findable, in the change's transaction."""
    path_words, content_words = ranking.words(memory.path), ranking.words(content)
    with connection.cursor() as cursor:
        cursor.execute(
            _INDEX,
            [memory.id, store.project_id, store.environment_id, store.id, path_words, content_words],
        )


def search_store(store_id: str, request: SearchRequest, *, actor: Actor) -> list[FoundMemory]:
    """Best first; an archived store too. Raises: NotFound, InvalidRequest."""
    store = get_store(store_id, actor=actor)
    return _search(request, store.environment_id, [store.id])


def search_environment(
    request: SearchRequest, *, environment: str | None = None, include_archived: bool = False, actor: Actor
) -> list[FoundMemory]:
    """Over every store of one environment that the actor may see, best first.

    Raises: NotFound for a foreign environment, InvalidRequest when several are in reach and none is named.
    """
    environment_id = tenancy.choose_environment(environment, actor=actor)
    stores = visible_stores(actor).filter(environment_id=environment_id)
    if not include_archived:
        stores = stores.filter(archived_at=None)
    return _search(request, environment_id, list(stores.values_list("id", flat=True)))


def _search(request: SearchRequest, environment_id: UUID, store_ids: Sequence[UUID]) -> list[FoundMemory]:
    wanted = _read_query(request)
    scope, values = _scope(request, environment_id, store_ids)
    statement = ranking.rank_statement(_TABLE, wanted, scope=scope, values=values, limit=request.limit)
    scores: dict[UUID, float] = dict(_rows(*statement))
    memories = Memory.objects.select_related("head").in_bulk(list(scores))
    # one that was deleted since it was ranked is left out
    shown = [memories[key] for key in scores if key in memories]
    cut = _cut_excerpts([memory.head.content or "" for memory in shown], wanted)
    return [
        FoundMemory(memory, scores[memory.id], excerpt) for memory, excerpt in zip(shown, cut, strict=True)
    ]


def _read_query(request: SearchRequest) -> Wanted:
    """Raises: InvalidRequest. In a query of words the lexemes beyond the limit do not count."""
    if not 1 <= len(request.query) <= QUERY_LENGTH_MAX:
        raise InvalidRequest(f"query: It has 1 to {QUERY_LENGTH_MAX} characters.")
    if request.mode == "words":
        return Wanted(_lexemes(ranking.words(request.query)))
    operators = ranking.read_operators(request.query)
    if operators.words_count > QUERY_LEXEMES_MAX:
        raise InvalidRequest(f"query: With operators it has at most {QUERY_LEXEMES_MAX} words.")
    [(text,)] = _rows(ranking.OPERATOR_FILTER, [operators.text])
    return Wanted(_lexemes(operators.wanted), filter=text or None)


def _lexemes(words: str) -> list[str]:
    return [lexeme for (lexeme,) in _rows(ranking.LEXEMES, [words, QUERY_LEXEMES_MAX])]


def _scope(
    request: SearchRequest, environment_id: UUID, store_ids: Sequence[UUID]
) -> tuple[str, dict[str, Any]]:
    """The condition on index rows; lengths and counts of rows are of these alone."""
    values: dict[str, Any] = {"environment": environment_id, "stores": list(store_ids)}
    if len(store_ids) == 1:
        condition = "environment_id = %(environment)s AND store_id = ANY(%(stores)s)"
    else:  # an array would be a search of the index for each store
        condition = "environment_id = %(environment)s AND store_id IN (SELECT unnest(%(stores)s::uuid[]))"
    if request.path_prefix != "/":
        values["low"], values["high"] = prefix_range(check_path_prefix(request.path_prefix))
        condition += """ AND memory_id IN (SELECT id FROM stores_memory
            WHERE store_id IN (SELECT unnest(%(stores)s::uuid[])) AND path_key >= %(low)s AND path_key < %(high)s)"""
    return condition, values


def _cut_excerpts(texts: Sequence[str], wanted: Wanted) -> list[Excerpt]:
    found = [excerpts.find_candidates(text, wanted.lexemes) for text in texts]
    lexemes = _lexemes_by_word({candidate.word for candidates in found for candidate in candidates})
    return [
        excerpts.cut_excerpt(text, candidates, lexemes) for text, candidates in zip(texts, found, strict=True)
    ]


def _lexemes_by_word(found: set[str]) -> Mapping[str, Sequence[str]]:
    normalised = {word: ranking.words(word) for word in found}
    lexemes = dict(_rows(ranking.LEXEMES_BY_WORD, [list(set(normalised.values()))]))
    return {word: lexemes[plain] for word, plain in normalised.items()}


def _rows(sql: str, values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Any] = cursor.fetchall()
        return rows
