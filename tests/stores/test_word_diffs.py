"""The difference that people read: true whatever the texts are, word by word where it helps, bounded in its work."""

import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import word_diffs
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.word_diffs import ROWS_SHOWN_MAX, Fold, Row, WordDifference, diff_words

TEXTS = st.lists(
    st.sampled_from(
        ["one", "two", "three", " ", "  ", "\n", "\n", ",", ".", "\r\n", "\u2028", "_", "é", "日本"]
    ),
    max_size=40,
).map("".join)


def side(difference: WordDifference, operation: str) -> str:
    """The text of one side, from the rows."""
    return "".join(
        row.text for row in difference.rows if isinstance(row, Fold) or row.operation in ("equal", operation)
    )


def said(difference: WordDifference) -> list[str]:
    """Each row with its sign, changed words in brackets; a fold by the count of its lines."""
    signs = {"equal": " ", "delete": "-", "insert": "+"}
    lines = []
    for row in difference.rows:
        if isinstance(row, Fold):
            lines.append(f"… {len(row.lines)}")
        else:
            parts = [f"[{part.text}]" if part.is_changed else part.text for part in row.parts]
            lines.append(signs[row.operation] + "".join(parts).replace("\n", ""))
    return lines


@given(TEXTS, TEXTS)
def test_the_rows_give_both_texts_back(before: str, after: str) -> None:
    difference = diff_words(before, after)
    assert side(difference, "delete") == before
    assert side(difference, "insert") == after
    assert difference.is_empty == (before == after)


@given(TEXTS, TEXTS)
def test_what_is_not_marked_is_the_same_on_both_sides(before: str, after: str) -> None:
    rows = [row for row in diff_words(before, after).rows if isinstance(row, Row)]
    kept = {
        operation: "".join(
            part.text
            for row in rows
            if row.operation == operation
            for part in row.parts
            if not part.is_changed
        )
        for operation in ("delete", "insert")
    }
    assert kept["delete"] == kept["insert"]


@given(TEXTS, TEXTS)
def test_rows_count_the_lines_of_each_side(before: str, after: str) -> None:
    old, new = 1, 1
    for row in diff_words(before, after).rows:
        if isinstance(row, Fold):
            assert (row.before, row.after) == (old, new)
            old, new = old + len(row.lines), new + len(row.lines)
        else:
            assert row.before == (None if row.operation == "insert" else old)
            assert row.after == (None if row.operation == "delete" else new)
            old, new = old + (row.before is not None), new + (row.after is not None)
            assert row.text.count("\n") <= 1
            assert "\n" not in row.text[:-1]


SAID = {
    "a word": ("She likes tea.\n", "She likes coffee.\n", ["-She likes [tea].", "+She likes [coffee]."]),
    "words side by side": (
        "the old brown dog barks\n",
        "the new black dog barks\n",
        ["-the [old brown] dog barks", "+the [new black] dog barks"],
    ),
    "a line that is another": (
        "alpha beta gamma\n",
        "nothing of this stands there, gamma\n",
        ["-[alpha beta] gamma", "+[nothing of this stands there,] gamma"],
    ),
    "nothing in common": ("alpha beta\n", "gamma delta\n", ["-[alpha beta]", "+[gamma delta]"]),
    "a line broken in two": (
        "one two three\n",
        "one two\nthree\n",
        ["-one two[ ]three", "+one two[]", "+three"],
    ),
    "a line more": ("one\n", "one\ntwo\n", [" one", "+[two]"]),
    "the last line break": ("one", "one\n", ["-one", "+one[]"]),
    "a text where there was none": ("", "one\ntwo", ["+[one]", "+[two]"]),
}


@pytest.mark.parametrize(("before", "after", "rows"), SAID.values(), ids=SAID)
def test_changed_words_are_marked_in_changed_lines(before: str, after: str, rows: list[str]) -> None:
    assert said(diff_words(before, after)) == rows


def test_equal_lines_far_from_a_change_are_folded() -> None:
    def lines(count: int) -> str:
        return "".join(f"{number}\n" for number in range(count))

    before, after = f"{lines(9)}x\n{lines(9)}y\n", f"{lines(9)}X\n{lines(9)}Y\n"
    assert said(diff_words(before, after)) == [
        "… 6", " 6", " 7", " 8", "-[x]", "+[X]",
        " 0", " 1", " 2", "… 3", " 6", " 7", " 8", "-[y]", "+[Y]",
    ]  # fmt: skip
    one_hidden = f"x\n{lines(7)}y\n"
    assert "… 1" not in said(diff_words(one_hidden, one_hidden.upper())), "a fold of one line hides nothing"


def one_line(seed: int) -> str:
    words = random.Random(seed)
    return " ".join(words.choice(["tea", "milk", "cup", "pot"]) for _ in range(30_000))[
        :MEMORY_CONTENT_BYTES_MAX
    ]


def many_lines(seed: int) -> str:
    letters = random.Random(seed)
    return "".join(f"{letters.choice('abcdef')}\n" for _ in range(MEMORY_CONTENT_BYTES_MAX // 2))


LARGE: dict[str, Callable[[int], str]] = {
    "one line": one_line,
    "one word": lambda seed: chr(97 + seed) * MEMORY_CONTENT_BYTES_MAX,
    "signs alone": lambda seed: ("!?" if seed else "?!?.") * (MEMORY_CONTENT_BYTES_MAX // 4),
    "50,000 lines": many_lines,
    "100,000 lines": lambda seed: "\n" * (MEMORY_CONTENT_BYTES_MAX - seed),
    "100,000 lines and none": lambda seed: "\n" * MEMORY_CONTENT_BYTES_MAX if seed else "",
}
DIFF_SECONDS_MAX = 3.0  # the slowest takes a third of it on a machine that is free


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_the_largest_texts_are_compared_in_bounded_time(make: Callable[[int], str]) -> None:
    before, after = make(0), make(1)
    started = time.process_time()
    difference = diff_words(before, after)
    assert time.process_time() - started < DIFF_SECONDS_MAX
    assert (side(difference, "delete"), side(difference, "insert")) == (before, after)


def test_past_the_bound_a_changed_line_is_changed_from_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = "one two three four\n", "four two three one\n"
    assert said(diff_words(before, after))[0] == "-[one] two three [four]"
    monkeypatch.setattr(word_diffs, "WORD_STEPS_MAX", 1)
    assert said(diff_words(before, after))[0] == "-[one two three four]"


def test_of_more_rows_than_a_page_shows_the_rest_is_counted() -> None:
    assert diff_words("", "x\n" * ROWS_SHOWN_MAX).rows_left == 0
    difference = diff_words("", "x\n" * (ROWS_SHOWN_MAX + 1))
    assert (len(difference.shown), difference.rows_left) == (ROWS_SHOWN_MAX, 1)
