"""What a client does, step by step: the HTTP request, and the values that the floor's statements need for the same.

A plan belongs to one client and outlives its slices, so that the hub and the floor take turns on the same memories.
"""

import itertools
import json
import random
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode
from uuid import UUID

from memoryhub import ids
from memoryhub.digests import sha256_hex
from tools.bench.texts import make_query, make_text

TEXTS_PER_CLIENT = 32  # a client takes turns with them, so no write is a write of the same


@dataclass(frozen=True, slots=True)
class Step:
    """`values`: name -> what the recorded statements put in that place."""

    method: str
    url: str
    body: dict[str, Any] | None
    values: dict[str, Any]

    @property
    def body_bytes(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Target:
    """A store and its memories, the first at `path_of(0)` and so on; each holds `make_text` of its id."""

    store_id: UUID
    memories: tuple[UUID, ...]

    def url(self, rest: str) -> str:
        return f"/v1/memory_stores/{ids.to_wire(ids.MEMORY_STORE, self.store_id)}{rest}"

    def memory_url(self, memory_id: UUID) -> str:
        return self.url(f"/memories/{ids.to_wire(ids.MEMORY, memory_id)}")


def path_of(number: int) -> str:
    return f"/folder-{number // 100:03}/{number:05}.md"


class Plan(Protocol):
    def next_step(self) -> Step | None:
        """None when there is nothing left to do."""

    def note(self, step: Step, answer: Any) -> None:
        """The step succeeded. `answer`: the hub's body, or None from the floor."""


class Get:
    """Any memory of the store."""

    def __init__(self, target: Target, client: int) -> None:
        self.target = target
        self.chance = random.Random(client)

    def next_step(self) -> Step:
        memory_id = self.chance.choice(self.target.memories)
        values = {"store_id": self.target.store_id, "memory_id": memory_id}
        return Step("GET", self.target.memory_url(memory_id), None, values)

    def note(self, step: Step, answer: Any) -> None: ...


class ListPage:
    """The first 20 memories."""

    def __init__(self, target: Target, client: int) -> None:
        self.step = Step("GET", target.url("/memories?limit=20"), None, {"store_id": target.store_id})

    def next_step(self) -> Step:
        return self.step

    def note(self, step: Step, answer: Any) -> None: ...


class Search:
    """The ten best memories for three words, other words each time."""

    def __init__(self, target: Target, client: int) -> None:
        self.target = target
        self.numbers = itertools.count(client * 1_000)

    def next_step(self) -> Step:
        asked = urlencode({"query": make_query(next(self.numbers)), "limit": 10})
        return Step("GET", self.target.url(f"/memories/search?{asked}"), None, {})

    def note(self, step: Step, answer: Any) -> None: ...


class Update:
    """A memory of the client's own, with the precondition that it is as this client left it."""

    def __init__(self, target: Target, client: int) -> None:
        self.target = target
        self.memory_id, self.path = target.memories[client], path_of(client)
        self.texts = _take_turns(client)
        self.current_sha256 = sha256_hex(make_text(self.memory_id.hex))

    def next_step(self) -> Step:
        content = next(self.texts)
        precondition = {"type": "content_sha256", "content_sha256": self.current_sha256}
        values = {
            "store_id": self.target.store_id,
            "memory_id": self.memory_id,
            "version_id": ids.new_id(),
            "path": self.path,
            "content": content,
            "content_sha256": sha256_hex(content),
        }
        body = {"content": content, "precondition": precondition}
        return Step("POST", self.target.memory_url(self.memory_id), body, values)

    def note(self, step: Step, answer: Any) -> None:
        self.current_sha256 = step.values["content_sha256"]


class Create:
    """Memories at new paths; what was made waits in `made` to be deleted."""

    def __init__(self, target: Target, client: int) -> None:
        self.target = target
        self.client = client
        self.numbers = itertools.count()
        self.texts = _take_turns(client)
        self.made: list[UUID] = []

    def next_step(self) -> Step:
        path, content = f"/client-{self.client}/{next(self.numbers):09}.md", next(self.texts)
        values = {
            "store_id": self.target.store_id,
            "memory_id": ids.new_id(),
            "version_id": ids.new_id(),
            "path": path,
            "content": content,
            "content_sha256": sha256_hex(content),
        }
        return Step("POST", self.target.url("/memories"), {"path": path, "content": content}, values)

    def note(self, step: Step, answer: Any) -> None:
        made = ids.from_wire(ids.MEMORY, answer["id"]) if answer else step.values["memory_id"]
        assert made is not None, "the hub names the memory it made"
        self.made.append(made)


class Delete:
    """What the client's `Create` made, to the last."""

    def __init__(self, create: Create) -> None:
        self.create = create

    def next_step(self) -> Step | None:
        if not self.create.made:
            return None
        memory_id, target = self.create.made[-1], self.create.target
        values = {"store_id": target.store_id, "memory_id": memory_id}
        return Step("DELETE", target.memory_url(memory_id), None, values)

    def note(self, step: Step, answer: Any) -> None:
        self.create.made.pop()


def _take_turns(client: int) -> "itertools.cycle[str]":
    return itertools.cycle([make_text(f"client {client}", number) for number in range(TEXTS_PER_CLIENT)])
