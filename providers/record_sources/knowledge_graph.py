"""`memory.json` of the knowledge graph server of the Model Context Protocol: a JSON object in each line, an entity or a relation.

Source: its reference server: `{"type": "entity", "name", "entityType", "observations"}` and
`{"type": "relation", "from", "to", "relationType"}`. An answer of its `read_graph` is taken too.
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
    refuse_unread,
)

NAME = "memory_json"


def read_knowledge_graph(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    for file in files:
        if isinstance(file, SourceFile):
            yield from _read(file)
        else:
            yield refuse_unread(file)


def _read(file: SourceFile) -> Iterator[Item]:
    content = file.content
    graph = _find_graph(content)
    if graph is not None:
        for kind, nouns in (("entity", "entities"), ("relation", "relations")):
            listed = graph.get(nouns, [])
            for number, one in enumerate(listed if isinstance(listed, list) else [listed], 1):
                one = {"type": kind, **one} if isinstance(one, dict) else one
                yield from _read_one(one, f"{file.name}, {kind} {number}")
        return
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            where = f"{file.name}, line {number}"
            value = read_json(line, where)
            yield from [value] if isinstance(value, Refusal) else _read_one(value, where)


def _find_graph(content: bytes) -> dict[str, Any] | None:
    """The whole as one object with its entities; None for lines."""
    if b'"entities"' not in content:
        return None
    value = read_json(content, "")
    return value if isinstance(value, dict) and "entities" in value else None


def _read_one(value: Any, where: str) -> Iterator[Item]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "entity":
        yield from _read_entity(value, where)
    elif kind == "relation":
        yield _read_relation(value, where)
    else:
        yield Refusal(where, "It is neither an entity nor a relation.")


def _read_entity(entity: dict[str, Any], where: str) -> Iterator[Item]:
    name, kind, observations = entity.get("name"), entity.get("entityType"), entity.get("observations")
    if not isinstance(name, str) or not isinstance(kind, str) or not isinstance(observations, list):
        yield Refusal(where, "It is no entity with name, entityType and observations.")
        return
    if not observations:
        key = key_of(NAME, "entity", name, kind)
        yield Candidate(
            where, key, {"text": f"{name}: {kind}", "title": name, "thread": name} | imported(key)
        )
    for number, observation in enumerate(observations, 1):
        inner = f"{where}, observation {number}"
        if not isinstance(observation, str):
            yield Refusal(inner, "It is no text.")
            continue
        key = key_of(NAME, "observation", name, observation)
        fields = {"text": observation, "title": name, "thread": name, "tags": [kind] if kind else []}
        yield Candidate(inner, key, fields | imported(key))


def _read_relation(relation: dict[str, Any], where: str) -> Item:
    parts = [relation.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(part, str) for part in parts):
        return Refusal(where, "It is no relation with from, relationType and to.")
    key = key_of(NAME, "relation", *map(str, parts))
    fields = {"text": " ".join(map(str, parts)), "title": parts[0], "thread": parts[0]}
    return Candidate(where, key, fields | imported(key))
