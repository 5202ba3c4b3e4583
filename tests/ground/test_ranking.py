"""Words are pure; the statement is tried on a table of its own."""

import math
import string
import uuid
from typing import Any

import pytest
from django.db import connection
from django.db.transaction import atomic
from hypothesis import given
from hypothesis import strategies as st

from memoryhub import ranking
from memoryhub.ranking import (
    QUERY_LEXEMES_MAX,
    WORDS_BYTES_MAX,
    IndexTable,
    Wanted,
    asks,
    rank_statement,
    read_operators,
    words,
)

TABLE = IndexTable("ranked", key="id")
THREADED = IndexTable("ranked", key="id", threaded=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("Two  Words.", "two words"),
        ("src/app/main_loop.py", "src app main loop py srcappmainlooppy mainloop mainlooppy"),
        ("parse_config_file", "parse config file parseconfigfile"),
        ("parseConfigFile", "parse config file parseconfigfile"),
        ("HTTPServer", "http server httpserver"),
        ("PDFs", "pdfs"),
        ("sha256", "sha256"),
        ("well-known", "well known wellknown"),
        ("std::vector", "std vector stdvector"),
        ("ann@mail.example.com", "ann mail example com annmailexamplecom mailexamplecom"),
        ("Caroline's don't we'll", "caroline don we"),
        ("f'name' O'Brien", "f name o brien"),
        ("Crème BRÛLÉE re\u0301sume\u0301 Straße", "creme brulee resume strasse"),
        ("全文検索", "全文 文検 検索"),
        ("Python入門", "python 入門"),
        ("検索 と", "検索 と"),
        ("ａｂｃ", "abc"),
    ],
)
def test_text_becomes_words(text: str, found: str) -> None:
    assert words(text) == found


SEPARATORS = ' \n\t.,;:!?()[]{}<>/\\@#+-_=*&^%$~`|"—…・「」'


@given(
    st.lists(
        st.tuples(
            st.text(string.ascii_letters + string.digits, min_size=1, max_size=200),
            st.text(SEPARATORS, min_size=1),
        ),
        max_size=30,
    )
)
def test_every_ascii_word_of_a_text_is_found_by_itself(parts: list[tuple[str, str]]) -> None:
    found = set(words("".join(word + separator for word, separator in parts)).split())
    for word, _ in parts:
        assert set(words(word).split()) <= found


@given(st.text())
def test_words_take_any_text_and_give_plain_words(text: str) -> None:
    found = words(text)
    assert all(word.isalnum() and word == word.casefold() for word in found.split(" ") if found)


@given(st.text())
def test_operators_take_any_query(query: str) -> None:
    operators = read_operators(query)
    assert operators.words_count <= len(query) * 18  # one character may stand for a phrase
    assert "'" not in operators.text


@pytest.mark.parametrize(
    ("query", "text", "wanted"),
    [
        ("alpha beta", '"alpha" "beta"', "alpha beta"),
        ('"alpha beta" -gamma', '"alpha beta" -"gamma"', "alpha beta"),
        ("alpha OR main.py", '"alpha" or "main py"', "alpha main py mainpy"),
        ('-"alpha beta" - "" "open', '-"alpha beta" "open"', "open"),
        ("", "", ""),
    ],
)
def test_operators_are_read(query: str, text: str, wanted: str) -> None:
    operators = read_operators(query)
    assert (operators.text, operators.wanted) == (text, wanted)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 102_400,
        "aB" * 51_200,
        "a_" * 51_200,
        " ".join(f"{n:05x}" for n in range(17_000)),
        " ".join(f"{n:x}/{n:x}.{n:x}_q" for n in range(6_000)),
        "".join(chr(0x4E00 + n % 20_000) for n in range(34_133)),
        "\ufdfa " * 25_600,
        "é" * 51_200,
    ],
    ids=["one word", "humps", "joints", "distinct", "names", "han", "ligatures", "accents"],
)
def test_the_largest_texts_fit_a_tsvector(db: None, text: str) -> None:
    found = words(text)
    assert len(found.encode()) <= WORDS_BYTES_MAX
    assert all(len(word.encode()) <= 2_046 for word in found.split())
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(setweight(to_tsvector('english', %s), 'A'))", [found])
        assert cursor.fetchone()[0] >= 1


