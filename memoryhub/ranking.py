"""How search ranks: the words that a text is known by, and BM25 over their lexemes as one PostgreSQL statement.

A room keeps a narrow index table, one row for each thing that can be found. `terms` is
`to_tsvector('english', words(text))` and `length` the number of its positions. The score of a row is

    sum over the query's lexemes of  idf * tf / (0.526 + 0.474 * (1 - b + b * length / mean length))

with idf = ln(1 + (rows - df + 1/2) / (df + 1/2)). `tf` comes from `ts_rank` of one lexeme, which is
(1 + 1/4 + 1/9 + ...) / 1.645 by its count: BM25 with k1 = 0.9 but for the curve of tf. Everything is counted within
the scope that is searched, so a score says nothing of what the caller may not see. Where that takes too long, in a scope of
very many rows, a room counts them beforehand: see `Statistics`.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

QUERY_LENGTH_MAX = 1_000
QUERY_LEXEMES_MAX = 64
WORD_LENGTH_MAX = 128
# A tsvector holds 1,048,575 bytes: a lexeme takes its own and at most 5 more, and has a space after it here.
WORDS_BYTES_MAX = 262_144

# Written without spaces between words, so that only pairs of characters can be looked up: Thai, Lao, Burmese,
# Khmer, kana, Han, Hangul.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CONTRACTIONS = re.compile(r"(?<=[^\W_])['’](?:s|t|m|d|ll|re|ve)\b", re.IGNORECASE)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_JOINT = re.compile(r"::|__|[-_./@:\\+#]")
_TOKEN = re.compile(rf"[^\W_]+(?:(?:{_JOINT.pattern})[^\W_]+)*")
# In `src/app/main_loop.py`: what is named within a path, and within that without its ending.
_FILES = re.compile(r"[^\W_]+(?:(?:__|[-_.+#])[^\W_]+)+")
_STEMS = re.compile(r"[^\W_]+(?:(?:__|[-_+#])[^\W_]+)+")
_SIMPLE = re.compile(rf"[A-Z]?[^\W_A-Z{UNSPACED}]{{0,{WORD_LENGTH_MAX - 1}}}|[A-Z]{{1,{WORD_LENGTH_MAX}}}")
_RUNS = re.compile(rf"([{UNSPACED}]+)|[^{UNSPACED}]+")
_HAS_HUMPS = re.compile(r"[a-z][0-9]*[A-Z]|[A-Z]{2}[a-z]{2}")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_OPERAND = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')

LENGTH_SHARE = 0.75  # b: how much more a long text must say
# ts_rank's weights of the labels D, C, B, A: a position with the label A, as of a path or a title, counts twice.
LABEL_WEIGHTS, TF_SCALE = "{0.5,0.5,0.5,1}", 2 * 1.644934
OWN_ROWS_MAX = 500  # the best rows, which go on to their neighbours' and author's part
PLACES_MAX = 100  # and the best places, in the end: one whose author the query names gains half of its score
# In a scope that was counted: how many rows a search reads, about, and how many of them go on. Its rarest lexemes find them; the
# others only score. What stands near the best places is scored whole then, so that few rows suffice.
READ_ROWS_SHARE, READ_ROWS_MIN, COUNTED_OWN_ROWS_MAX = 0.02, 500, 300
RARE_LEXEMES_MIN = 2
# What a row gives to those before and after it in its thread: an answer follows its question.
NEIGHBOUR_WEIGHTS = {-3: 0.064, -2: 0.16, -1: 0.4, 0: 1.0, 1: 0.6, 2: 0.3, 3: 0.15}
AUTHOR_FACTOR = 1.5
AUTHOR_NAME_LENGTH_MIN = 3
# A short row of a thread that asks something knows less than the answers beside it, which have its words as neighbours.
QUESTION_FACTOR, QUESTION_LENGTH_MAX = 0.75, 24
QUESTION_MARKS = ("?", "\uff1f", "\u061f")

# A condition that every row meets. The index of (scope, length) holds the rows that meet it, so it is for those who say so: who
# asks for words would be planned to read a whole scope of it, in a table of many scopes.
EVERY_ROW = "length >= 0"
# Of normalised words, and how many at most: their lexemes, in order.
LEXEMES = """
SELECT lexeme FROM unnest(to_tsvector('english', %s)) ORDER BY positions[1], lexeme LIMIT %s
"""
# Of the text of `Operators`: the tsquery, empty when it holds only stop words.
OPERATOR_FILTER = "SELECT websearch_to_tsquery('english', %s)::text"
# Of many normalised words: each, and its lexemes.
LEXEMES_BY_WORD = """
SELECT word, tsvector_to_array(to_tsvector('english', word)) FROM unnest(%s::text[]) AS word
"""


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A table with the columns `key`, `length` and `terms`, and those that scopes name.

    `threaded`: it also has `thread` and `position`, unique together, `author` in normalised words, and `is_question`. A
    row then gains from its neighbours in the thread, and when the query names its author; a question loses.
    """

    name: str
    key: str
    threaded: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for: `lexemes` score; a row must match `filter`, a tsquery, or without one any of the lexemes.

    `names`: words of the query that may be an author's.
    """

    lexemes: Sequence[str]
    filter: str | None = None
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was counted of a scope. `counts`: lexeme -> rows that hold it; one that is missing counts as held by one.

    It may be older than the rows: an idf moves slowly. `weights`: of lexemes that stand for others, beside 1.
    """

    rows: int
    mean_length: float
    counts: Mapping[str, int]
    weights: Mapping[str, float]

    def idf(self, lexeme: str) -> float:
        rows = self.counts.get(lexeme, 1)
        rest = max(self.rows - rows, 0)
        return self.weights.get(lexeme, 1.0) * math.log(1 + (rest + 0.5) / (rows + 0.5))

    def rare(self, lexemes: Sequence[str]) -> list[str]:
        """Those that find rows: the rarest, as many as may be read."""
        left = max(READ_ROWS_MIN, READ_ROWS_SHARE * self.rows)
        found: list[str] = []
        for lexeme in sorted(lexemes, key=lambda lexeme: self.counts.get(lexeme, 1)):
            left -= self.counts.get(lexeme, 1)
            if left < 0 and len(found) >= RARE_LEXEMES_MIN:
                break
            found.append(lexeme)
        return found


