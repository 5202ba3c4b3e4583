"""The difference of two texts as people read it: line by line, and within changed lines the changed words. Pure.

First the lines, by `diffs`; then, where removed lines are followed by added ones, the words of both. The work is
bounded over the whole text: past `WORD_STEPS_MAX` a changed line is shown as changed from end to end.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from stores.diffs import DIFF_CONTEXT_LINES, DIFF_STEPS_MAX, Run, cut_runs, find_kept, split_lines

WORD_STEPS_MAX = 500_000
ROWS_SHOWN_MAX = 2_000
# Of the shorter side, in letters: with less in common, marked words would be scattered through another text.
KEPT_SHARE_MIN = 0.3

_TOKEN = re.compile(r"\w+|[^\S\n]+|\n|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Part:
    text: str
    is_changed: bool

    @property
    def shown(self) -> str:
        """Without the line's break, which the row stands for."""
        return self.text.removesuffix("\n")


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `before`, `after`: its number on each side, None where it does not stand."""

    operation: Literal["equal", "delete", "insert"]
    before: int | None
    after: int | None
    parts: list[Part]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def has_break(self) -> bool:
        return self.parts[-1].text.endswith("\n")

    @property
    def is_whole(self) -> bool:
        return all(part.is_changed for part in self.parts)


@dataclass(frozen=True, slots=True)
class Fold:
    """Equal lines far from every change. `before`, `after`: the number of the first on each side."""

    before: int
    after: int
    lines: list[str]
    operation: Literal["fold"] = "fold"

    @property
    def text(self) -> str:
        return "".join(self.lines)


@dataclass(frozen=True, slots=True)
class WordDifference:
    """`rows`: the whole of both texts, in order."""

    rows: list[Row | Fold]
    lines_added: int
    lines_removed: int
    coarse: bool

    @property
    def is_empty(self) -> bool:
        return not self.lines_added and not self.lines_removed

    @property
    def shown(self) -> list[Row | Fold]:
        return self.rows[:ROWS_SHOWN_MAX]

    @property
    def rows_left(self) -> int:
        return max(0, len(self.rows) - ROWS_SHOWN_MAX)


def diff_words(before: str, after: str) -> WordDifference:
    old, new = split_lines(before), split_lines(after)
    kept = find_kept(old, new, steps_max=DIFF_STEPS_MAX)
    runs = list(cut_runs(old, new, kept.pairs))
    changed = sum(len(line) for run in runs if run.operation != "equal" for line in run.lines)
    return WordDifference(
        rows=list(_rows(runs, changed)),
        lines_added=len(new) - len(kept.pairs),
        lines_removed=len(old) - len(kept.pairs),
        coarse=kept.coarse,
    )


def _rows(runs: list[Run], changed: int) -> Iterator[Row | Fold]:
    """`changed`: the letters of all changed lines, of which each pair of runs gets its share of the steps."""
    position = 0
    while position < len(runs):
        run, following = runs[position], runs[position + 1] if position + 1 < len(runs) else None
        if run.operation == "equal":
            yield from _fold(run, is_first=position == 0, is_last=following is None)
        elif run.operation == "delete" and following is not None and following.operation == "insert":
            yield from _changed_rows(run, following, changed)
            position += 1
        else:
            yield from _whole_rows(run)
        position += 1


def _fold(run: Run, *, is_first: bool, is_last: bool) -> Iterator[Row | Fold]:
    """The lines next to a change as they are; those further off together, when they are more than one."""
    head = 0 if is_first else DIFF_CONTEXT_LINES
    tail = len(run.lines) - (0 if is_last else DIFF_CONTEXT_LINES)
    if tail - head < 2:
        head = tail = len(run.lines)
    yield from _equal_rows(run, 0, head)
    if tail > head:
        yield Fold(run.before + head + 1, run.after + head + 1, run.lines[head:tail])
    yield from _equal_rows(run, tail, len(run.lines))


def _equal_rows(run: Run, start: int, end: int) -> Iterator[Row]:
    for index in range(start, end):
        parts = [Part(run.lines[index], is_changed=False)]
        yield Row("equal", run.before + index + 1, run.after + index + 1, parts)


def _whole_rows(run: Run) -> Iterator[Row]:
    return _side_rows(run, [[Part(line, is_changed=True)] for line in run.lines])


def _changed_rows(removed: Run, added: Run, changed: int) -> Iterator[Row]:
    old, new = _tokens(removed), _tokens(added)
    letters = sum(map(len, old)) + sum(map(len, new))
    steps_max = WORD_STEPS_MAX * letters // changed
    pairs = list(_telling_pairs(old, find_kept(old, new, steps_max=steps_max).pairs))
    if _kept_share(old, new, pairs) < KEPT_SHARE_MIN:
        pairs = []
    yield from _side_rows(removed, _lines_of(old, {x for x, _ in pairs}))
    yield from _side_rows(added, _lines_of(new, {y for _, y in pairs}))


def _tokens(run: Run) -> list[str]:
    """Words, white space within a line, line breaks, and every other character alone."""
    return _TOKEN.findall("".join(run.lines))


def _telling_pairs(old: Sequence[str], pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Without stretches within a line that hold no word: a kept space only breaks two changed words apart."""
    for _, group in groupby(enumerate(pairs), lambda item: (item[1][0] - item[0], item[1][1] - item[0])):
        stretch = [pair for _, pair in group]
        if stretch[0] == (0, 0) or any(old[x] == "\n" or old[x][0].isalnum() for x, _ in stretch):
            yield from stretch


def _kept_share(old: Sequence[str], new: Sequence[str], pairs: list[tuple[int, int]]) -> float:
    shorter = min(_letters(old), _letters(new))
    return _letters([old[x] for x, _ in pairs]) / shorter if shorter else 0.0


def _letters(tokens: Sequence[str]) -> int:
    return sum(len(token) for token in tokens if not token.isspace())


def _lines_of(tokens: Sequence[str], kept: set[int]) -> list[list[Part]]:
    """The parts of each line. A line break belongs to the part before it, so that none stands alone."""
    lines: list[list[Part]] = [[]]
    for is_changed, group in groupby(range(len(tokens)), lambda index: index not in kept):
        text = "".join(tokens[index] for index in group)
        for piece in split_lines(text):
            if lines[-1] and lines[-1][-1].text.endswith("\n"):
                lines.append([])
            lines[-1].append(Part(piece, is_changed))
    return lines


def _side_rows(run: Run, lines: list[list[Part]]) -> Iterator[Row]:
    for index, parts in enumerate(lines):
        if run.operation == "delete":
            yield Row("delete", run.before + index + 1, None, parts)
        else:
            yield Row("insert", None, run.after + index + 1, parts)
