"""What a store of documents asks of its memories, through whichever door they are changed.

A document is a memory at `/<id>`. It carries a title, a summary and whether agents may write it; its id is used once.
Source: architecture, decision 12; contract of document and HTTP memory, section 8.
"""

import re
from dataclasses import dataclass

from django.conf import settings

from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest, PermissionRefused, RequestTooLarge
from stores.models import Memory, MemoryStore, MemoryVersion, UsedPath

_PATH = re.compile(r"/[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Card:
    """What a document says beside its text."""

    title: str
    summary: str = ""
    agent_writes: bool = True


def is_document_store(store: MemoryStore) -> bool:
    return store.resource_id is not None


def require_new(store: MemoryStore, path: str, content: str) -> None:
    """A step: the store is locked. Raises: InvalidRequest, Conflict (`document_id_used`), RequestTooLarge."""
    if not _PATH.fullmatch(path):
        raise InvalidRequest(
            "path: A document's path is / and its id: 1 to 128 letters, digits, _ and -.",
            error_code="document_path_invalid",
        )
    if UsedPath.objects.filter(store_id=store.id, path_key=path.encode()).exists():
        raise Conflict(
            "A deleted document had this id, and an id is used once.", error_code="document_id_used"
        )
    if Memory.objects.filter(store_id=store.id).count() >= settings.DOCUMENTS_MAX:
        raise InvalidRequest(
            f"The resource holds {settings.DOCUMENTS_MAX} documents already; delete some first.",
            error_code="documents_full",
        )
    require_fit(store, content)


def require_fit(store: MemoryStore, content: str) -> None:
    """Raises: RequestTooLarge for a text over the resource's current limit."""
    size, size_max = len(content.encode()), store.content_bytes_max
    assert size_max is not None
    if size > size_max:
        raise RequestTooLarge(
            f"text: It has {size} bytes; a document of this resource holds at most {size_max}.",
            error_code="memory_limit_exceeded",
            field="text",
            bytes=size,
            max_bytes=size_max,
        )


def require_deleter(store: MemoryStore, actor: Actor) -> None:
    """Raises: PermissionRefused for a document and a session: its model deletes none, and a session redacts nothing."""
    if is_document_store(store) and actor.type == "session_actor":
        raise PermissionRefused("A session deletes no document; its owner can.")


def require_same_path(memory: Memory, path: str | None) -> None:
    """Raises: InvalidRequest for a rename: its id is how sessions and applications know a document."""
    if path is not None and path != memory.path:
        raise InvalidRequest(
            "path: A document keeps its id; create another one with this text.",
            error_code="document_id_fixed",
        )


def require_plain(store: MemoryStore, change: str) -> None:
    """Raises: InvalidRequest for a store of documents, which belongs to its resource. `change`: a past participle."""
    if is_document_store(store):
        raise InvalidRequest(
            f"This store holds the documents of the resource {store.resource_id}, so it cannot be {change} by itself.",
            error_code="store_of_resource",
        )


def card_of(version: MemoryVersion) -> Card:
    assert version.title is not None
    return Card(version.title, version.summary or "", version.agent_writes is not False)


def first_card(path: str) -> Card:
    """Of a document that was created as a file: its id is all that is known of it."""
    return Card(title=path.removeprefix("/"))