@dataclass(frozen=True, slots=True)
class Operators:
    """A query with operators: `text` for websearch_to_tsquery, `wanted` the words that are not negated."""

    text: str
    wanted: str
    words_count: int


def words(text: str) -> str:
    """The words of a text or a query, in lower case without accents, one space apart.

    First all simple words in their order, with names taken apart (paths, hosts, snake_case, hyphens, CamelCase) and
    unspaced scripts as overlapping pairs; then each of those names whole, its joints removed: a text that holds
    `app/main.py` is found by each of `main`, `main.py` and `app/main.py`, and best by the longest. Never fails; a
    text of more than WORDS_BYTES_MAX bytes of words loses the last.
    """
    simple, whole = _find_words(text)
    return _fold(simple + whole)


def _fold(found: list[str]) -> str:
    return " ".join(found).casefold().encode()[:WORDS_BYTES_MAX].decode(errors="ignore")


def _find_words(text: str) -> tuple[list[str], list[str]]:
    """(simple words, whole names), in the case they have."""
    simple: list[str] = []
    whole: list[str] = []
    for token in _TOKEN.findall(_CONTRACTIONS.sub("", _without_accents(text))):
        if _SIMPLE.fullmatch(token):
            simple.append(token)
        else:
            _take_apart(token, simple, whole)
    return simple, whole


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def _take_apart(token: str, simple: list[str], whole: list[str]) -> None:
    pieces = _JOINT.split(token)
    for piece in pieces:
        if _SIMPLE.fullmatch(piece):
            simple.append(piece)
        else:
            _take_piece(piece, simple, whole)
    if len(pieces) > 1:
        whole.append("".join(pieces)[:WORD_LENGTH_MAX])
    if len(pieces) > 2:
        names = {name for name in (*_FILES.findall(token), *_STEMS.findall(token)) if name != token}
        whole += sorted(_JOINT.sub("", name)[:WORD_LENGTH_MAX] for name in names)


def _take_piece(piece: str, simple: list[str], whole: list[str]) -> None:
    for run in _RUNS.finditer(piece):
        text = run[0]
        if run[1]:
            simple += [text[index : index + 2] for index in range(max(1, len(text) - 1))]
        elif _HAS_HUMPS.search(text):
            simple += [hump[:WORD_LENGTH_MAX] for hump in _HUMPS.findall(text)]
            whole.append(text[:WORD_LENGTH_MAX])
        else:
            simple.append(text[:WORD_LENGTH_MAX])


def asks(text: str) -> bool:
    """Whether it ends in a question mark, of Latin, Chinese or Arabic script."""
    return text.rstrip().endswith(QUESTION_MARKS)


