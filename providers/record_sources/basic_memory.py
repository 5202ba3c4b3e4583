"""A folder of Basic Memory: Markdown notes with frontmatter, observations and relations.

Source: its note format: `- [category] content #tag (context)` and `- relation [[Target]] (context)`, anywhere in a note. Each of them is
a record, and what else a note says is taken in parts, so that nothing of it is lost.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memoryhub.source_files import Found, SourceFile
from providers.limits import RECORD_TEXT_BYTES_MAX
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

NAME = "basic_memory"
NOTE_ENDINGS = (".md", ".markdown")
_OBSERVATION = re.compile(r"\[(?![ xX-]\])([^\[\]()]+)\]\s+(\S.*)", re.DOTALL)
_RELATION = re.compile(r"([^\[]*)\[\[([^\[\]]+)\]\]\s*(?:(\(.*\))\s*)?", re.DOTALL)
_TAG = re.compile(r"(?<!\S)#([^\s#]+)")
RELATES = "relates_to"  # what a relation is called that says nothing


@dataclass
class _Notes:
    """What is found in one note, and which of its lines that takes away."""

    file: str
    note: Note
    found: list[Item] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)

    @property
    def title(self) -> str:
        return self.note.text_of("title") or PurePosixPath(self.file).stem

    def fields(self, text: str, *tags: str) -> dict[str, Any]:
        return {
            "text": text,
            "title": self.title,
            "thread": self.note.text_of("permalink") or self.file,
            "author": self.note.text_of("author"),
            "tags": list(dict.fromkeys((*tags, *self.note.tags))),
            "occurred_at": self.note.occurred_at,
        }

    def add(self, where: str, kind: str, text: str, *tags: str) -> None:
        key = key_of(NAME, kind, self.file, text)
        self.found.append(Candidate(f"{self.file}, {where}", key, self.fields(text, *tags) | imported(key)))


def read_basic_memory(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    for file in files:
        if not isinstance(file, SourceFile):
            yield refuse_unread(file)
        elif not file.name.lower().endswith(NOTE_ENDINGS):
            yield Refusal(file.name, "It is no Markdown note.")
        else:
            yield from _read(file)


def _read(file: SourceFile) -> Iterable[Item]:
    text = read_text(file)
    if isinstance(text, Refusal):
        return [text]
    try:
        note = read_note(text)
    except FrontmatterError as error:
        return [Refusal(f"{file.name}, line 1", f"Its frontmatter cannot be read: {error}.")]
    notes = _Notes(file.name, note)
    tokens = MarkdownIt("commonmark").parse(note.text)
    _take_items(notes, tokens)
    for number, part in enumerate(split_text(_rest(notes, tokens)), 1):
        notes.add(f"text {number}", "text", part)
    return notes.found or [Refusal(file.name, "It holds no text.")]


def _take_items(notes: _Notes, tokens: list[Token]) -> None:
    """The first paragraph of each item of a list, if it is an observation or a relation."""
    for opened, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opened.type != "list_item_open" or inline.type != "inline" or inline.map is None:
            continue
        where = f"line {notes.note.lines_before + inline.map[0] + 1}"
        observation, relation = _match(_OBSERVATION, inline.content), _match(_RELATION, inline.content)
        if observation is not None:
            content = observation[2]
            notes.add(where, "observation", content, observation[1].strip(), *_TAG.findall(content))
        elif relation is not None:
            kind, target, context = relation[1].strip() or RELATES, relation[2].strip(), relation[3]
            said = f"{notes.title} {kind} {target}"
            notes.add(where, "relation", f"{said} {context}" if context else said)
        else:
            continue
        notes.taken.update(range(*inline.map))


def _match(pattern: re.Pattern[str], content: str) -> re.Match[str] | None:
    """None for an item that is longer than a record may be: it stays text, which is taken in parts."""
    return pattern.fullmatch(content) if len(content) <= RECORD_TEXT_BYTES_MAX else None


def _rest(notes: _Notes, tokens: list[Token]) -> str:
    """The text without what was taken, and without headings that nothing is left under."""
    levels = {
        token.map[0]: int(token.tag[1:])
        for token in tokens
        if token.type == "heading_open" and token.map is not None and token.level == 0
    }
    lines = notes.note.text.split("\n")
    kept: set[int] = set()
    above: list[int] = []
    underlines = _underlines(tokens)
    for number, line in enumerate(lines):
        if number in levels:
            above = [one for one in above if levels[one] < levels[number]] + [number]
        elif number in underlines:
            continue
        elif number not in notes.taken:
            kept.add(number)
            kept.update(above if line.strip() else ())
    return "\n".join(line for number, line in enumerate(lines) if number in kept)


def _underlines(tokens: list[Token]) -> set[int]:
    """The lines below headings that are written in two."""
    return {
        line
        for token in tokens
        if token.type == "heading_open" and token.map is not None
        for line in range(token.map[0] + 1, token.map[1])
    }
