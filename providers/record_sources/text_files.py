"""A folder of texts: each file in parts, which are the turns of one thread. Frontmatter, where there is some, says the rest."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from memoryhub.source_files import Found, SourceFile
from providers.record_sources.frontmatter import FrontmatterError, Note, read_note
from providers.record_sources.items import (
    Candidate,
    Item,
    Refusal,
    Wishes,
    imported,
    key_of,
    read_text,
    refuse_unread,
    split_text,
)

NAME = "text"


def read_text_files(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    for file in files:
        if isinstance(file, SourceFile):
            yield from _read(file)
        else:
            yield refuse_unread(file)


def _read(file: SourceFile) -> Iterator[Item]:
    text = read_text(file)
    if isinstance(text, Refusal):
        yield text
        return
    note = _note_of(text)
    parts = split_text(note.text)
    if not parts:
        yield Refusal(file.name, "It holds no text.")
    for number, part in enumerate(parts, 1):
        key = key_of(NAME, file.name, part)
        fields = {
            "text": part,
            "title": note.text_of("title") or PurePosixPath(file.name).stem,
            "thread": file.name,
            "author": note.text_of("author"),
            "tags": note.tags,
            "occurred_at": note.occurred_at,
        }
        yield Candidate(f"{file.name}, part {number}", key, fields | imported(key))


def _note_of(text: str) -> Note:
    """What only looks like frontmatter is text."""
    try:
        return read_note(text)
    except FrontmatterError:
        return Note({}, text)
