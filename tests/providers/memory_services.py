"""Fakes of memory services over real sockets, written from the contract's table: what they are asked, and nothing else, they answer.

`received` is everything that reached them. `script` of the endpoint spoils single answers; `lose_reply` commits and hangs up.
"""

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint, Exchange

KEY = "svc-9f8e7d6c5b4a"
WORD = re.compile(r"[^\W_]+|[\U0001f000-\U0001ffff]+")


@dataclass
class Kept:
    id: str
    text: str
    place: Any
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)


def rank(kept: list[Kept], query: str, count: int) -> list[tuple[Kept, float]]:
    wanted = set(WORD.findall(query.lower()))
    scored = [(one, float(len(wanted & set(WORD.findall(one.text.lower()))))) for one in kept]
    return sorted([pair for pair in scored if pair[1]], key=lambda pair: -pair[1])[:count]


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, list[str]]
    json: Any
    headers: dict[str, str]

    @property
    def parts(self) -> list[str]:
        return [unquote(part) for part in self.path.strip("/").split("/")]


class FakeService:
    """One service. A subclass answers `(status, body)` for what it is asked."""

    scheme = "Bearer"

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        endpoint.always = self.serve
        self.kept: list[Kept] = []
        self.received: list[Asked] = []
        self.replies_lost = 0
        self.keys: dict[str, Any] = {}
        self.lock = threading.Lock()

    @property
    def options(self) -> dict[str, Any]:
        return {"url": self.endpoint.origin, "secret": "SERVICE_KEY"}

    def serve(self, exchange: Exchange) -> None:
        method, target, _ = exchange.line.split(" ")
        parts = urlsplit(target)
        body = exchange.json if exchange.body else None
        asked = Asked(method, parts.path, parse_qs(parts.query), body, exchange.headers)
        with self.lock:
            self.received.append(asked)
            status, answer = self.answer(asked)
            loses = self.replies_lost > 0 and self.is_save(asked) and status < 300
            self.replies_lost -= loses
        if loses:
            return
        misbehaving.body(answer, status)(exchange)

    def answer(self, asked: Asked) -> tuple[int, Any]:
        if asked.headers.get("authorization") != f"{self.scheme} {KEY}":
            return 401, {"detail": "Who is it?"}
        return self.handle(asked)

    def handle(self, asked: Asked) -> tuple[int, Any]:
        raise NotImplementedError

    def is_save(self, asked: Asked) -> bool:
        raise NotImplementedError

    def saves(self) -> list[Asked]:
        return [one for one in self.received if self.is_save(one)]

    def deletes(self) -> list[Asked]:
        return [one for one in self.received if one.method == "DELETE"]

    def everything(self) -> str:
        """All that reached it, but the header with its key."""
        return "\n".join(
            f"{one.method} {one.path} {one.query} {one.json} {one.headers}" for one in self.received
        )

    def keep(self, text: str, place: Any, **more: Any) -> Kept:
        made = Kept(str(uuid.uuid4()), text, place, **more)
        self.kept.append(made)
        return made

    def drop(self, fits: Callable[[Kept], bool]) -> tuple[int, Any]:
        before = len(self.kept)
        self.kept = [one for one in self.kept if not fits(one)]
        return (200, {}) if len(self.kept) < before else (404, {"detail": "not found"})

    def in_place(self, place: Any) -> list[Kept]:
        return [one for one in self.kept if one.place == place]


