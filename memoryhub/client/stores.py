"""Memory stores: files with a history. The official Anthropic SDK speaks to the same URLs."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import Memory, MemoryStore, MemoryVersion

ROOT = "/v1/memory_stores"

type Hits = list[dict[str, Any]]


class Stores:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, *, description: str = "", environment: str | None = None) -> MemoryStore:
        body = {"name": name, "description": description} | (
            {"environment": environment} if environment else {}
        )
        return cast(MemoryStore, self._transport.call("POST", ROOT, body))

    def get(self, store_id: str) -> MemoryStore:
        return cast(MemoryStore, self._transport.call("GET", f"{ROOT}/{store_id}"))

    def list(self, *, environment: str | None = None) -> Iterator[MemoryStore]:
        return self._transport.pages(ROOT, query={"environment": environment})

    def archive(self, store_id: str) -> MemoryStore:
        return cast(MemoryStore, self._transport.call("POST", f"{ROOT}/{store_id}/archive", repeatable=True))

    def delete(self, store_id: str) -> None:
        self._transport.call("DELETE", f"{ROOT}/{store_id}")

    def read_file(self, store_id: str, path: str) -> Memory:
        """The memory at a path, with its content."""
        return cast(Memory, self._transport.call("GET", _file(store_id, path)))

    def write_file(
        self, store_id: str, path: str, content: str, *, expected_sha256: str | None = None, new: bool = False
    ) -> Memory:
        """Set the content at a path. `expected_sha256`: of what is there; `new`: nothing may be there.

        Raises: HubRefused with status 412 when that does not hold.
        """
        headers = {"If-None-Match": "*"} if new else {}
        if expected_sha256 is not None:
            headers = {"If-Match": f'"{expected_sha256}"'}
        body = {"content": content}
        return cast(Memory, self._transport.call("PUT", _file(store_id, path), body, headers=headers))

    def delete_file(self, store_id: str, path: str, *, expected_sha256: str | None = None) -> None:
        headers = {} if expected_sha256 is None else {"If-Match": f'"{expected_sha256}"'}
        self._transport.call("DELETE", _file(store_id, path), headers=headers)

    def list_memories(self, store_id: str, *, path_prefix: str = "/", full: bool = False) -> Iterator[Memory]:
        query = {"path_prefix": path_prefix, "view": "full" if full else "basic"}
        return self._transport.pages(f"{ROOT}/{store_id}/memories", query=query)

    def list_versions(self, store_id: str, memory_id: str | None = None) -> Iterator[MemoryVersion]:
        """Newest first, of one memory or of the whole store."""
        return self._transport.pages(f"{ROOT}/{store_id}/memory_versions", query={"memory_id": memory_id})

    def search(self, store_id: str, query: str, *, limit: int = 20) -> Hits:
        """Best first: `[{"memory", …}]`. By POST, so that the query stands in no log of URLs."""
        body = {"query": query, "limit": limit}
        found = self._transport.call("POST", f"{ROOT}/{store_id}/memories/search", body, repeatable=True)
        return cast(Hits, found["data"])


def _file(store_id: str, path: str) -> str:
    return f"{ROOT}/{store_id}/files{quote(path)}"