def read_operators(query: str) -> Operators:
    """`"a phrase"`, `-without`, `or`; every other word must be there. Names are taken apart as in `words`."""
    operands, wanted, count = [], [], 0
    for sign, quoted, bare in _OPERAND.findall(query):
        if bare.lower() == "or" and not sign:
            operands.append("or")
            continue
        simple = _fold(_find_words(quoted or bare)[0])
        count += len(simple.split())
        if simple:
            operands.append(f'{sign}"{simple}"')
            wanted += [] if sign else [words(quoted or bare)]
    return Operators(" ".join(operands), " ".join(wanted), count)


def rank_statement(
    table: IndexTable,
    wanted: Wanted,
    *,
    scope: str,
    values: dict[str, Any],
    limit: int,
    statistics: Statistics | None = None,
) -> tuple[str, dict[str, Any]]:
    """SQL and its values. Its rows are (key, score), best first; of equal ones the latest key.

    `scope` is a condition over the table's columns, with `values` for its parameters. Without lexemes every row that
    the filter allows has the score 0. `statistics`: of the scope, for a query of words.
    """
    values = {**values, **_lexeme_values(wanted), "limit": limit}
    if statistics is not None and wanted.lexemes:
        assert wanted.filter is None, "a filter counts for itself"
        assert table.threaded, "who counts a scope keeps threads"
        found = _counted_scores(table, wanted, scope)
        values |= _statistic_values(wanted, statistics) | _spread_values(wanted)
        return f"{found} ORDER BY score DESC, {table.key} DESC LIMIT %(limit)s", values
    where = f"{scope} AND {_matching(wanted)}"
    if not wanted.lexemes:
        found = f"SELECT {table.key}, 0::float8 AS score FROM {table.name} WHERE {where}"  # noqa: S608 - names of columns
    else:
        found = _own_scores(table, wanted, scope, where) + _final_scores(table, scope)
        values |= _spread_values(wanted) if table.threaded else {}
    return f"{found} ORDER BY score DESC, {table.key} DESC LIMIT %(limit)s", values


