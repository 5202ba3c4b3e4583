"""How records are found: their index rows, the ranking of a recall, and what is counted of large scopes.

Source: design of recall. A scope of few records is counted at each recall; of a large one the counts are kept, made anew by a
job when a recall finds that they may be old.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.transaction import atomic

from memoryhub import jobs, ranking
from memoryhub.ranking import (
    EVERY_ROW,
    PLACES_MAX,
    QUERY_LEXEMES_MAX,
    QUESTION_LENGTH_MAX,
    IndexTable,
    Statistics,
    Wanted,
)
from memoryhub.snapshots import allow_seconds
from providers.contract import MemoryRecord
from providers.embedding import Vector, find_backend
from providers.record_fusion import Ranked, add_vectors
from providers.record_models import MemoryRecord as RecordRow
from providers.record_models import RecordScope
from providers.record_names import thread_id_of
from providers.record_vectors import drop_vector, queue_vector

COUNT = "providers.count_records"
COUNTED_ROWS_MIN = 2_000  # records of a scope from which on its counts are kept
COUNT_AGAIN_SHARE = 0.1  # how much a scope must grow or shrink before it is counted anew
COUNT_SECONDS_MAX = 60
ALIKE_WORDS_MAX, ALIKE_MIN = 3, 0.3
TABLE = IndexTable("providers_recordindex", key="record_id", threaded=True)

_NEXT_POSITION = """
INSERT INTO providers_recordthread AS held (id, project_id, scope_id, count) VALUES (%s, %s, %s, 1)
    ON CONFLICT (id) DO UPDATE SET count = held.count + 1 RETURNING count - 1
"""
# The words of the title have the label A, so that they count twice.
_INDEX = """
INSERT INTO providers_recordindex
       (record_id, project_id, scope_id, thread, position, author, is_question, terms, length)
SELECT %s, %s, %s, %s, %s, %s, %s AND length <= %s, terms, length
  FROM (SELECT setweight(to_tsvector('english', %s), 'A') || to_tsvector('english', %s) AS terms) AS made
 CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(positions)), 0) AS length FROM unnest(terms)) AS counted
"""
# What is known of the scope, and the query's lexemes in order with how many records hold each.
_KNOWN = f"""
SELECT s.records, s.mean_length, s.counted_at IS NOT NULL,
       coalesce(s.asked_at < clock_timestamp() - interval '60 seconds', true),
       CASE WHEN s.counted_at IS NULL THEN
           (SELECT count(*) FROM (SELECT 1 FROM providers_recordindex WHERE scope_id = %(scope)s AND {EVERY_ROW}
                                   LIMIT {COUNTED_ROWS_MIN}) AS first_rows) END,
       q.lexemes, q.records
  FROM (SELECT array_agg(lexeme) AS lexemes, array_agg(records) AS records FROM (
            SELECT made.lexeme, held.records FROM unnest(to_tsvector('english', %(words)s)) AS made
              LEFT JOIN providers_recordterm held ON held.scope_id = %(scope)s AND held.term = made.lexeme COLLATE "C"
             ORDER BY made.positions[1], made.lexeme LIMIT {QUERY_LEXEMES_MAX}) AS each) AS q
  LEFT JOIN providers_recordstatistics s ON s.scope_id = %(scope)s
"""  # noqa: S608 - numbers and a constant condition
# Of lexemes that were not counted, those that the scope does not hold at all, with words of the same first letter and about the same
# length, through the key: of the scope, and few of them. MATERIALIZED: a planner that looks for one row only would read all.
_ALIKE = """
SELECT missing.lexeme, near.term, near.alike, near.records
  FROM unnest(%(lexemes)s::text[], %(quoted)s::text[], %(firsts)s::text[], %(lasts)s::text[])
       AS missing (lexeme, quoted, first, last)
 CROSS JOIN LATERAL (
    WITH near AS MATERIALIZED (
        SELECT term, records FROM providers_recordterm
         WHERE scope_id = %(scope)s AND term >= missing.first COLLATE "C" AND term < missing.last COLLATE "C"
           AND length(term) BETWEEN length(missing.lexeme) - 2 AND length(missing.lexeme) + 2
    )
    SELECT term, similarity(term, missing.lexeme) AS alike, records FROM near
     WHERE similarity(term, missing.lexeme) >= %(alike)s ORDER BY 2 DESC, term LIMIT %(limit)s
 ) AS near
 WHERE NOT EXISTS (
    WITH holding AS MATERIALIZED (
        SELECT FROM providers_recordindex WHERE scope_id = %(scope)s AND terms @@ missing.quoted::tsquery
    )
    SELECT FROM holding
 )
 ORDER BY 1, 3 DESC, 2
