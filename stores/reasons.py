"""Why a text was erased, in words that stay: the audit trail outlives the text, so they may not repeat it."""

import re
from collections.abc import Iterable, Iterator

from memoryhub.errors import InvalidRequest
from stores.models import MemoryVersion

REASON_LENGTH_MAX = 255
LINE_LENGTH_MIN = 4
# A word this long that mixes letters and digits is no word of a language: in the text it may be the secret itself.
SECRET_LENGTH_MIN = 8
_WORD = re.compile(rf"[^\s\"'`<>()]{{{SECRET_LENGTH_MIN},}}")


def check_reason(reason: str | None, repeated: Iterable[str]) -> None:
    """Raises: InvalidRequest when the reason holds one of the texts."""
    if reason is not None and any(text and text in reason for text in repeated):
        raise InvalidRequest(
            "reason: It repeats what is to be erased; name the cause without it.",
            error_code="reason_holds_text",
        )


def check_reason_of(reason: str | None, version: MemoryVersion) -> None:
    """The same for the whole of a version: its lines, its path, its digest, and what looks like a secret in it."""
    if reason is not None:
        check_reason(reason, _telling_texts(reason, version))


def _telling_texts(reason: str, version: MemoryVersion) -> Iterator[str]:
    content, path = version.content or "", version.path or ""
    yield from (
        text
        for text in (version.content_sha256, path, content.strip())
        if text and len(text) >= LINE_LENGTH_MIN
    )
    yield from (line for text in content.split("\n") if len(line := text.strip()) >= LINE_LENGTH_MIN)
    for found in _WORD.findall(reason):
        word = found.strip(".,;:!?")
        if re.search(r"\d", word) and re.search(r"[^\W\d]", word) and (word in content or word in path):
            yield word
