"""Documents of a resource: the owner's verbs, and the steps by which models reach them. Source: contract, sections 7 and 8.

A document is a memory at `/<id>` of its resource's store; its revision is the memory's newest version.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.clock import to_wire_milliseconds
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import sha256_hex
from memoryhub.errors import Conflict, InvalidRequest, NotFound, RequestTooLarge, RevisionConflict
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from providers.limits import SUMMARY_BYTES_MAX, TITLE_BYTES_MAX
from providers.models import Resource
from stores import document_policy, memories
from stores.document_policy import Card
from stores.memory_stores import lock_store, share_store
from stores.models import Memory, MemoryStore

DOCUMENTS_PER_PAGE = 50  # contract: 7.2 and 8.2


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it stands. `memory.head` holds the text where it was asked for."""

    memory: Memory
    bytes_max: int

    @property
    def id(self) -> str:
        return document_id_of(self.memory)

    @property
    def card(self) -> Card:
        return card_of(self.memory)

    @property
    def revision(self) -> str:
        return revision_of(self.memory)

    @property
    def text(self) -> str:
        text = self.memory.head.content
        assert text is not None, "the head of a live memory is never redacted"
        return text


def document_id_of(memory: Memory) -> str:
    return memory.path.removeprefix("/")


def card_of(memory: Memory) -> Card:
    return document_policy.card_of(memory.head)


def revision_of(memory: Memory) -> str:
    return ids.to_wire(ids.MEMORY_VERSION, memory.head_id)


def visible_resources(actor: Actor) -> QuerySet[Resource]:
    resources = Resource.objects.filter(project_id=actor.project_id).select_related("store")
    return (
        resources if actor.environment_id is None else resources.filter(environment_id=actor.environment_id)
    )


def get_resource(environment: str | None, resource_id: str, *, actor: Actor) -> Resource:
    """Raises: NotFound, InvalidRequest when no environment is named."""
    environment_id = tenancy.choose_environment(environment, actor=actor)
    resource = find_row(
        visible_resources(actor).filter(environment_id=environment_id, resource_id=resource_id)
    )
    if resource is None:
        raise NotFound("resource")
    return resource


def get_document_store(environment: str | None, resource_id: str, *, actor: Actor) -> MemoryStore:
    """Raises: NotFound, also for a resource of another kind."""
    resource = get_resource(environment, resource_id, actor=actor)
    if resource.store is None:
        raise NotFound("resource")
    return resource.store


def documents_of(store: MemoryStore, *, with_text: bool) -> QuerySet[Memory]:
    held = Memory.objects.filter(store_id=store.id).select_related("head")
    return held if with_text else held.defer("head__content")


def path_key_of(document_id: str) -> bytes:
    return f"/{document_id}".encode("utf-8", "replace")


def as_document(memory: Memory, store: MemoryStore) -> Document:
    assert store.content_bytes_max is not None
    return Document(memory, store.content_bytes_max)


def get_document(environment: str | None, resource_id: str, document_id: str, *, actor: Actor) -> Document:
    """Raises: NotFound."""
    store = get_document_store(environment, resource_id, actor=actor)
    found = find_row(documents_of(store, with_text=True).filter(path_key=path_key_of(document_id)))
    if found is None:
        raise NotFound("document")
    return as_document(found, store)


def has_document(environment: str | None, resource_id: str, document_id: str, *, actor: Actor) -> bool:
    """Raises: NotFound for the resource."""
    store = get_document_store(environment, resource_id, actor=actor)
    return Memory.objects.filter(store_id=store.id, path_key=path_key_of(document_id)).exists()


def list_documents(
    environment: str | None, resource_id: str, page: ListRequest, *, actor: Actor
) -> Page[Document]:
    """Newest change first, then by id, without texts. Raises: NotFound, InvalidRequest for a foreign cursor."""
    store = get_document_store(environment, resource_id, actor=actor)
    cut = cut_documents(store, page)
    return Page([as_document(memory, store) for memory in cut.rows], cut.next_page)


def cut_documents(store: MemoryStore, page: ListRequest) -> Page[Memory]:
    """A step of every list: newest change first, then by id. Raises: InvalidRequest for a foreign cursor."""
    held = documents_of(store, with_text=False)
    position = page.position()
    if position is not None:
        updated_at, key = datetime.fromisoformat(position[0]), position[1].encode()
        held = held.filter(Q(updated_at__lt=updated_at) | Q(updated_at=updated_at, path_key__gt=key))
    rows = list(held.order_by("-updated_at", "path_key")[: page.limit + 1])
    return cut_page(rows, page, lambda memory: [memory.updated_at.isoformat(), memory.path])


def check_card(title: str | None, summary: str | None) -> None:
    """Raises: InvalidRequest for an empty title, RequestTooLarge for more bytes than a document's card holds."""
    for field, text, size_max in (("title", title, TITLE_BYTES_MAX), ("summary", summary, SUMMARY_BYTES_MAX)):
        size = len((text or "").encode())
        if size > size_max:
            raise RequestTooLarge(
                f"{field}: It has {size} bytes; at most {size_max} are allowed.",
                error_code="memory_limit_exceeded",
                field=field,
                bytes=size,
                max_bytes=size_max,
            )
    if title is not None and not title:
        raise InvalidRequest("title: A document needs a title.")


