"""What a text area makes of a text, and how the text keeps what a text area cannot hold. Pure.

A text area shows a line break of any kind as LF, and a browser sends it as CR LF. So the lines that were left as they
were keep the ends that they had, and new ones get the end that is usual in the text.
Source: HTML, 4.10.11 The textarea element; 4.10.22.4 Constructing the entry list.
"""

import re
from collections import Counter

from stores.diffs import DIFF_STEPS_MAX, find_kept, split_lines

_END = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def as_typed(text: str) -> str:
    """The text as a text area holds it: every line ends with LF."""
    return _END.sub("\n", text)


def restore_ends(base: str, typed: str) -> str:
    """The typed text with the line ends of the text that it was made of; `typed` ends its lines with LF."""
    if "\r" not in base:
        return typed
    originals, lines = _LINE.findall(base), split_lines(typed)
    kept = find_kept(split_lines(as_typed(base)), lines, steps_max=DIFF_STEPS_MAX)
    original_of = {after: originals[before] for before, after in kept.pairs}
    usual = Counter(_END.findall(base)).most_common(1)[0][0]
    return "".join(original_of.get(index) or line.replace("\n", usual) for index, line in enumerate(lines))