def quote(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _statistic_values(wanted: Wanted, statistics: Statistics) -> dict[str, Any]:
    idfs = {f"idf{n}": statistics.idf(lexeme) for n, lexeme in enumerate(wanted.lexemes)}
    rare = [quote(lexeme) for lexeme in statistics.rare(wanted.lexemes)]
    shares = [NEIGHBOUR_WEIGHTS[away] for away in sorted(NEIGHBOUR_WEIGHTS)]
    known = {"mean": statistics.mean_length, "own_rows": COUNTED_OWN_ROWS_MAX, "shares_in_order": shares}
    return idfs | known | {"any": " | ".join(rare)}


def _lexeme_values(wanted: Wanted) -> dict[str, Any]:
    quoted = [quote(lexeme) for lexeme in wanted.lexemes]
    each = {f"lexeme{n}": lexeme for n, lexeme in enumerate(quoted)}
    return {**each, "any": " | ".join(quoted), "filter": wanted.filter, "own_rows": OWN_ROWS_MAX}


def _matching(wanted: Wanted) -> str:
    """Rows without any of the lexemes still match a filter such as `a OR -b`."""
    queries = ["%(any)s::tsquery"] if wanted.lexemes else []
    queries += ["%(filter)s::tsquery"] if wanted.filter else []
    return f"terms @@ ({' || '.join(queries)})" if queries else "true"


def _own_scores(table: IndexTable, wanted: Wanted, scope: str, where: str) -> str:
    """Every row that has a lexeme is read, so the counts of rows by lexeme (df) are exact and need no table."""
    columns = range(len(wanted.lexemes))
    place = ", thread, position" if table.threaded else ""
    kept = "boxed[1] @@ %(filter)s::tsquery" if wanted.filter else "true"
    ranks = ", ".join(
        f"ts_rank('{LABEL_WEIGHTS}', boxed[1], %(lexeme{n})s::tsquery) AS rank{n}" for n in columns
    )
    counts = ", ".join(f"count(*) FILTER (WHERE rank{n} > 0) AS df{n}" for n in columns)
    idfs = ", ".join(f"ln(1 + (total - df{n} + 0.5) / (df{n} + 0.5)) AS idf{n}" for n in columns)
    tf_idf = " + ".join(f"idf{n} * rank{n}" for n in columns)
    # The array holds a long `terms` in memory: each ts_rank would fetch it again from beside the table.
    return f"""
WITH found AS (
    SELECT {table.key}{place}, length, ARRAY[terms] AS boxed FROM {table.name} WHERE {where} OFFSET 0
), scanned AS MATERIALIZED (
    SELECT {table.key}{place}, length, {kept} AS kept, {ranks} FROM found
), size AS MATERIALIZED (
    SELECT count(*)::float8 AS total, greatest(avg(length), 1)::float8 AS mean
      FROM {table.name} WHERE {scope} AND {EVERY_ROW}
), weight AS MATERIALIZED (
    SELECT {idfs} FROM (SELECT {counts} FROM scanned) AS counted, size
), own AS MATERIALIZED (
    SELECT {table.key}{place}, {_score(tf_idf, "mean")} AS score
      FROM scanned, weight, size WHERE kept ORDER BY score DESC, {table.key} DESC LIMIT %(own_rows)s
)"""  # noqa: S608 - names of columns and numbers; every value is a parameter


def _score(tf_idf: str, mean: str) -> str:
    share = f"{1 - LENGTH_SHARE} + {LENGTH_SHARE} * length::float8 / {mean}"
    return f"{TF_SCALE} * ({tf_idf}) / (0.526 + 0.474 * ({share}))"


def _counted_scores(table: IndexTable, wanted: Wanted, scope: str) -> str:
    """The rows that have one of the rarer lexemes, and no others, are read; and then those about the best places."""
    tf_idf = " + ".join(
        f"%(idf{n})s::float8 * ts_rank('{LABEL_WEIGHTS}', boxed[1], %(lexeme{n})s::tsquery)"
        for n in range(len(wanted.lexemes))
    )
    score = _score(tf_idf, "%(mean)s::float8")
    return f"""
WITH found AS (
    SELECT {table.key}, thread, position, length, ARRAY[terms] AS boxed FROM {table.name}
     WHERE {scope} AND terms @@ %(any)s::tsquery OFFSET 0
), own AS MATERIALIZED (
    SELECT {table.key}, thread, position, {score} AS score FROM found ORDER BY score DESC, {table.key} DESC LIMIT %(own_rows)s
){_rescored(table, scope, score)}"""  # noqa: S608 - names of columns and numbers; every value is a parameter


_PLACES = """, place AS (
    SELECT thread, position + away AS position, sum(score * share) AS score
      FROM own CROSS JOIN unnest(%(away)s::int[], %(shares)s::float8[]) AS neighbour (away, share)
     GROUP BY 1, 2 ORDER BY 3 DESC LIMIT %(places)s
)"""
# By what a row's score is multiplied: of a table with threads, with `names` of the query.
FACTOR = f"""(CASE WHEN string_to_array(author, ' ') && %(names)s::text[] THEN {AUTHOR_FACTOR}::float8 ELSE 1 END
       * CASE WHEN is_question THEN {QUESTION_FACTOR}::float8 ELSE 1 END)"""


def _rescored(table: IndexTable, scope: str, score: str) -> str:
    """Each place by all that stands about it, whatever found it."""
    before, after = -min(NEIGHBOUR_WEIGHTS), max(NEIGHBOUR_WEIGHTS)
    return f"""{_PLACES}, named AS (
    SELECT {table.key}, whole * {FACTOR} AS score
      FROM place CROSS JOIN LATERAL (
           SELECT sum((%(shares_in_order)s::float8[])[place.position - position + {before + 1}] * {score}) AS whole,
                  any_value({table.key}) FILTER (WHERE position = place.position) AS {table.key},
                  any_value(author) FILTER (WHERE position = place.position) AS author,
                  bool_or(is_question) FILTER (WHERE position = place.position) AS is_question
             FROM (SELECT {table.key}, author, is_question, position, length, ARRAY[terms] AS boxed FROM {table.name}
                    WHERE thread = place.thread AND {scope}
                      AND position BETWEEN place.position - {after} AND place.position + {before} OFFSET 0) AS near
           ) AS beside
     WHERE {table.key} IS NOT NULL
)
SELECT {table.key}, score FROM named"""  # noqa: S608 - names and numbers


def _final_scores(table: IndexTable, scope: str) -> str:
    """LATERAL: few places are looked up one by one, where a planner might read the whole scope instead."""
    if not table.threaded:
        return f" SELECT {table.key}, score FROM own"  # noqa: S608 - a name
    return f"""{_PLACES}, named AS (
    SELECT {table.key}, score * {FACTOR} AS score
      FROM place CROSS JOIN LATERAL (
           SELECT {table.key}, author, is_question FROM {table.name}
            WHERE thread = place.thread AND position = place.position AND {scope} LIMIT 1) AS beside
)
SELECT {table.key}, score FROM named"""  # noqa: S608 - names and a number


def _spread_values(wanted: Wanted) -> dict[str, Any]:
    return {
        "away": list(NEIGHBOUR_WEIGHTS),
        "shares": list(NEIGHBOUR_WEIGHTS.values()),
        "places": PLACES_MAX,
        "names": [name for name in wanted.names if len(name) >= AUTHOR_NAME_LENGTH_MIN],
    }
