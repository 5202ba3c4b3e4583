"""Two texts made of one are put together: what only one side changed is never lost, what both changed is marked."""

from hypothesis import example, given
from hypothesis import strategies as st

from stores.diffs import DIFF_STEPS_MAX, split_lines
from stores.merges import MARK_BETWEEN, MARK_MINE, MARK_THEIRS, Merge, merge_texts

texts = st.text(alphabet="ab \n", max_size=30)
lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=12)


@given(texts, texts)
@example("", "")
@example("a", "a\n")
def test_one_side_that_changed_alone_is_the_result(base: str, changed: str) -> None:
    for mine, theirs in ((changed, base), (base, changed), (changed, changed)):
        assert merge_texts(base, mine, theirs) == Merge(changed, 0)


@given(texts, texts, texts)
def test_it_is_the_same_whoever_is_asked(base: str, mine: str, theirs: str) -> None:
    one, other = merge_texts(base, mine, theirs), merge_texts(base, theirs, mine)
    assert one.conflicts_count == other.conflicts_count
    if not one.conflicts_count:
        assert one == other


@given(st.lists(st.sampled_from(["keep", "mine", "theirs"]), min_size=1, max_size=20), st.data())
def test_changes_with_a_line_between_them_are_both_made(who: list[str], data: st.DataObject) -> None:
    """Line by line: one of the two replaces, removes or adds to it; a line that both keep stands after each."""
    base, mine, theirs, both = [], [], [], []
    for index, changer in enumerate(who):
        line, between = f"line {index}\n", f"between {index}\n"
        change = data.draw(st.sampled_from([[], [f"new {index}\n"], [line, f"more {index}\n"]]))
        result = [line] if changer == "keep" else change
        base += [line, between]
        mine += [*(result if changer == "mine" else [line]), between]
        theirs += [*(result if changer == "theirs" else [line]), between]
        both += [*result, between]
    merged = merge_texts("".join(base), "".join(mine), "".join(theirs))
    assert merged == Merge("".join(both), 0)


@given(lines, lines, lines, st.data())
def test_no_line_that_one_side_added_is_lost(
    base: list[str], mine: list[str], theirs: list[str], data: st.DataObject
) -> None:
    """Wherever a new line is typed, and whatever else was changed, it stands in the result."""
    for side, line in ((mine, "typed by me\n"), (theirs, "typed by them\n")):
        side.insert(data.draw(st.integers(0, len(side))), line)
    merged = split_lines(merge_texts("".join(base), "".join(mine), "".join(theirs)).text)
    assert merged.count("typed by me\n") == merged.count("typed by them\n") == 1


@given(texts, texts, texts)
def test_each_conflict_has_both_sides_between_marks(base: str, mine: str, theirs: str) -> None:
    merged = merge_texts(base, mine, theirs)
    for mark in (MARK_MINE, MARK_BETWEEN, MARK_THEIRS):
        assert split_lines(merged.text).count(mark) == merged.conflicts_count


def test_a_line_that_both_changed_is_a_conflict_and_the_rest_is_merged() -> None:
    base = "tea\nmilk\nsugar\n-\nend\n"
    merged = merge_texts(base, "tea\noat milk\nsugar\n-\nthe end", "tea\nsoy milk\nsugar\nlemon\n-\nend\n")
    conflict = f"{MARK_MINE}oat milk\n{MARK_BETWEEN}soy milk\n{MARK_THEIRS}"
    assert merged == Merge(f"tea\n{conflict}sugar\nlemon\n-\nthe end", 1)


def test_texts_without_a_common_line_take_bounded_work() -> None:
    sides = ["".join(f"{side} {index % 997}\n" for index in range(9_000)) for side in "xyz"]
    assert merge_texts(*sides).conflicts_count == 1
    assert DIFF_STEPS_MAX < 1_000_000