"""
_NEWEST = f"""
SELECT record_id, 0::float8 FROM providers_recordindex WHERE scope_id = %s AND {EVERY_ROW}
 ORDER BY record_id DESC LIMIT %s
"""  # noqa: S608 - a constant condition
_ASK_AGAIN = """
UPDATE providers_recordstatistics SET asked_at = clock_timestamp()
 WHERE scope_id = (SELECT scope_id FROM providers_recordstatistics WHERE scope_id = %s FOR UPDATE SKIP LOCKED)
"""
_ASK = """
INSERT INTO providers_recordstatistics (scope_id, project_id, records, mean_length) VALUES (%s, %s, 0, 1)
    ON CONFLICT (scope_id) DO NOTHING
"""
_SIZE = f"""
SELECT count(*), greatest(coalesce(avg(length), 1), 1)::float8 FROM providers_recordindex
 WHERE scope_id = %s AND {EVERY_ROW}
"""  # noqa: S608 - a constant condition
_COUNT = """
INSERT INTO providers_recordterm (scope_id, term, project_id, records)
SELECT %(scope)s, word, %(project)s, ndoc
  FROM ts_stat(format('SELECT terms FROM providers_recordindex WHERE scope_id = %%L', %(scope)s::uuid)) WHERE ndoc > 1
"""
_KEEP = """
UPDATE providers_recordstatistics SET records = %s, mean_length = %s, counted_at = clock_timestamp()
 WHERE scope_id = %s
"""
_UNCOUNT = """
WITH gone AS (SELECT unnest(tsvector_to_array(terms)) AS term FROM providers_recordindex WHERE record_id = %(record)s),
left_over AS (
    UPDATE providers_recordterm held SET records = records - 1 FROM gone
     WHERE held.scope_id = %(scope)s AND held.term = gone.term COLLATE "C" AND held.records > 2
)
DELETE FROM providers_recordterm held USING gone
 WHERE held.scope_id = %(scope)s AND held.term = gone.term COLLATE "C" AND held.records <= 2
"""


def index_record(row_id: UUID, held: RecordScope, record: MemoryRecord) -> None:
    """A step: make a record findable, after those of its thread."""
    thread, position = _place(row_id, held, record.thread)
    with connection.cursor() as cursor:
        cursor.execute(
            _INDEX,
            [
                row_id,
                held.project_id,
                held.id,
                thread,
                position,
                ranking.words(record.author or ""),
                record.thread is not None and ranking.asks(record.text),
                QUESTION_LENGTH_MAX,
                ranking.words(record.title or ""),
                ranking.words(indexed_text(record.text, record.author, record.tags, record.occurred_at)),
            ],
        )
    queue_vector(row_id, held)


def _place(row_id: UUID, held: RecordScope, thread: str | None) -> tuple[UUID, int]:
    """Writers in one thread wait for each other: a position is of one record."""
    if thread is None:
        return row_id, 0
    thread_id = thread_id_of(held.id, thread)
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_POSITION, [thread_id, held.project_id, held.id])
        return thread_id, int(cursor.fetchone()[0])


def indexed_text(text: str, author: str | None, tags: Sequence[str], occurred_at: datetime | None) -> str:
    """With its author before it, its tags and its date in words."""
    said = f"{author}: {text}" if author else text
    date = f" ({date_words(occurred_at)})" if occurred_at else ""
    return " ".join([said, *tags]) + date


def date_words(occurred_at: datetime) -> str:
    return f"{occurred_at.day} {occurred_at:%B %Y}"


def unindex_record(record: RecordRow) -> None:
    """A step: the record's index row, its part in the counts and its vector go. The scope is locked."""
    with connection.cursor() as cursor:
        cursor.execute(_UNCOUNT, {"record": record.id, "scope": record.scope_id})
        cursor.execute("DELETE FROM providers_recordindex WHERE record_id = %s", [record.id])
    drop_vector(record.id)


def rank_records(held: RecordScope, query: str, *, limit: int, vector: Vector | None = None) -> Ranked:
    """(key, score), best first. A query of stop words alone gives the newest; one without any word nothing.

    `vector`: of the query, by the backend that the operator chose.
    """
    words = ranking.words(query)
    backend = None if vector is None else find_backend()
    if not words:
        return []
    if vector is None or backend is None:
        return _rank_by_words(held, words, limit=limit)
    by_words = _rank_by_words(held, words, limit=PLACES_MAX)
    return add_vectors(held, by_words, vector, backend=backend, names=words.split(), limit=limit)


