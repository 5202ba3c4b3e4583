"""Turns of models, step by step: a request is recalled, selects, and a save replaces its document.

Each conversation has a document of its own, so a save is never a conflict.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memoryhub import ids
from memoryhub.digests import sha256_hex
from tools.bench.plans import Step
from tools.bench.texts import make_text

# Sessions count their events from here, so that a number of an event is no other number of a statement.
FIRST_EVENT = 1_000_000


@dataclass(slots=True)
class Conversation:
    """`path`: of its document. `event`: the number of its last event."""

    session_id: UUID
    store_id: UUID
    memory_id: UUID
    path: str
    event: int = FIRST_EVENT
    request_id: UUID | None = None

    @property
    def url(self) -> str:
        return f"/v1/sessions/{ids.to_wire(ids.SESSION, self.session_id)}/model-requests"

    @property
    def request_url(self) -> str:
        assert self.request_id is not None, "a request is opened before"
        return f"{self.url}/{ids.to_wire(ids.MODEL_REQUEST, self.request_id)}"


@dataclass(slots=True)
class Conversations:
    """Of one client; those that wait for each of the three steps."""

    resource_id: str
    idle: list[Conversation]
    recalled: list[Conversation] = field(default_factory=list)
    selected: list[Conversation] = field(default_factory=list)
    turns: "itertools.count[int]" = field(default_factory=itertools.count)
    is_recalling: bool = False

    def begin_recall(self) -> None:
        """What time was too short for is left: the other side of the bench must not go on with it."""
        if not self.is_recalling:
            self.idle += self.recalled + self.selected
            self.recalled, self.selected = [], []
        self.is_recalling = True


class Recall:
    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations

    def next_step(self) -> Step | None:
        self.conversations.begin_recall()
        if not self.conversations.idle:
            return None
        one = self.conversations.idle[0]
        name = f"{self.conversations.resource_id}-turn-{next(self.conversations.turns):09}"
        values = {
            "session_id": one.session_id,
            "store_id": one.store_id,
            "memory_id": one.memory_id,
            "request_id": ids.new_id(),
            "client_request_id": name,
            "event_number": one.event + 1,
            "resource_id": self.conversations.resource_id,
        }
        return Step("POST", one.url, {"client_request_id": name}, values)

    def note(self, step: Step, answer: Any) -> None:
        one = self.conversations.idle.pop(0)
        one.event += 1
        one.request_id = (
            ids.from_wire(ids.MODEL_REQUEST, answer["id"]) if answer else step.values["request_id"]
        )
        self.conversations.recalled.append(one)


class Select:
    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations

    def next_step(self) -> Step | None:
        self.conversations.is_recalling = False
        if not self.conversations.recalled:
            return None
        one = self.conversations.recalled[0]
        values = {
            "session_id": one.session_id,
            "request_id": one.request_id,
            "resource_id": self.conversations.resource_id,
        }
        return Step("PUT", f"{one.request_url}/selection", {"use": [self.conversations.resource_id]}, values)

    def note(self, step: Step, answer: Any) -> None:
        self.conversations.selected.append(self.conversations.recalled.pop(0))


class Save:
    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations

    def next_step(self) -> Step | None:
        if not self.conversations.selected:
            return None
        one = self.conversations.selected[0]
        content = make_text(f"save {one.event}")
        values = {
            "session_id": one.session_id,
            "request_id": one.request_id,
            "store_id": one.store_id,
            "memory_id": one.memory_id,
            "version_id": ids.new_id(),
            "path": one.path,
            "content": content,
            "content_sha256": sha256_hex(content),
            "event_number": one.event + 1,
            "resource_id": self.conversations.resource_id,
        }
        body = {"call_id": "save", "name": "memory_save", "arguments": {"text": content}}
        return Step("POST", f"{one.request_url}/tool-calls", body, values)

    def note(self, step: Step, answer: Any) -> None:
        if answer is not None:
            assert answer["output"]["status"] == "saved", answer
        one = self.conversations.selected.pop(0)
        one.event += 1
        self.conversations.idle.append(one)
