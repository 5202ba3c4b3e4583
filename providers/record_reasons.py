"""A search of a scope as a model would make it, and why each hit stands where it does.

Source: design of recall. Reasons are those of the built-in provider; another service keeps its own to itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from memoryhub import ranking
from memoryhub.actors import Actor
from memoryhub.ranking import LEXEMES_BY_WORD
from memoryhub.ranking_parts import (
    Neighbour,
    Reasons,
    count_statement,
    parts_statement,
    read_counts,
    read_parts,
)
from providers.contract import Err, MemoryHit
from providers.guard import Recalled, ScopedMemory
from providers.held_records import HeldRecord, find_known
from providers.held_scopes import get_scope
from providers.provider_choice import LOCAL, provider_of
from providers.record_answers import hub_error
from providers.record_models import MemoryRecord, RecordScope
from providers.record_scopes import read_scope
from providers.record_search import TABLE, date_words, read_wanted

PLACES = ("text", "title", "author", "tags", "date")


@dataclass(frozen=True, slots=True)
class Reason:
    """What one word of the query gives. `word`: as it was written; `places`: of PLACES, where the record holds it."""

    word: str
    places: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Why:
    """`neighbours`: of the same thread; the factors are 1 where nothing is to say. `is_newest`: the query said nothing, so the newest came.

    `score`: what these make together; `is_whole`: the hit's own, which may count more than words.
    """

    words: list[Reason] = field(default_factory=list)
    neighbours: list[Neighbour] = field(default_factory=list)
    author_factor: float = 1.0
    question_factor: float = 1.0
    score: float = 0.0
    is_whole: bool = True
    is_newest: bool = False


@dataclass(frozen=True, slots=True)
class ShownHit:
    """`record` None: the hub knows nothing of it but the hit. `why` None: the provider keeps its reasons."""

    hit: MemoryHit
    record: HeldRecord | None
    why: Why | None


@dataclass(frozen=True, slots=True)
class Searched:
    recalled: Recalled
    hits: list[ShownHit]


def search_scope(scope_id: str, query: str, *, k: int, actor: Actor) -> Searched:
    """Best first, exactly what a model would be given. Raises: NotFound, Unprocessable, Unavailable, ProviderTimeout, PermissionRefused."""
    held = get_scope(scope_id, actor=actor)
    bound = provider_of(held.environment_id)
    result = ScopedMemory(bound, read_scope(held), actor).recall(query, k=k)
    if isinstance(result, Err):
        raise hub_error(result.error)
    hits = result.value.hits
    known = find_known(held, [hit.id for hit in hits])
    why = explain_hits(held, query, hits, known) if bound.name == LOCAL else {}
    return Searched(result.value, [ShownHit(hit, known.get(hit.id), why.get(hit.id)) for hit in hits])


def explain_hits(
    held: RecordScope, query: str, hits: Sequence[MemoryHit], known: dict[str, HeldRecord]
) -> dict[str, Why]:
    """By the id of each hit: a few queries, however many there are."""
    words = ranking.words(query)
    read = read_wanted(held, words) if words else None
    if read is None:
        return {hit.id: Why(is_newest=True) for hit in hits}
    wanted, counted = read
    values = {"scope": held.id}
    if counted is None:
        statement, lexemes = count_statement(TABLE, wanted, scope="scope_id = %(scope)s")
        counted = read_counts(wanted, _rows(statement, lexemes | values)[0])
    keys = _find_keys(held, [hit.id for hit in hits])
    statement, more = parts_statement(TABLE, wanted, counted, scope="beside.scope_id = %(scope)s")
    found = read_parts(wanted, _rows(statement, more | values | {"keys": list(keys.values())}))
    said = _Said(words, [known[hit.id] for hit in hits if hit.id in known])
    return {
        hit.id: _explain(hit, found.get(keys[hit.id], Reasons()), said, known[hit.id])
        for hit in hits
        if hit.id in keys and hit.id in known
    }


def _find_keys(held: RecordScope, record_ids: Sequence[str]) -> dict[str, UUID]:
    rows = MemoryRecord.objects.filter(scope_id=held.id, record_id__in=record_ids)
    return dict(rows.values_list("record_id", "id"))


class _Said:
    """Which lexemes the words of a query are, and which stand in which place of a record: one query for all."""

    def __init__(self, words: str, records: Sequence[HeldRecord]) -> None:
        self.places = {one.id: _places(one) for one in records}
        self.words = sorted(set(words.split()), key=words.split().index)
        texts = {text for of in self.places.values() for text in of.values()}
        found = _rows(LEXEMES_BY_WORD, [list({*self.words, *texts})])
        self.lexemes: dict[str, set[str]] = {text: set(lexemes) for text, lexemes in found}

    def word_of(self, lexeme: str) -> str:
        """As the query has it; one that stands for another by itself."""
        return next((word for word in self.words if lexeme in self.lexemes.get(word, ())), lexeme)

    def places_of(self, lexeme: str, record: HeldRecord) -> tuple[str, ...]:
        held = self.places[record.id]
        return tuple(name for name in PLACES if name in held and lexeme in self.lexemes.get(held[name], ()))


def _places(record: HeldRecord) -> dict[str, str]:
    """Place -> its normalised words."""
    said = {
        "text": record.text,
        "title": record.title,
        "author": record.author,
        "tags": " ".join(record.tags),
        "date": date_words(record.occurred_at) if record.occurred_at else None,
    }
    return {name: ranking.words(text) for name, text in said.items() if text}


def _explain(hit: MemoryHit, reasons: Reasons, said: _Said, record: HeldRecord) -> Why:
    parts = [
        Reason(said.word_of(one.lexeme), said.places_of(one.lexeme, record), one.score)
        for one in reasons.parts
    ]
    is_whole = math.isclose(hit.score, reasons.score, rel_tol=0.001, abs_tol=0.001)
    return Why(
        parts, reasons.neighbours, reasons.author_factor, reasons.question_factor, reasons.score, is_whole
    )


def _rows(sql: str, values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