def test_words_at_their_limit_of_distinct_bytes_fit_a_tsvector(db: None) -> None:
    digits = string.ascii_lowercase + string.digits
    shortest = " ".join(a + b + c for a in digits for b in digits for c in digits + digits.upper())
    longest = " ".join(f"{n:0128d}" for n in range(2_100))
    for text in (f"{shortest} " * 2, longest):
        found = words(text)
        assert len(found.encode()) <= WORDS_BYTES_MAX
        with connection.cursor() as cursor:
            cursor.execute("SELECT length(to_tsvector('english', %s))", [found])
            assert cursor.fetchone()[0] > 2_000


@pytest.fixture
def rows(db: None) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE ranked (id int PRIMARY KEY, scope text, thread int, position int, author text,"
            " is_question bool, length int, terms tsvector, UNIQUE (thread, position)) ON COMMIT DROP"
        )
        yield cursor


def write(
    cursor: Any, *texts: str, scope: str = "s", thread: int = 1, author: str = "", label: str = "D"
) -> None:
    for text in texts:
        cursor.execute(
            """INSERT INTO ranked SELECT (SELECT count(*) FROM ranked), %s, %s, (SELECT count(*) FROM ranked), %s, %s,
               coalesce((SELECT sum(cardinality(positions)) FROM unnest(terms)), 0), setweight(terms, %s)
               FROM to_tsvector('english', %s) AS terms""",
            [scope, thread, words(author), asks(text), label, words(text)],
        )


def rank(
    cursor: Any, query: str, *, scope: str = "s", table: IndexTable = TABLE, limit: int = 10
) -> list[tuple[int, float]]:
    cursor.execute(ranking.LEXEMES, [words(query), QUERY_LEXEMES_MAX])
    wanted = Wanted([lexeme for (lexeme,) in cursor.fetchall()], names=words(query).split())
    statement = rank_statement(table, wanted, scope="scope = %(scope)s", values={"scope": scope}, limit=limit)
    cursor.execute(*statement)
    return list(cursor.fetchall())


def order(*arguments: Any, **options: Any) -> list[int]:
    return [key for key, _ in rank(*arguments, **options)]


def test_a_rare_word_counts_more_than_common_ones(rows: Any) -> None:
    write(rows, "ship the ship to the port", "port and ship", "ship port zebra hay hay hay", "ship port hay")
    assert order(rows, "ship port zebra")[0] == 2


def test_a_short_text_stands_before_a_long_one_of_the_same_words(rows: Any) -> None:
    write(rows, "zebra " + "hay straw " * 30, "zebra hay", "hay")
    assert order(rows, "zebra") == [1, 0]


def test_more_mentions_stand_before_fewer_and_saturate(rows: Any) -> None:
    write(rows, "zebra hay straw oats", "zebra zebra straw oats", "hay straw oats rye")
    (first, high), (second, low) = rank(rows, "zebra")
    assert (first, second) == (1, 0)
    assert 1.2 < high / low < 1.3


def test_a_word_with_a_label_counts_twice(rows: Any) -> None:
    write(rows, "zebra hay")
    write(rows, "zebra hay", label="A")
    write(rows, "hay straw")
    (first, high), (second, low) = rank(rows, "zebra")
    assert (first, second) == (1, 0)
    assert high == pytest.approx(2 * low)


def test_equal_scores_put_the_latest_first(rows: Any) -> None:
    write(rows, "zebra one", "zebra two", "zebra six")
    assert order(rows, "zebra") == [2, 1, 0]
    assert order(rows, "zebra", limit=2) == [2, 1]


def test_the_score_is_bm25(rows: Any) -> None:
    """Two of three rows hold the word; this one has 4 of on average 3 positions."""
    write(rows, "zebra hay straw oats", "zebra hay", "rye straw oats")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    scores = dict(rank(rows, "zebra"))
    assert scores[0] == pytest.approx(idf / (0.526 + 0.474 * (0.25 + 0.75 * 4 / 3)), rel=1e-5)


def test_counts_are_of_the_scope_alone(rows: Any) -> None:
    write(rows, "zebra hay", "hay straw", scope="s")
    before = rank(rows, "zebra hay")
    write(rows, *["zebra zebra " + "straw " * 50] * 40, scope="other")
    assert rank(rows, "zebra hay") == before


def test_a_query_without_lexemes_gives_the_latest(rows: Any) -> None:
    write(rows, "one hay", "two hay", "six hay")
    assert rank(rows, "who am I?", limit=2) == [(2, 0.0), (1, 0.0)]