@atomic(durable=True)
def create_document(
    environment: str | None,
    resource_id: str,
    document_id: str,
    *,
    title: str,
    text: str,
    summary: str,
    agent_writes: bool,
    actor: Actor,
) -> Document:
    """Raises: NotFound, InvalidRequest, RequestTooLarge; RevisionConflict for an id that is or was used."""
    check_card(title, summary)
    store = lock_store(get_document_store(environment, resource_id, actor=actor).wire_id, actor)
    if Memory.objects.filter(store_id=store.id, path_key=path_key_of(document_id)).exists():
        raise RevisionConflict(
            f"The document {document_id} exists already.", error_code="precondition_failed"
        )
    card = Card(title, summary, agent_writes)
    try:
        memory = memories.add_memory(store, path=f"/{document_id}", content=text, card=card, actor=actor)
    except Conflict as error:
        if error.error_code != "document_id_used":
            raise
        raise RevisionConflict(error.message, error_code="precondition_failed") from error
    return as_document(memory, store)


@atomic(durable=True)
def replace_document(
    environment: str | None,
    resource_id: str,
    document_id: str,
    *,
    text: str,
    summary: str | None,
    expected_revision: str,
    actor: Actor,
) -> Document:
    """A summary of None stays. Raises: NotFound, RevisionConflict, RequestTooLarge."""
    check_card(None, summary)
    store, memory = _lock(environment, resource_id, document_id, actor)
    _require_revision(memory, expected_revision)
    return as_document(write_text(store, memory, text=text, summary=summary, actor=actor), store)


def write_text(store: MemoryStore, memory: Memory, *, text: str, summary: str | None, actor: Actor) -> Memory:
    """A step: the document is locked. What it says already is a success and makes no revision. Raises: RequestTooLarge."""
    document_policy.require_fit(store, text)
    card = card_of(memory)
    changed = card if summary is None else Card(card.title, summary, card.agent_writes)
    if changed == card and sha256_hex(text) == memory.content_sha256:
        return memory
    return memories.rewrite_memory(store, memory, content=text, card=changed, actor=actor)


@atomic(durable=True)
def change_card(
    environment: str | None,
    resource_id: str,
    document_id: str,
    *,
    title: str | None,
    agent_writes: bool | None,
    expected_revision: str,
    actor: Actor,
) -> Document:
    """Rename, freeze or unfreeze a document: a new revision with the same text. None stays as it is.

    Once a freeze has answered no model's save commits. Raises: NotFound, InvalidRequest, RevisionConflict.
    """
    check_card(title, None)
    store, memory = _lock(environment, resource_id, document_id, actor)
    _require_revision(memory, expected_revision)
    card = card_of(memory)
    changed = Card(
        card.title if title is None else title,
        card.summary,
        card.agent_writes if agent_writes is None else agent_writes,
    )
    if changed != card:
        memory = _write_card(store, memory, card, changed, actor)
    return as_document(memory, store)


def _write_card(store: MemoryStore, memory: Memory, card: Card, changed: Card, actor: Actor) -> Memory:
    if changed.agent_writes != card.agent_writes:
        memory.frozen_at = None if changed.agent_writes else ClockTimestamp()
        memory.save(update_fields=["frozen_at"])
    text = memories.head_content(memory)
    memory = memories.rewrite_memory(store, memory, content=text, card=changed, actor=actor)
    fields = [name for name in ("title", "agent_writes") if getattr(changed, name) != getattr(card, name)]
    audit.record(
        AuditAction.DOCUMENT_CHANGED,
        memory.wire_id,
        environment_id=store.environment_id,
        parent_id=store.wire_id,
        details={"fields": fields},
        actor=actor,
    )
    return memory


@atomic(durable=True)
def delete_document(
    environment: str | None, resource_id: str, document_id: str, *, expected_revision: str, actor: Actor
) -> None:
    """Its title, text and summary are gone, from its history too; its id is never used again.

    Raises: NotFound, RevisionConflict.
    """
    store, memory = _lock(environment, resource_id, document_id, actor)
    _require_revision(memory, expected_revision)
    memories.remove_memory(store, memory, expected_sha256=None, actor=actor)


def _lock(
    environment: str | None, resource_id: str, document_id: str, actor: Actor
) -> tuple[MemoryStore, Memory]:
    store = share_store(get_document_store(environment, resource_id, actor=actor).wire_id, actor)
    memory = lock_document(store, document_id)
    if memory is None:
        raise NotFound("document")
    return store, memory


def lock_document(store: MemoryStore, document_id: str) -> Memory | None:
    """A step: the document, held alone to the end of the transaction; the store is shared.

    Its head is read after the lock was had: joined to it, a row that was waited for would be lost.
    """
    held = Memory.objects.select_for_update().filter(store_id=store.id)
    return find_row(held.filter(path_key=path_key_of(document_id)))


def _require_revision(memory: Memory, expected_revision: str) -> None:
    if revision_of(memory) != expected_revision:
        raise RevisionConflict(
            "The document changed since it was read: read it again, and repeat the change.",
            error_code="precondition_failed",
        )


def find_documents(wanted: Sequence[tuple[MemoryStore, str]]) -> dict[tuple[UUID, str], Document]:
    """The documents that exist among these (store, id), with their texts, in one query, or in none for none."""
    if not wanted:
        return {}
    stores = {store.id: store for store, _ in wanted}
    held = Memory.objects.filter(
        store_id__in=stores, path_key__in={path_key_of(document_id) for _, document_id in wanted}
    ).select_related("head")
    named = {(store.id, document_id) for store, document_id in wanted}
    found = {(memory.store_id, document_id_of(memory)): memory for memory in held}
    return {key: as_document(memory, stores[key[0]]) for key, memory in found.items() if key in named}


def document_facts(document: Document) -> dict[str, Any]:
    """What a list says of a document to a model. Source: contract, section 7.2."""
    card = document.card
    return {
        "id": document.id,
        "title": card.title,
        "summary": card.summary,
        "revision": document.revision,
        "updatedAt": to_wire_milliseconds(document.memory.updated_at),
    }