def _rank_by_words(held: RecordScope, words: str, *, limit: int) -> Ranked:
    read = read_wanted(held, words)
    if read is None:
        return _rows(_NEWEST, [held.id, limit])
    wanted, counted = read
    statement, values = ranking.rank_statement(
        TABLE,
        wanted,
        scope="scope_id = %(scope)s",
        values={"scope": held.id},
        limit=limit,
        statistics=counted,
    )
    return _rows(statement, values)


def read_wanted(held: RecordScope, words: str) -> tuple[Wanted, Statistics | None] | None:
    """What normalised words of a query look for, and what was counted of a large scope. None for stop words alone."""
    statistics, lexemes = _read_known(held, words)
    if not lexemes:
        return None
    counted = None if statistics is None else _add_alike(held, statistics, lexemes)
    return Wanted(list(lexemes if counted is None else counted.counts), names=words.split()), counted


@dataclass(frozen=True, slots=True)
class _Counted:
    rows: int
    mean_length: float


def _read_known(held: RecordScope, words: str) -> tuple[_Counted | None, dict[str, int | None]]:
    """What is kept of a large scope, and the words' lexemes with the records that were counted of each.

    Asks for a new count when it may be old, and for the first when there is none.
    """
    [found] = _rows(_KNOWN, {"scope": held.id, "words": words})
    rows, mean_length, is_counted, is_old, some, lexemes, records = found
    if is_old and (is_counted or (some or 0) >= COUNTED_ROWS_MIN):
        _ask_for_count(held, is_first=rows is None)
    counted = _Counted(rows, mean_length) if is_counted else None
    return counted, dict(zip(lexemes or (), records or (), strict=True))


def _ask_for_count(held: RecordScope, *, is_first: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(*((_ASK, [held.id, held.project_id]) if is_first else (_ASK_AGAIN, [held.id])))
        if cursor.rowcount:
            jobs.enqueue(COUNT, held.id.hex)


def _add_alike(held: RecordScope, counted: _Counted, lexemes: Mapping[str, int | None]) -> Statistics:
    """With the words in place of those that the scope does not hold: they may be typing errors."""
    counts: dict[str, int] = {}
    weights: dict[str, float] = {}
    alike = _find_alike(held, [lexeme for lexeme, records in lexemes.items() if records is None])
    for lexeme, records in lexemes.items():
        for term, share, held_by in alike.get(lexeme, ()):
            if term not in lexemes:
                counts[term], weights[term] = held_by, max(share, weights.get(term, 0))
        counts.setdefault(lexeme, records or 1)
    return Statistics(counted.rows, counted.mean_length, counts, weights)


def _find_alike(held: RecordScope, missing: Sequence[str]) -> dict[str, list[tuple[str, float, int]]]:
    """(word, how much alike, records that hold it) by lexeme. The first letter of a word is seldom wrong."""
    found: dict[str, list[tuple[str, float, int]]] = {}
    if not missing:
        return found
    each = {
        "lexemes": list(missing),
        "quoted": [ranking.quote(lexeme) for lexeme in missing],
        "firsts": [lexeme[0] for lexeme in missing],
        "lasts": [f"{lexeme[0]}\U0010ffff" for lexeme in missing],
    }
    values = each | {"scope": held.id, "alike": ALIKE_MIN, "limit": ALIKE_WORDS_MAX}
    for lexeme, term, share, records in _rows(_ALIKE, values):
        found.setdefault(lexeme, []).append((term, share, records))
    return found


@atomic
def count_records(scope_id: UUID) -> None:
    """A job: count a scope, unless it changed little since. Who forgets in it waits, so that no forgotten word is kept."""
    held = RecordScope.objects.select_for_update(no_key=True).filter(id=scope_id).first()
    if held is None:
        return
    allow_seconds(COUNT_SECONDS_MAX)
    [(records, mean_length)] = _rows(_SIZE, [scope_id])
    known = _rows("SELECT records FROM providers_recordstatistics WHERE scope_id = %s", [scope_id])
    if not known or abs(records - known[0][0]) <= COUNT_AGAIN_SHARE * known[0][0]:
        return
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM providers_recordterm WHERE scope_id = %s", [scope_id])
        cursor.execute(_COUNT, {"scope": scope_id, "project": held.project_id})
        cursor.execute(_KEEP, [records, mean_length, scope_id])


def _rows(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
