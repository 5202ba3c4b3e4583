"""One store on the server, as a mount asks for it and changes it. Speaks the public paths alone, so another server will do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memoryhub.client.errors import HubRefused
from memoryhub.client.transport import Transport
from memoryhub.digests import sha256_hex
from stores.mount.constants import DOWNLOAD_PAGE, FOREIGN_MARKER, LIST_PAGE, MARKER

_NO_FEED = frozenset({403, 404, 405})


@dataclass(frozen=True, slots=True)
class RemoteMemory:
    id: str
    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Change:
    """`memory`: None when it was deleted."""

    id: str
    memory: RemoteMemory | None


@dataclass(frozen=True, slots=True)
class Feed:
    changes: list[Change]
    cursor: int


class RemoteStore:
    """Everything raises ClientError: HubRefused for an answer that is no, ConnectionFailed for none."""

    def __init__(self, transport: Transport, store_id: str) -> None:
        self._transport = transport
        self.store_id = store_id
        self._root = f"/v1/memory_stores/{quote(store_id, safe='')}"
        self._memories = f"{self._root}/memories"

    def get_store(self) -> dict[str, Any]:
        return dict(self._transport.call("GET", self._root))

    def list_memories(self) -> dict[str, RemoteMemory]:
        """By path, without contents."""
        items = self._pages({"view": "basic", "limit": LIST_PAGE})
        return {item["path"]: _memory(item) for item in items}

    def list_contents(self) -> Iterator[tuple[RemoteMemory, bytes]]:
        """In order of the paths. Raises: ContentDiffersError."""
        for item in self._pages({"view": "full", "limit": DOWNLOAD_PAGE}):
            yield _content(item)

    def get_content(self, memory_id: str) -> tuple[RemoteMemory, bytes] | None:
        """None when it is not there any more. Raises: ContentDiffersError."""
        try:
            return _content(self._transport.call("GET", self._memory(memory_id), query={"view": "full"}))
        except HubRefused as refused:
            if refused.status == 404:
                return None
            raise

    def find_cursor(self) -> int | None:
        """Where the feed of changes stands now: all before it is in a listing that is asked for after this. None: no feed."""
        feed = self._feed({"from_now": "true", "limit": LIST_PAGE})
        return None if feed is None else feed.cursor

    def find_changes(self, cursor: int) -> Feed | None:
        """What happened after a cursor, oldest first. None: the server has no feed."""
        return self._feed({"after": cursor, "limit": LIST_PAGE})

    def _feed(self, query: dict[str, Any]) -> Feed | None:
        changes: list[Change] = []
        while True:
            try:
                answer = self._transport.call("GET", f"{self._root}/changes", query=query)
            except HubRefused as refused:
                if refused.status in _NO_FEED:
                    return None
                raise
            if not isinstance(answer, dict) or not isinstance(answer.get("last_sequence"), int):
                return None
            changes += [_change(entry) for entry in answer["data"]]
            if not answer["has_more"]:
                return Feed(changes, answer["last_sequence"])
            query = {"after": answer["last_sequence"], "limit": LIST_PAGE}

    def create(self, path: str, content: str) -> RemoteMemory:
        return _memory(self._transport.call("POST", self._memories, {"path": path, "content": content}))

    def update(self, memory: RemoteMemory, content: str) -> RemoteMemory:
        """Only while the server holds what `memory` says."""
        body = {"content": content, "precondition": _precondition(memory.digest)}
        return _memory(self._transport.call("POST", self._memory(memory.id), body))

    def rename(self, memory: RemoteMemory, path: str) -> RemoteMemory:
        body = {"path": path, "precondition": _precondition(memory.digest)}
        return _memory(self._transport.call("POST", self._memory(memory.id), body))

    def delete(self, memory: RemoteMemory) -> None:
        query = {"expected_content_sha256": memory.digest}
        self._transport.call("DELETE", self._memory(memory.id), query=query)

    def _memory(self, memory_id: str) -> str:
        return f"{self._memories}/{quote(memory_id, safe='')}"

    def _pages(self, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Goes on until there is no next page: `has_more` is not every server's."""
        while True:
            page = self._transport.call("GET", self._memories, query=query)
            for item in page["data"]:
                if item["type"] == "memory" and item["path"] not in (MARKER, FOREIGN_MARKER):
                    yield item
            if not page.get("next_page"):
                return
            query = {**query, "page": page["next_page"]}


class ContentDiffersError(Exception):
    """The content that came is not the one whose digest and size came with it."""


def _memory(item: dict[str, Any]) -> RemoteMemory:
    return RemoteMemory(item["id"], item["path"], item["content_sha256"])


def _content(item: dict[str, Any]) -> tuple[RemoteMemory, bytes]:
    raw = (item["content"] or "").encode()
    if len(raw) != item["content_size_bytes"] or sha256_hex(raw) != item["content_sha256"]:
        raise ContentDiffersError(f"The content of {item['path']} is not what its digest says.")
    return _memory(item), raw


def _change(entry: dict[str, Any]) -> Change:
    is_there = entry["operation"] != "deleted" and entry["path"] is not None
    memory = RemoteMemory(entry["memory_id"], entry["path"], entry["content_sha256"]) if is_there else None
    return Change(entry["memory_id"], memory)


def _precondition(digest: str) -> dict[str, str]:
    return {"type": "content_sha256", "content_sha256": digest}
