"""Memory stores: files with a history. The official Anthropic SDK speaks to the same URLs."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import Hit, Memory, MemoryStore, MemoryVersion

ROOT = "/v1/memory_stores"

type Hits = list[Hit]


class Stores:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        *,
        description: str = "",
        metadata: dict[str, str] | None = None,
        environment: str | None = None,
    ) -> MemoryStore:
        body: dict[str, Any] = {"name": name, "description": description, "metadata": metadata or {}}
        if environment is not None:
            body["environment"] = environment
        return cast(MemoryStore, self._transport.call("POST", ROOT, body))

    def update(
        self,
        store_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: dict[str, str | None] | None = None,
    ) -> MemoryStore:
        """What is None stays. A key of `metadata` whose value is None is removed."""
        body = {"name": name, "description": description, "metadata": metadata}
        given = {key: value for key, value in body.items() if value is not None}
        return cast(MemoryStore, self._transport.call("POST", f"{ROOT}/{store_id}", given, repeatable=True))

    def get(self, store_id: str) -> MemoryStore:
        return cast(MemoryStore, self._transport.call("GET", f"{ROOT}/{store_id}"))

    def list(
        self, *, environment: str | None = None, include_archived: bool = False
    ) -> Iterator[MemoryStore]:
        query = {"environment": environment, "include_archived": "true" if include_archived else None}
        return self._transport.pages(ROOT, query=query)

    def archive(self, store_id: str) -> MemoryStore:
        return cast(MemoryStore, self._transport.call("POST", f"{ROOT}/{store_id}/archive", repeatable=True))

    def freeze(self, store_id: str) -> MemoryStore:
        """Nothing that an agent writes commits once this has returned."""
        return cast(MemoryStore, self._transport.call("POST", f"{ROOT}/{store_id}/freeze", repeatable=True))

    def unfreeze(self, store_id: str) -> MemoryStore:
        return cast(MemoryStore, self._transport.call("POST", f"{ROOT}/{store_id}/unfreeze", repeatable=True))

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

    def move_file(self, store_id: str, memory_id: str, path: str) -> Memory:
        """The same memory at another path; its history goes with it."""
        return cast(
            Memory, self._transport.call("POST", f"{ROOT}/{store_id}/memories/{memory_id}", {"path": path})
        )

    def get_memory(self, store_id: str, memory_id: str) -> Memory:
        """By its id, with its content."""
        return cast(Memory, self._transport.call("GET", f"{ROOT}/{store_id}/memories/{memory_id}"))

    def list_memories(self, store_id: str, *, path_prefix: str = "/", full: bool = False) -> Iterator[Memory]:
        query = {"path_prefix": path_prefix, "view": "full" if full else "basic"}
        return self._transport.pages(f"{ROOT}/{store_id}/memories", query=query)

    def list_versions(self, store_id: str, memory_id: str | None = None) -> Iterator[MemoryVersion]:
        """Newest first, of one memory or of the whole store."""
        return self._transport.pages(f"{ROOT}/{store_id}/memory_versions", query={"memory_id": memory_id})

    def get_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """With its content, unless it was redacted."""
        return cast(
            MemoryVersion, self._transport.call("GET", f"{ROOT}/{store_id}/memory_versions/{version_id}")
        )

    def redact_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Erase the text of a version that is not current, and every copy of it. It never comes back."""
        path = f"{ROOT}/{store_id}/memory_versions/{version_id}/redact"
        return cast(MemoryVersion, self._transport.call("POST", path, repeatable=True))

    def search(self, store_id: str, query: str, *, limit: int = 20) -> Hits:
        """Best first, without contents. By POST, so that the query stands in no log of URLs."""
        body = {"query": query, "limit": limit}
        found = self._transport.call("POST", f"{ROOT}/{store_id}/memories/search", body, repeatable=True)
        return cast(Hits, found["data"])


def _file(store_id: str, path: str) -> str:
    return f"{ROOT}/{store_id}/files{quote(path)}"
