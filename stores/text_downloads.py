"""The text of a memory as a file: its bytes as they are, under a name that every system takes and that nothing runs."""

import re
from pathlib import PurePosixPath

from django.http import HttpResponse
from django.utils.http import content_disposition_header

NAME_LETTERS_MAX = 100
_NOT_EVERYWHERE = re.compile(r'[\\/:*?"<>|]')
# Source: Microsoft, Naming Files, Paths, and Namespaces.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)", re.IGNORECASE)
_TEXT_ENDINGS = frozenset({".json", ".log", ".markdown", ".md", ".toml", ".txt", ".yaml", ".yml"})


def portable_name(path: str | None) -> str:
    """Of a memory at this path. An ending that a system might open with more than an editor is followed by .txt."""
    name = _NOT_EVERYWHERE.sub("_", (path or "").rpartition("/")[2])[-NAME_LETTERS_MAX:].strip(" .")
    if not name:
        return "memory.txt"
    if _DEVICES.match(name):
        name = f"_{name}"
    return name if PurePosixPath(name).suffix.lower() in _TEXT_ENDINGS else f"{name}.txt"


def answer_text(text: str, path: str | None) -> HttpResponse:
    disposition = content_disposition_header(as_attachment=True, filename=portable_name(path))
    headers = {"Content-Disposition": disposition, "Content-Security-Policy": "default-src 'none'; sandbox"}
    return HttpResponse(text.encode(), content_type="text/plain; charset=utf-8", headers=headers)
