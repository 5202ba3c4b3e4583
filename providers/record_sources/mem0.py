"""Memories of mem0: what its API gives for all memories, as JSON: a list, or an object with `results` (and `relations`).

Source: mem0's reference, Get Memories: `id`, `memory`, `user_id`, `run_id`, `actor_id`, `categories`, `created_at`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from memoryhub.source_files import Found, SourceFile, refuse_several
from providers.record_sources.items import (
    Candidate,
    Item,
    LeftOut,
    Refusal,
    Wishes,
    imported,
    key_of,
    read_json,
    read_moment,
    refuse_unread,
)

NAME = "mem0"


def read_mem0(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    """Raises: InvalidRequest when the memories are of several users and it is not said whose are meant."""
    users: set[str] = set()
    for file in files:
        if not isinstance(file, SourceFile):
            yield refuse_unread(file)
            continue
        value = read_json(file.content, file.name)
        if isinstance(value, Refusal):
            yield value
            continue
        yield from _read(value, file.name, wishes, users)


def _read(value: Any, name: str, wishes: Wishes, users: set[str]) -> Iterator[Item]:
    """`users`: whose memories were found so far, in every file; this one's are added."""
    given: dict[str, Any] = value if isinstance(value, dict) else {"results": value}
    memories = given.get("results", given.get("memories"))
    if not isinstance(memories, list):
        yield Refusal(name, "It is no export of mem0: it holds no list of memories.")
        return
    users.update(_users_of(memories))
    _require_one_user(users, wishes)
    for number, memory in enumerate(memories, 1):
        yield _read_memory(memory, f"{name}, memory {number}", wishes)
    relations = given.get("relations") or []
    if wishes.user is None and isinstance(relations, list):
        for number, relation in enumerate(relations, 1):
            yield _read_relation(relation, f"{name}, relation {number}")


def _users_of(memories: list[Any]) -> set[str]:
    named = (one.get("user_id") for one in memories if isinstance(one, dict))
    return {user for user in named if isinstance(user, str)}


def _require_one_user(users: set[str], wishes: Wishes) -> None:
    if wishes.user is None and len(users) > 1:
        raise refuse_several(
            "The export holds the memories of several users, and a scope is of one: say whose are meant."
        )


def _read_memory(memory: Any, where: str, wishes: Wishes) -> Item:
    if not isinstance(memory, dict):
        return Refusal(where, "It is no object.")
    user = memory.get("user_id")
    if user is not None and not isinstance(user, str):
        return Refusal(where, "Its user_id is no text.")
    if wishes.user is not None and user != wishes.user:
        return LeftOut(where)
    text, name = memory.get("memory", memory.get("text")), memory.get("id")
    if not isinstance(text, str):
        return Refusal(where, "It has no memory, which is its text.")
    key = key_of(NAME, "id", name) if isinstance(name, str) else key_of(NAME, "text", text)
    try:
        occurred_at = read_moment(memory.get("created_at"))
    except ValueError as error:
        return Refusal(where, f"created_at: {error}.")
    fields = {
        "text": text,
        "thread": memory.get("run_id"),
        "author": memory.get("actor_id"),
        "tags": memory.get("categories") or [],
        "occurred_at": occurred_at,
    }
    return Candidate(where, key, fields | imported(key))


def _read_relation(relation: Any, where: str) -> Item:
    named: dict[str, Any] = relation if isinstance(relation, dict) else {}
    target = named.get("target", named.get("destination"))
    parts = [
        part for part in (named.get("source"), named.get("relationship"), target) if isinstance(part, str)
    ]
    if len(parts) != 3:
        return Refusal(where, "It is no relation with source, relationship and target.")
    key = key_of(NAME, "relation", *parts)
    return Candidate(where, key, {"text": " ".join(parts), "title": parts[0]} | imported(key))
