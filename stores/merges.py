"""Two texts that were made of one, put together line by line. Pure.

A stretch of the base that only one side changed becomes that side's; one that both changed, each in its way, is a
conflict, and stands in the result with both sides between marks. Source: S. Khanna, K. Kunal and B. C. Pierce, A
Formal Investigation of Diff3, 2007.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from stores.diffs import DIFF_STEPS_MAX, find_kept, split_lines

MARKS_STAND = "Both changes still stand between marks: keep what is right, and remove the lines <<<<<<<, ======= and >>>>>>>."
MARK_MINE = "<<<<<<< your text\n"
MARK_BETWEEN = "=======\n"
MARK_THEIRS = ">>>>>>> their text\n"

type Lines = list[str]


@dataclass(frozen=True, slots=True)
class Merge:
    text: str
    conflicts_count: int


def merge_texts(base: str, mine: str, theirs: str) -> Merge:
    parts: Lines = []
    conflicts_count = 0
    for old, ours, others in _stretches(split_lines(base), split_lines(mine), split_lines(theirs)):
        if ours == others or others == old:
            parts += ours
        elif ours == old:
            parts += others
        else:
            conflicts_count += 1
            parts += [MARK_MINE, *_ended(ours), MARK_BETWEEN, *_ended(others), MARK_THEIRS]
    return Merge("".join(parts), conflicts_count)


def has_marks(text: str) -> bool:
    """Whether a conflict still stands in a text that two were put together in."""
    lines = set(text.splitlines())
    return any(mark.rstrip() in lines for mark in (MARK_MINE, MARK_THEIRS))


def _stretches(old: Lines, mine: Lines, theirs: Lines) -> Iterator[tuple[Lines, Lines, Lines]]:
    """The three texts cut at every line that both sides kept, each such line after the stretch before it."""
    in_mine = dict(find_kept(old, mine, steps_max=DIFF_STEPS_MAX).pairs)
    in_theirs = dict(find_kept(old, theirs, steps_max=DIFF_STEPS_MAX).pairs)
    start, x, y = 0, 0, 0
    for index in range(len(old)):
        if index not in in_mine or index not in in_theirs:
            continue
        yield old[start:index], mine[x : in_mine[index]], theirs[y : in_theirs[index]]
        yield [old[index]], [old[index]], [old[index]]
        start, x, y = index + 1, in_mine[index] + 1, in_theirs[index] + 1
    yield old[start:], mine[x:], theirs[y:]


def _ended(lines: Lines) -> Lines:
    """A mark begins a line of its own, also behind a last line without an end."""
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
