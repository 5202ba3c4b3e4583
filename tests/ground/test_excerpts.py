from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.excerpts import (
    CANDIDATES_PER_LEXEME_MAX,
    EXCERPT_LENGTH_MAX,
    HIGHLIGHTS_MAX,
    Excerpt,
    cut_excerpt,
    find_candidates,
)


def cut(text: str, *lexemes: str, refused: Sequence[str] = ()) -> Excerpt:
    candidates = find_candidates(text, lexemes)
    words: Mapping[str, Sequence[str]] = {
        c.word: [] if c.word in refused else list(lexemes) for c in candidates
    }
    return cut_excerpt(text, candidates, words)


def marked(excerpt: Excerpt) -> list[str]:
    return [excerpt.text[start:end] for start, end in excerpt.highlights]


@pytest.mark.parametrize(
    ("text", "lexeme", "found"),
    [
        ("Happy and happily", "happi", ["Happy", "happily"]),
        ("a study, studying", "studi", ["study", "studying"]),
        ("unhappy", "happi", []),
        ("parse_config configFile CONFIG reconfigure", "config", ["config", "config", "CONFIG"]),
        ("parseConfigFile", "config", ["Config"]),
        ("crème CRÈME", "creme", ["crème", "CRÈME"]),
        ("全文検索エンジン", "検索", ["検索"]),
        ("İstanbul zebra", "zebra", ["zebra"]),
        ("C is c, not cc", "c", ["C", "c"]),
    ],
)
def test_words_are_marked_as_they_stand(text: str, lexeme: str, found: list[str]) -> None:
    assert marked(cut(text, lexeme, refused=["cc"])) == found


def test_overlapping_marks_become_one() -> None:
    assert marked(cut("全文検索", "文検", "検索")) == ["文検索"]


def test_a_text_without_a_mark_shows_its_beginning() -> None:
    text = "one two three " * 100
    excerpt = cut(text, "zebra")
    assert excerpt.offset == 0
    assert excerpt.highlights == []
    assert text.startswith(excerpt.text)
    assert EXCERPT_LENGTH_MAX - 60 < len(excerpt.text) <= EXCERPT_LENGTH_MAX
    assert not excerpt.text.endswith("thr")


def test_the_place_with_the_most_words_is_shown() -> None:
    text = "zebra zebra zebra " + "hay " * 500 + "a zebra and a horse " + "hay " * 500
    excerpt = cut(text, "zebra", "hors")
    assert marked(excerpt) == ["zebra", "horse"]
    assert text[excerpt.offset :].startswith(excerpt.text)
    assert not text[excerpt.offset - 1].strip()


def test_marks_are_bounded() -> None:
    text = "ab cd " * 60
    excerpt = cut(text, "ab", "cd")
    assert len(find_candidates(text, ["ab", "cd"])) == 2 * CANDIDATES_PER_LEXEME_MAX
    assert len(excerpt.highlights) == HIGHLIGHTS_MAX


@given(st.text(), st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5), max_size=4))
def test_any_text_gives_an_excerpt_of_itself(text: str, lexemes: list[str]) -> None:
    excerpt = cut(text, *lexemes)
    assert text[excerpt.offset :].startswith(excerpt.text)
    assert len(excerpt.text) <= EXCERPT_LENGTH_MAX
    low = 0
    for start, end in excerpt.highlights:
        assert low <= start < end <= len(excerpt.text)
        low = end


@given(st.text(min_size=300, max_size=900).map(lambda text: text + " zebra " + text))
def test_the_mark_of_a_long_text_is_inside_its_excerpt(text: str) -> None:
    assert "zebra" in [word.lower() for word in marked(cut(text, "zebra"))]
