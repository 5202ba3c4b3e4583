"""Where a long text is cut: nothing is lost, nothing is longer than a passage, and few of them end within a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.embedding.passages import PASSAGE_LENGTH_MAX, cut_passages


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(st.text(max_size=4 * PASSAGE_LENGTH_MAX) | st.text("ab .\n。", min_size=400, max_size=3_000))
def test_all_of_a_text_is_in_its_passages(text: str) -> None:
    passages = cut_passages(text)
    assert squeezed("".join(passages)) == squeezed(text)
    assert passages and all(len(one) <= PASSAGE_LENGTH_MAX for one in passages)


@pytest.mark.parametrize("length", [0, 1, PASSAGE_LENGTH_MAX])
def test_a_short_text_is_one_passage_as_it_is(length: int) -> None:
    assert cut_passages(" " * length) == [" " * length]
    assert cut_passages("a" * length) == ["a" * length]


def test_one_character_more_makes_two_of_about_the_same_length() -> None:
    assert [len(one) for one in cut_passages("a" * (PASSAGE_LENGTH_MAX + 1))] == [251, 250]


@pytest.mark.parametrize("end", [".\n", ". ", " ", "。"])
def test_a_passage_ends_where_a_line_a_sentence_or_a_word_does(end: str) -> None:
    sentence = "b" * 40 + end
    passages = cut_passages(sentence * 30)
    assert len(passages) == 3 and all(one.endswith(end.strip() or "b") for one in passages)
    assert all(len(one) % len(sentence) in (0, len(sentence.rstrip())) for one in passages)


def test_a_line_is_a_better_end_than_a_sentence_and_that_than_a_word() -> None:
    text = "One word. " * 35 + "\n" + "One word. " * 60
    assert cut_passages(text)[0].endswith("One word.") and len(cut_passages(text)[0]) <= 350
