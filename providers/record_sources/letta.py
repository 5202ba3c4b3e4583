"""Memory blocks and passages of Letta: an agent file (`.af`) of either form, an agent's state, or a list of blocks or passages.

Source: Letta's agent file (`blocks` beside `agents`; before, `core_memory`) and its API (`memory.blocks`, passages).
A block is a text that grows: it is taken in parts, each a record of the thread that its label names.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from memoryhub.source_files import Found, SourceFile
from providers.record_sources.items import (
    Candidate,
    Item,
    Refusal,
    Wishes,
    imported,
    key_of,
    read_json,
    read_moment,
    refuse_unread,
    split_text,
)

NAME = "letta"


def read_letta(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    for file in files:
        if not isinstance(file, SourceFile):
            yield refuse_unread(file)
            continue
        value = read_json(file.content, file.name)
        if isinstance(value, Refusal):
            yield value
            continue
        lists = list(_find_lists(value))
        if not lists:
            yield Refusal(file.name, "It is no agent file: it holds no list of blocks or passages.")
        for noun, found in lists:
            for number, one in enumerate(found, 1):
                yield from _read_one(one, f"{file.name}, {noun} {number}")


def _find_lists(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """(what they are called, they)."""
    if isinstance(value, list):
        yield "block", value
        return
    if not isinstance(value, dict):
        return
    inner = value.get("memory")
    found = {
        "block": value.get("blocks") or value.get("core_memory"),
        "block of memory": inner.get("blocks") if isinstance(inner, dict) else None,
        "passage": value.get("passages"),
    }
    for noun, one in found.items():
        if isinstance(one, list):
            yield noun, one


def _read_one(one: Any, where: str) -> Iterator[Item]:
    if not isinstance(one, dict) or not isinstance(one.get("value", one.get("text")), str):
        yield Refusal(where, "It is no block, with label and value, and no passage, with text.")
        return
    try:
        occurred_at = read_moment(one.get("created_at"))
    except ValueError as error:
        yield Refusal(where, f"created_at: {error}.")
        return
    yield from (
        _read_block(one, where, occurred_at) if "value" in one else [_read_passage(one, where, occurred_at)]
    )


def _read_block(block: dict[str, Any], where: str, occurred_at: Any) -> Iterator[Item]:
    label, parts = block.get("label"), split_text(block["value"])
    if not isinstance(label, str):
        yield Refusal(where, "It has no label.")
        return
    if not parts:
        yield Refusal(where, "Its value is empty.")
    for number, part in enumerate(parts, 1):
        key = key_of(NAME, "block", label, part)
        fields = {"text": part, "title": label, "thread": label, "occurred_at": occurred_at}
        yield Candidate(f"{where} ({label}), part {number}", key, fields | imported(key))


def _read_passage(passage: dict[str, Any], where: str, occurred_at: Any) -> Item:
    text, name = passage["text"], passage.get("id")
    key = key_of(NAME, "passage", name if isinstance(name, str) else text)
    tags = passage.get("tags") or []
    return Candidate(where, key, {"text": text, "tags": tags, "occurred_at": occurred_at} | imported(key))