def test_quotes_and_backslashes_in_a_lexeme_are_text(rows: Any) -> None:
    write(rows, "hay")
    for lexeme in ("it's", "back\\slash", "'", "\\", "a | b", "%s", "!x", "a:*"):
        statement = rank_statement(TABLE, Wanted([lexeme]), scope="true", values={}, limit=5)
        rows.execute(*statement)
        assert rows.fetchall() == []


def test_a_filter_is_kept_and_does_not_change_the_scores(rows: Any) -> None:
    write(rows, "zebra hay", "zebra straw", "oats")
    scores = dict(rank(rows, "zebra"))
    wanted = Wanted(["zebra"], filter="'zebra' & !'straw'")
    rows.execute(*rank_statement(TABLE, wanted, scope="scope = 's'", values={}, limit=5))
    assert rows.fetchall() == [(0, scores[0])]


def test_a_filter_may_match_without_any_lexeme(rows: Any) -> None:
    write(rows, "zebra hay", "straw", "zebra straw")
    wanted = Wanted(["zebra"], filter="'zebra' | !'straw'")
    rows.execute(*rank_statement(TABLE, wanted, scope="scope = 's'", values={}, limit=5))
    assert {key for key, _ in rows.fetchall()} == {0, 2}
    rows.execute(*rank_statement(TABLE, Wanted([], filter="!'straw'"), scope="true", values={}, limit=5))
    assert rows.fetchall() == [(0, 0.0)]


def test_neighbours_in_a_thread_gain_most_right_after_a_hit(rows: Any) -> None:
    write(rows, "oats", "rye", "hay", "zebra", "straw", "corn", "bran", "malt")
    write(rows, "barley", thread=2)
    scores = dict(rank(rows, "zebra", table=THREADED))
    assert list(scores) == [3, 4, 2, 5, 1, 6, 0]
    assert scores[4] == pytest.approx(0.6 * scores[3])
    assert scores[2] == pytest.approx(0.4 * scores[3])


def test_no_neighbour_is_of_another_scope(rows: Any) -> None:
    write(rows, "zebra")
    write(rows, "straw", scope="other")
    assert order(rows, "zebra", table=THREADED) == [0]


def test_a_named_author_counts_half_more(rows: Any) -> None:
    write(rows, "zebra hay", thread=1, author="Bo")
    write(rows, "zebra hay", thread=2, author="Ann Lee")
    write(rows, "zebra hay", thread=3, author="Carol")
    (first, high), (_, low), _ = rank(rows, "did ann see the zebra", table=THREADED)
    assert first == 1
    assert high == pytest.approx(1.5 * low)
    assert order(rows, "bo zebra", table=THREADED) == [2, 1, 0]  # two letters name nobody


def test_a_question_counts_less_and_gives_its_neighbours_as_much(rows: Any) -> None:
    write(rows, "Where is the zebra?", "In the barn, as ever.", thread=1)
    write(rows, "There is the zebra.", "In the barn, as ever.", thread=2)
    scores = dict(rank(rows, "zebra", table=THREADED))
    assert list(scores) == [2, 0, 3, 1]
    assert scores[0] == pytest.approx(0.75 * scores[2])
    assert scores[1] == pytest.approx(scores[3])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Where?", True),
        ("Where? \n", True),
        ("哪里？", True),
        ("أين؟", True),
        ("Where? There.", False),
        ("", False),
    ],
)
def test_what_ends_in_a_question_mark_asks(text: str, is_one: bool) -> None:
    assert asks(text) is is_one


@pytest.mark.parametrize(
    ("table", "key", "scope"),
    [
        ("providers_recordindex", "record_id", "scope_id = %(scope)s"),
        ("stores_memoryindex", "memory_id", "environment_id = %(scope)s AND store_id = %(scope)s"),
    ],
)
def test_words_are_looked_up_by_words_and_lengths_by_their_index(
    db: None, table: str, key: str, scope: str
) -> None:
    """In a table of many scopes a planner takes the index of lengths for cheap, and reads a whole scope by it."""
    statement, values = ranking.rank_statement(
        IndexTable(table, key=key), Wanted(["tea"]), scope=scope, values={"scope": uuid.uuid4()}, limit=5
    )
    with atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    words, _, lengths = plan.partition("CTE size")
    assert "_lengths" not in words and "_lengths" in lengths
