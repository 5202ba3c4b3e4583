"""Why a row of an index has its score: what each lexeme gives, what its neighbours in the thread give, whether its author is named
and whether it asks.

The same formula as in `memoryhub.ranking`, taken apart for few rows; a test holds the sum of the parts to the score. Pure but
for what it is given to read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memoryhub.ranking import (
    AUTHOR_FACTOR,
    AUTHOR_NAME_LENGTH_MIN,
    LABEL_WEIGHTS,
    LENGTH_SHARE,
    NEIGHBOUR_WEIGHTS,
    QUESTION_FACTOR,
    TF_SCALE,
    IndexTable,
    Statistics,
    Wanted,
    quote,
)

PARTS_MIN = 0.000_001  # less is what a number is rounded by


@dataclass(frozen=True, slots=True)
class Part:
    """What a lexeme gives."""

    lexeme: str
    score: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of the same thread, `away` places after this one (before it: less than 0), and what it gives."""

    key: UUID
    away: int
    score: float


@dataclass(slots=True)
class Reasons:
    """`parts`: of the row's own text, the greatest first. The sum is multiplied by both factors."""

    parts: list[Part] = field(default_factory=list)
    neighbours: list[Neighbour] = field(default_factory=list)
    author_factor: float = 1.0
    question_factor: float = 1.0

    @property
    def score(self) -> float:
        own = sum(one.score for one in self.parts)
        return self.author_factor * self.question_factor * (own + sum(one.score for one in self.neighbours))


def count_statement(table: IndexTable, wanted: Wanted, *, scope: str) -> tuple[str, dict[str, Any]]:
    """SQL and its values: one row of what `read_counts` reads, for a scope that was not counted beforehand."""
    counts = "".join(
        f", count(*) FILTER (WHERE terms @@ %(lexeme{n})s::tsquery)" for n in range(len(wanted.lexemes))
    )
    found = f"SELECT count(*), greatest(coalesce(avg(length), 1), 1)::float8{counts} FROM {table.name} WHERE {scope}"  # noqa: S608
    return found, _lexeme_values(wanted)


def read_counts(wanted: Wanted, row: Sequence[Any]) -> Statistics:
    return Statistics(row[0], row[1], dict(zip(wanted.lexemes, row[2:], strict=True)), {})


def parts_statement(
    table: IndexTable, wanted: Wanted, statistics: Statistics, *, scope: str
) -> tuple[str, dict[str, Any]]:
    """SQL and its values, to which `keys` are added: rows for `read_parts`.

    `scope` is a condition over the columns of `beside`.
    """
    parts = ", ".join(
        f"%(idf{n})s::float8 * ts_rank('{LABEL_WEIGHTS}', beside.terms, %(lexeme{n})s::tsquery)"
        for n in range(len(wanted.lexemes))
    )
    found = f"""
SELECT hit.{table.key}, beside.{table.key}, beside.position - hit.position, share,
       string_to_array(hit.author, ' ') && %(names)s::text[], hit.is_question,
       {TF_SCALE} / (0.526 + 0.474 * ({1 - LENGTH_SHARE} + {LENGTH_SHARE} * beside.length::float8 / %(mean)s::float8)),
       ARRAY[{parts}]::float8[]
  FROM {table.name} hit CROSS JOIN unnest(%(away)s::int[], %(shares)s::float8[]) AS neighbour (away, share)
  JOIN {table.name} beside ON beside.thread = hit.thread AND beside.position = hit.position - neighbour.away
 WHERE hit.{table.key} = ANY(%(keys)s) AND {scope} AND beside.terms @@ %(any)s::tsquery
 ORDER BY hit.{table.key}, neighbour.away DESC
"""  # noqa: S608 - names of columns and numbers; every value is a parameter
    idfs = {f"idf{n}": statistics.idf(lexeme) for n, lexeme in enumerate(wanted.lexemes)}
    names = [name for name in wanted.names if len(name) >= AUTHOR_NAME_LENGTH_MIN]
    values = idfs | {
        "mean": statistics.mean_length,
        "names": names,
        "any": " | ".join(map(quote, wanted.lexemes)),
    }
    shares = {"away": list(NEIGHBOUR_WEIGHTS), "shares": list(NEIGHBOUR_WEIGHTS.values())}
    return found, _lexeme_values(wanted) | values | shares


def _lexeme_values(wanted: Wanted) -> dict[str, Any]:
    return {f"lexeme{n}": quote(lexeme) for n, lexeme in enumerate(wanted.lexemes)}


def read_parts(wanted: Wanted, rows: Iterable[Sequence[Any]]) -> dict[UUID, Reasons]:
    """By the key of the row whose score it is."""
    found: dict[UUID, Reasons] = {}
    for key, beside, away, share, is_named, is_question, scale, ranks in rows:
        reasons = found.setdefault(key, Reasons())
        reasons.author_factor = AUTHOR_FACTOR if is_named else 1.0
        reasons.question_factor = QUESTION_FACTOR if is_question else 1.0
        if beside == key:
            parts = [Part(lexeme, scale * rank) for lexeme, rank in zip(wanted.lexemes, ranks, strict=True)]
            reasons.parts = sorted(
                (one for one in parts if one.score > PARTS_MIN), key=lambda one: -one.score
            )
        elif (score := scale * share * sum(ranks)) > PARTS_MIN:
            reasons.neighbours.append(Neighbour(beside, away, score))
    return found
