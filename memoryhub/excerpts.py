"""The part of a text to show for a query, and which characters of it to mark. Pure: the stems come from the caller.

Two steps, so that the database is asked once for many texts: `find_candidates` finds the words that may have one of
the lexemes wanted, `cut_excerpt` cuts around those that have.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memoryhub.ranking import UNSPACED

EXCERPT_LENGTH_MAX = 320
LEAD_LENGTH_MAX = 60  # text before the first mark
CANDIDATES_PER_LEXEME_MAX = 20
HIGHLIGHTS_MAX = 32

_STEM_LENGTH_MIN = 3
_WORD = re.compile("(?:[^\\W_]|[\u0300-\u036f])*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word at `start` to `end`, in code points, that begins as `lexeme` does."""

    start: int
    end: int
    word: str
    lexeme: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text` stands at `offset` of the whole; `highlights` are (start, end) in `text`. All count code points."""

    text: str
    offset: int
    highlights: list[tuple[int, int]]

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The text cut at the highlights, in order: (piece, whether it is one)."""
        cuts = [0, *(at for highlight in self.highlights for at in highlight), len(self.text)]
        pieces = [(self.text[low:high], index % 2 == 1) for index, (low, high) in enumerate(pairwise(cuts))]
        return [piece for piece in pieces if piece[0]]


class _Folds(dict[int, str]):
    """A character in lower case without its accent, always one character, so that offsets stay true."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = unicodedata.normalize("NFKD", character)[:1].casefold()
        folded = plain if len(plain) == 1 else character
        if len(self) < 65_536:
            self[code] = folded
        return folded


_FOLDS = _Folds()


def find_candidates(text: str, lexemes: Sequence[str]) -> list[Candidate]:
    """In order of their start. A lexeme differs from its words at most in the last letter: `happi`, `happy`."""
    folded = text.lower() if text.isascii() else text.translate(_FOLDS)
    found = [candidate for lexeme in lexemes for candidate in _find_words(text, folded, lexeme)]
    return sorted(found, key=lambda candidate: (candidate.start, candidate.end))


def _find_words(text: str, folded: str, lexeme: str) -> list[Candidate]:
    stem = lexeme if len(lexeme) <= _STEM_LENGTH_MIN else lexeme[:-1]
    found: list[Candidate] = []
    at = folded.find(stem)
    while at >= 0 and len(found) < CANDIDATES_PER_LEXEME_MAX:
        if _begins_word(text, at):
            end = _end_of_word(text, at, len(stem))
            found.append(Candidate(at, end, text[at:end], lexeme))
        at = folded.find(stem, at + 1)
    return found


def _begins_word(text: str, at: int) -> bool:
    if at == 0 or not text[at - 1].isalnum() or _IS_UNSPACED.match(text[at]):
        return True
    return bool(_HUMP.match(text, at)) or bool(_IS_UNSPACED.match(text[at - 1]))


def _end_of_word(text: str, at: int, stem_length: int) -> int:
    if _IS_UNSPACED.match(text[at]):
        return at + stem_length
    match = _WORD.match(text, at)
    assert match is not None, "the pattern matches nothing too"
    hump = _HUMP.search(text, at + 1, match.end())
    return hump.start() if hump else match.end()


def cut_excerpt(text: str, candidates: Sequence[Candidate], words: Mapping[str, Collection[str]]) -> Excerpt:
    """Around the place with the most different lexemes; the beginning of the text when there is none.

    `words`: of each candidate's word, its lexemes.
    """
    marks = [found for found in candidates if found.lexeme in words.get(found.word, ())]
    first = _best_mark(marks)
    start = _begin(text, marks[first].start) if marks else 0
    end = _finish(text, start)
    shown = [(mark.start, mark.end) for mark in marks if mark.start >= start and mark.end <= end]
    highlights = [(low - start, high - start) for low, high in _merge(shown)[:HIGHLIGHTS_MAX]]
    return Excerpt(text[start:end], start, highlights)


def _best_mark(marks: Sequence[Candidate]) -> int:
    """The first mark from which an excerpt holds the most different lexemes."""
    best, best_count, last = 0, 0, 0
    inside: Counter[str] = Counter()
    for first, mark in enumerate(marks):
        limit = mark.start + EXCERPT_LENGTH_MAX - LEAD_LENGTH_MAX
        while last < len(marks) and marks[last].end <= limit:
            inside[marks[last].lexeme] += 1
            last += 1
        if len(+inside) > best_count:
            best, best_count = first, len(+inside)
        if last > first:
            inside[mark.lexeme] -= 1
        last = max(last, first + 1)
    return best


def _begin(text: str, at: int) -> int:
    """Some words before the mark, beginning with a whole one."""
    if at <= LEAD_LENGTH_MAX:
        return 0
    lead = text[at - LEAD_LENGTH_MAX : at]
    space = re.search(r"\s", lead)
    return at - LEAD_LENGTH_MAX + (space.end() if space else 0)


def _finish(text: str, start: int) -> int:
    end = start + EXCERPT_LENGTH_MAX
    if end >= len(text):
        return len(text)
    tail = re.search(r"\s\S*\Z", text[end - LEAD_LENGTH_MAX : end])
    return end - LEAD_LENGTH_MAX + tail.start() if tail else end


def _merge(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges as one; they come in order of their start."""
    merged: list[tuple[int, int]] = []
    for low, high in ranges:
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged
