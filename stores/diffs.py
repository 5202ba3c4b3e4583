"""The difference of two texts, line by line: pure, and bounded in its work whatever the texts are.

A shortest edit script by Myers' greedy algorithm, over the lines that both sides hold. Past `DIFF_STEPS_MAX` steps
the changed middle becomes one replaced block: still a true difference, only a coarse one. Source: E. W. Myers, An
O(ND) Difference Algorithm and Its Variations, 1986.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

DIFF_STEPS_MAX = 250_000
DIFF_CONTEXT_LINES = 3

# A line ends with LF alone: other separators are part of the text, as in a file.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Run:
    """Lines that stand together. `before`, `after`: the index of the first on each side."""

    operation: Literal["equal", "delete", "insert"]
    before: int
    after: int
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changed runs that lie close together, with the equal lines around them. Starts count lines from 1."""

    before_start: int
    before_lines: int
    after_start: int
    after_lines: int
    runs: list[Run]


@dataclass(frozen=True, slots=True)
class Difference:
    hunks: list[Hunk]
    lines_added: int
    lines_removed: int
    coarse: bool


def split_lines(text: str) -> list[str]:
    """The lines with their ends; joined, they are the text again."""
    return _LINE.findall(text)


@dataclass(frozen=True, slots=True)
class Kept:
    """`pairs`: the indexes on both sides of what both hold, in order; what stands between them is changed."""

    pairs: list[tuple[int, int]]
    coarse: bool


def diff_texts(before: str, after: str) -> Difference:
    old, new = split_lines(before), split_lines(after)
    kept = find_kept(old, new, steps_max=DIFF_STEPS_MAX)
    runs = list(cut_runs(old, new, kept.pairs))
    return Difference(
        hunks=[_hunk(group) for group in _group(runs)],
        lines_added=len(new) - len(kept.pairs),
        lines_removed=len(old) - len(kept.pairs),
        coarse=kept.coarse,
    )


def find_kept(old: Sequence[str], new: Sequence[str], *, steps_max: int) -> Kept:
    """Of lines, or of the words of one. Past `steps_max` only what both share at the start and the end is kept."""
    start, end = _common_ends(old, new)
    script = _find_script(old[start : len(old) - end], new[start : len(new) - end], steps_max)
    pairs = [(x, x) for x in range(start)]
    pairs += [(start + x, start + y) for x, y in script or []]
    pairs += [(len(old) - end + x, len(new) - end + x) for x in range(end)]
    return Kept(pairs, coarse=script is None)


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines both sides share at the start, and then at the end."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def _find_script(old: Sequence[str], new: Sequence[str], steps_max: int) -> list[tuple[int, int]] | None:
    """The pairs of indexes of the kept lines, in order; None when finding them takes too many steps."""
    in_old, in_new = set(old), set(new)
    # What only one side holds is changed for certain, and only makes the search longer.
    left = [index for index, line in enumerate(old) if line in in_new]
    right = [index for index, line in enumerate(new) if line in in_old]
    numbers = {line: number for number, line in enumerate(in_old & in_new)}
    found = _longest_common([numbers[old[x]] for x in left], [numbers[new[y]] for y in right], steps_max)
    return None if found is None else [(left[x], right[y]) for x, y in found]


def _longest_common(old: list[int], new: list[int], steps_max: int) -> list[tuple[int, int]] | None:
    """Myers' forward search: `reach[k]` is the furthest x on diagonal x - y = k after d edits."""
    size = len(old) + len(new)
    reach = array("i", [0]) * (2 * size + 3)  # negative k index from the end
    trace: list[array[int]] = []
    steps = 0
    for edits in range(size + 1):
        trace.append(_window(reach, edits))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = first = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(old) and 0 <= x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return _walk_back(trace, x, x - k)
            steps += 1 + x - first
            if steps > steps_max:
                return None
    raise AssertionError("an edit for each line always reaches the end")


def _window(reach: "array[int]", edits: int) -> "array[int]":
    """The part of `reach` that the round of `edits` reads: diagonals -edits - 1 to edits + 1."""
    return reach[-edits - 1 :] + reach[: edits + 2]


def _walk_back(trace: list["array[int]"], x: int, y: int) -> list[tuple[int, int]]:
    """From the end to the start, the diagonal steps of the path that was found."""
    pairs = []
    for edits in range(len(trace) - 1, -1, -1):
        reach, middle, k = trace[edits], edits + 1, x - y
        down = k == -edits or (k != edits and reach[middle + k - 1] < reach[middle + k + 1])
        previous_k = k + 1 if down else k - 1
        previous_x = reach[middle + previous_k]
        entered = previous_x if down else previous_x + 1
        while x > (entered if edits else 0):
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = previous_x, previous_x - previous_k
    return pairs[::-1]


def cut_runs(old: list[str], new: list[str], pairs: list[tuple[int, int]]) -> Iterator[Run]:
    """The whole of both texts in order: between kept lines, first what goes, then what comes."""
    x = y = position = 0
    while position < len(pairs) or x < len(old) or y < len(new):
        next_x, next_y = pairs[position] if position < len(pairs) else (len(old), len(new))
        if x < next_x:
            yield Run("delete", x, y, old[x:next_x])
        if y < next_y:
            yield Run("insert", next_x, y, new[y:next_y])
        x, y, first = next_x, next_y, position
        while position < len(pairs) and pairs[position] == (x, y):
            x, y, position = x + 1, y + 1, position + 1
        if position > first:
            yield Run("equal", next_x, next_y, old[next_x:x])


def _group(runs: list[Run]) -> Iterator[list[Run]]:
    """The runs of each hunk: equal lines are cut to the context, and a longer stretch of them parts two hunks."""
    group: list[Run] = []
    for position, run in enumerate(runs):
        if run.operation != "equal":
            group.append(run)
            continue
        is_first, is_last = position == 0, position == len(runs) - 1
        if not is_first and not is_last and len(run.lines) <= 2 * DIFF_CONTEXT_LINES:
            group.append(run)
            continue
        if not is_first:
            yield [*group, _slice(run, 0, DIFF_CONTEXT_LINES)]
        tail = max(0, len(run.lines) - DIFF_CONTEXT_LINES)
        group = [] if is_last else [_slice(run, tail, len(run.lines))]
    if group:
        yield group


def _slice(run: Run, start: int, end: int) -> Run:
    return Run(run.operation, run.before + start, run.after + start, run.lines[start:end])


def _hunk(runs: list[Run]) -> Hunk:
    before_lines = sum(len(run.lines) for run in runs if run.operation != "insert")
    after_lines = sum(len(run.lines) for run in runs if run.operation != "delete")
    # As in a unified difference, a side without lines is named by the line before it.
    before_start = runs[0].before + (1 if before_lines else 0)
    after_start = runs[0].after + (1 if after_lines else 0)
    return Hunk(before_start, before_lines, after_start, after_lines, runs)


_MARKS = {"equal": " ", "delete": "-", "insert": "+"}


def unified_text(difference: Difference, before_name: str, after_name: str) -> str:
    """The difference as `patch` reads it; empty when the texts are equal."""
    if not difference.hunks:
        return ""
    parts = [f"--- {before_name}\n+++ {after_name}\n"]
    for hunk in difference.hunks:
        before, after = f"{hunk.before_start},{hunk.before_lines}", f"{hunk.after_start},{hunk.after_lines}"
        parts.append(f"@@ -{before} +{after} @@\n")
        for run in hunk.runs:
            parts += [_MARKS[run.operation] + _ended(line) for line in run.lines]
    return "".join(parts)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
