"""Documents of a resource, each changed only from the revision that was read."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import Document


class Documents:
    """Of one project and environment."""

    def __init__(self, transport: Transport, project_id: str, environment: str) -> None:
        self._transport = transport
        self._root = f"/v1/projects/{project_id}/memory"
        self._query: dict[str, Any] = {"environment": environment}

    def list(self, resource_id: str) -> Iterator[Document]:
        """Newest change first, without texts."""
        return self._transport.pages(self._documents(resource_id), query=self._query)

    def get(self, resource_id: str, document_id: str) -> Document:
        return self._call("GET", resource_id, document_id)

    def create(
        self,
        resource_id: str,
        document_id: str,
        *,
        title: str,
        text: str = "",
        summary: str = "",
        agent_writes: bool = True,
    ) -> Document:
        """Raises: HubRefused with status 412 for an id that is or was used."""
        policy = "enabled" if agent_writes else "disabled"
        body = {"title": title, "text": text, "summary": summary, "agent_writes": policy}
        return self._call("PUT", resource_id, document_id, body, {"If-None-Match": "*"})

    def replace(
        self, resource_id: str, document_id: str, text: str, *, revision: str, summary: str | None = None
    ) -> Document:
        """Raises: HubRefused with status 412 when the document changed since `revision`."""
        body = {"text": text} | ({} if summary is None else {"summary": summary})
        return self._call("PUT", resource_id, document_id, body, _match(revision))

    def rename(self, resource_id: str, document_id: str, title: str, *, revision: str) -> Document:
        return self._call("PATCH", resource_id, document_id, {"title": title}, _match(revision))

    def freeze(self, resource_id: str, document_id: str, *, revision: str) -> Document:
        """No model's save commits once this has returned."""
        return self._call("PATCH", resource_id, document_id, {"agent_writes": "disabled"}, _match(revision))

    def unfreeze(self, resource_id: str, document_id: str, *, revision: str) -> Document:
        return self._call("PATCH", resource_id, document_id, {"agent_writes": "enabled"}, _match(revision))

    def delete(self, resource_id: str, document_id: str, *, revision: str) -> None:
        """Title, text and summary are gone for good, and the id is never used again."""
        self._call("DELETE", resource_id, document_id, None, _match(revision))

    def export(self, *resource_ids: str) -> Iterator[str]:
        """A line of JSON for each document, retired resources too; of these resources only, when some are named."""
        query = self._query | ({"resource": list(resource_ids)} if resource_ids else {})
        return self._transport.lines(f"{self._root}/export", query=query)

    def _documents(self, resource_id: str) -> str:
        return f"{self._root}/{quote(resource_id, safe='')}/documents"

    def _call(
        self,
        method: str,
        resource_id: str,
        document_id: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Document:
        path = f"{self._documents(resource_id)}/{quote(document_id, safe='')}"
        return cast(Document, self._transport.call(method, path, body, query=self._query, headers=headers))


def _match(revision: str) -> dict[str, str]:
    return {"If-Match": f'"{revision}"'}