class FakeHindsight(FakeService):
    def is_save(self, asked: Asked) -> bool:
        return asked.method == "POST" and asked.path.endswith("/memories")

    def handle(self, asked: Asked) -> tuple[int, Any]:
        match asked.method, asked.parts:
            case "POST", ["v1", "default", "banks", bank, "memories"]:
                assert asked.json["async"] is False
                [item] = asked.json["items"]
                assert item["update_mode"] == "replace"
                assert all(type(value) is str for value in item["metadata"].values())
                self.drop(lambda one: one.place == bank and one.id == item["document_id"])
                self.kept.append(
                    Kept(item["document_id"], item["content"], bank, item["metadata"], item["tags"])
                )
                return 200, {"success": True, "items_count": 1}
            case "POST", ["v1", "default", "banks", bank, "memories", "recall"]:
                assert asked.json["tags_match"] == "all_strict" and asked.json["budget"] in ("low", "mid")
                found = [one for one in self.in_place(bank) if set(asked.json["tags"]) <= set(one.tags)]
                return 200, {"results": [self.fact(one) for one, _ in rank(found, asked.json["query"], 100)]}
            case "DELETE", ["v1", "default", "banks", bank, "documents", document]:
                status, _ = self.drop(lambda one: one.place == bank and one.id == document)
                return status, {"success": True, "memory_units_deleted": 1}
        return 404, {}

    def fact(self, one: Kept) -> dict[str, Any]:
        return {
            "id": f"fact-{one.id}",
            "text": one.text,
            "document_id": one.id,
            "metadata": one.metadata,
            "type": "world",
        }


class FakeMem0(FakeService):
    """`says_ids`: whether a save is answered with its id, or only with an event. `page`: how many a list holds."""

    scheme = "Token"
    says_ids = False
    shows = True

    def is_save(self, asked: Asked) -> bool:
        return asked.path == "/v3/memories/add/"

    def handle(self, asked: Asked) -> tuple[int, Any]:
        match asked.method, asked.parts:
            case "POST", ["v3", "memories", "add"]:
                assert asked.json["infer"] is False
                [message] = asked.json["messages"]
                user = asked.json["filters"]["user_id"]
                made = self.keep(message["content"], user, metadata=asked.json["metadata"])
                return 200, [{"id": made.id}] if self.says_ids else {"status": "PENDING", "event_id": "e1"}
            case "POST", ["v3", "memories", "search"]:
                assert "user_id" not in asked.json
                found = self.in_place(asked.json["filters"]["user_id"]) if self.shows else []
                ranked = rank(found, asked.json["query"], asked.json["top_k"])
                return 200, {"results": [self.shown(one) | {"score": score} for one, score in ranked]}
            case "POST", ["v3", "memories"]:
                found = self.in_place(asked.json["filters"]["user_id"]) if self.shows else []
                page, size = int(asked.query["page"][0]), int(asked.query["page_size"][0])
                cut = found[(page - 1) * size : page * size]
                more = "more" if len(found) > page * size else None
                return 200, {"count": len(found), "next": more, "results": [self.shown(one) for one in cut]}
            case "DELETE", ["v1", "memories", memory]:
                return self.drop(lambda one: one.id == memory)
        return 404, {}

    def shown(self, one: Kept) -> dict[str, Any]:
        return {"id": one.id, "memory": one.text, "metadata": one.metadata}


class FakeLetta(FakeService):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.archives: list[dict[str, Any]] = []

    def is_save(self, asked: Asked) -> bool:
        return asked.method == "POST" and asked.path.endswith("/passages")

    def handle(self, asked: Asked) -> tuple[int, Any]:
        match asked.method, asked.parts:
            case "GET", ["v1", "archives"]:
                return 200, [one for one in self.archives if one["name"] == asked.query["name"][0]]
            case "POST", ["v1", "archives"]:
                self.archives.append({"id": f"archive-{uuid.uuid4()}", "name": asked.json["name"]})
                return 201, self.archives[-1]
            case "POST", ["v1", "archives", archive, "passages"]:
                assert archive in {one["id"] for one in self.archives}
                made = self.keep(
                    asked.json["text"], archive, metadata=asked.json["metadata"], tags=asked.json["tags"]
                )
                return 201, self.passage(made)
            case "POST", ["v1", "passages", "search"]:
                assert "agent_id" not in asked.json
                found = [
                    one
                    for one in self.kept
                    if asked.json.get("archive_id") in (None, one.place)
                    and set(asked.json.get("tags", [])) <= set(one.tags)
                ]
                limit = asked.json["limit"]
                query = asked.json.get("query")
                ranked = rank(found, query, limit) if query else [(one, 1.0) for one in found[:limit]]
                return 200, [
                    {"passage": self.passage(one), "score": score, "metadata": {}} for one, score in ranked
                ]
            case "DELETE", ["v1", "archives", archive, "passages", passage]:
                return self.drop(lambda one: one.place == archive and one.id == passage)
        return 404, {}

    def passage(self, one: Kept) -> dict[str, Any]:
        return {"id": one.id, "text": one.text, "metadata": one.metadata, "tags": one.tags}


