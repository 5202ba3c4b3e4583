"""A long text as the passages that get a vector each: one vector of all of it would be of many things, and of none of them. Pure."""

import re
from math import ceil

PASSAGE_LENGTH_MAX = 500  # characters; models read about twice as many at once
# Where a passage may end, best first: a line, a sentence, a word.
_ENDS = (re.compile(r"\n"), re.compile(r"[.!?…]\s|[。！？]"), re.compile(r"\s"))


def cut_passages(text: str) -> list[str]:
    """Of about the same length each, in their order; a text of one passage as it is."""
    passages = []
    while len(text) > PASSAGE_LENGTH_MAX:
        end = _find_end(text[: ceil(len(text) / ceil(len(text) / PASSAGE_LENGTH_MAX))])
        passages.append(text[:end].strip())
        text = text[end:]
    passages.append(text.strip() if passages else text)
    return [passage for passage in passages if passage] or [text]


def _find_end(head: str) -> int:
    for end in _ENDS:
        found = [match.end() for match in end.finditer(head, len(head) // 2)]
        if found:
            return found[-1]
    return len(head)
