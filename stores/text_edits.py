"""Small changes of a file's text, as an agent makes them: one passage replaced, lines inserted.

The text is read, changed and written with the SHA-256 that was read, so that nothing between the two is lost. Without an
expectation of the caller's own, a change that came between is read again and the edit made on it.
"""

import re
from collections.abc import Callable

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, MemoryPreconditionFailed
from stores.files import FilePrecondition, get_file, put_file
from stores.models import Memory

ATTEMPTS_MAX = 5
_LINES = re.compile(r"[^\n]*\n|[^\n]+")  # str.splitlines would also end one at a form feed


def replace_passage(
    store_id: str, path: str, *, old: str, new: str, expected_sha256: str | None = None, actor: Actor
) -> Memory:
    """Put `new` in the place of the one passage that reads `old`.

    Raises: InvalidRequest when it is not there or there more than once, and whatever `put_file` raises.
    """
    return _edit(store_id, path, lambda text: _replace(text, old, new), expected_sha256, actor)


def insert_lines(
    store_id: str, path: str, *, after_line: int, text: str, expected_sha256: str | None = None, actor: Actor
) -> Memory:
    """Put a text below a line; 0: above the first. A line break is added where it would run into the next line.

    Raises: InvalidRequest when the file has fewer lines, and whatever `put_file` raises.
    """
    return _edit(store_id, path, lambda before: _insert(before, after_line, text), expected_sha256, actor)


def _edit(
    store_id: str,
    path: str,
    change: Callable[[str], str],
    expected_sha256: str | None,
    actor: Actor,
) -> Memory:
    for attempt in range(1, ATTEMPTS_MAX + 1):
        memory = get_file(store_id, path, with_content=True, actor=actor)
        if expected_sha256 not in (None, memory.content_sha256):
            raise MemoryPreconditionFailed
        try:
            precondition = FilePrecondition("present", memory.content_sha256)
            content = change(memory.head.content or "")
            return put_file(store_id, path, content=content, precondition=precondition, actor=actor)
        except MemoryPreconditionFailed:
            if expected_sha256 is not None or attempt == ATTEMPTS_MAX:
                raise
    raise AssertionError("the last attempt gives a memory or raises")


def _replace(text: str, old: str, new: str) -> str:
    count = text.count(old)
    if count == 0:
        raise InvalidRequest(
            "old_text: The file holds no such passage; read it and give the passage as it stands.",
            error_code="edit_passage_missing",
        )
    if count > 1:
        raise InvalidRequest(
            f"old_text: The file holds this passage {count} times; give more of what surrounds the one that is meant.",
            error_code="edit_passage_ambiguous",
        )
    return text.replace(old, new)


def _insert(before: str, after_line: int, text: str) -> str:
    lines = _LINES.findall(before)
    if after_line > len(lines):
        raise InvalidRequest(
            f"after_line: The file has {len(lines)} lines.", error_code="edit_line_missing", lines=len(lines)
        )
    head, tail = "".join(lines[:after_line]), "".join(lines[after_line:])
    if head and not head.endswith("\n"):
        head += "\n"
    if tail and not text.endswith("\n"):
        text += "\n"
    return head + text + tail