class FakeHoncho(FakeService):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.workspaces: dict[str, set[str]] = {}

    def is_save(self, asked: Asked) -> bool:
        return asked.method == "POST" and asked.path.endswith("/conclusions")

    def handle(self, asked: Asked) -> tuple[int, Any]:
        match asked.method, asked.parts:
            case "POST", ["v3", "workspaces"]:
                self.workspaces.setdefault(asked.json["id"], set())
                return 200, {"id": asked.json["id"]}
            case "POST", ["v3", "workspaces", workspace, "peers"]:
                self.workspaces[workspace].add(asked.json["id"])
                return 200, {"id": asked.json["id"]}
            case "POST", ["v3", "workspaces", workspace, "conclusions"]:
                [one] = asked.json["conclusions"]
                assert {one["observer_id"], one["observed_id"]} <= self.workspaces[workspace]
                made = self.keep(one["content"], (workspace, one["observer_id"], one["observed_id"]))
                return 201, [{"id": made.id, "content": made.text}]
            case "POST", ["v3", "workspaces", workspace, "conclusions", "query"]:
                assert 1 <= asked.json["top_k"] <= 100
                peers = asked.json["filters"]
                found = self.in_place((workspace, peers["observer_id"], peers["observed_id"]))
                ranked = rank(found, asked.json["query"], asked.json["top_k"])
                return 200, [{"id": one.id, "content": one.text} for one, _ in ranked]
            case "DELETE", ["v3", "workspaces", workspace, "conclusions", conclusion]:
                return self.drop(lambda one: one.id == conclusion)
        return 404, {}


class FakeZep(FakeService):
    scheme = "Api-Key"

    def is_save(self, asked: Asked) -> bool:
        return asked.method == "POST" and asked.path.endswith("/episodes") and "search" not in asked.path

    def answer(self, asked: Asked) -> tuple[int, Any]:
        key = asked.headers.get("idempotency-key")
        if key is not None and key in self.keys:
            return self.keys[key]
        status, answer = super().answer(asked)
        if key is not None and status < 300:
            self.keys[key] = (status, answer)
        return status, answer

    def handle(self, asked: Asked) -> tuple[int, Any]:
        match asked.method, asked.parts:
            case "POST", ["graphs"]:
                return 201, {"uuid": str(uuid.uuid4()), "name": asked.json["name"]}
            case "POST", ["graphs", graph, "episodes"]:
                assert len(asked.json["metadata"]) <= 10 and asked.json["type"] == "text"
                made = self.keep(asked.json["data"], graph, metadata=asked.json["metadata"])
                return 202, {"uuid": made.id, "task_id": "t1"}
            case "POST", ["graphs", graph, "search", "episodes"]:
                ranked = rank(self.in_place(graph), asked.json["query"], int(asked.query["page_size"][0]))
                return 200, {"episodes": [self.episode(one, score) for one, score in ranked]}
            case "DELETE", ["graphs", graph, "episodes", episode]:
                status, _ = self.drop(lambda one: one.place == graph and one.id == episode)
                return (202, {"task_id": "t2"}) if status == 200 else (404, {})
        return 404, {}

    def episode(self, one: Kept, score: float) -> dict[str, Any]:
        return {"uuid": one.id, "content": one.text, "metadata": one.metadata, "score": score}


FAKES: dict[str, type[FakeService]] = {
    "hindsight": FakeHindsight,
    "mem0": FakeMem0,
    "letta": FakeLetta,
    "honcho": FakeHoncho,
    "zep": FakeZep,
}
