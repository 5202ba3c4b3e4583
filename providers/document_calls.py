"""What a model does with the documents that its session binds: save, list, read. Steps: the session is locked.

Source: contract of document and HTTP memory, section 7.2. What is checked before, of names and targets, is whose call it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoryhub import erasure
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.models import Session
from memoryhub.pagination import ListRequest
from memoryhub.session_events import append_event
from providers import documents
from providers.documents import document_facts
from providers.limits import SUMMARY_BYTES_MAX
from providers.models import Binding
from providers.offers import DOCUMENT_TOOLS, PREFIX
from providers.tool_outcomes import Outcome, rejected
from stores.memory_stores import share_store
from stores.models import Memory, MemoryStore

MEMORY_SAVE, MEMORY_LIST, MEMORY_READ = (PREFIX + tool.name for tool in DOCUMENT_TOOLS)


@dataclass(frozen=True, slots=True)
class DocumentCall:
    """`arguments`: they fit the tool's schema. `revision`: at which a save was recalled. `actor`: who a write is made by."""

    session: Session
    binding: Binding
    arguments: dict[str, Any]
    revision: str | None
    actor: Actor

    @property
    def resource_id(self) -> str:
        return self.binding.resource.resource_id


def run(name: str, call: DocumentCall) -> Outcome:
    """`name`: of the tool, as a model sees it."""
    return _TOOLS[name](call)


def _store_of(binding: Binding) -> MemoryStore:
    assert binding.resource.store is not None
    return binding.resource.store


def _save(call: DocumentCall) -> Outcome:
    """Checks 5 to 9 of section 7.2."""
    store = share_store(_store_of(call.binding).wire_id, call.actor)
    memory = documents.lock_document(store, call.binding.target_id)
    if memory is None:
        return rejected("not_found")
    if memory.frozen_at is not None or store.frozen_at is not None:
        return rejected("agent_writes_disabled")
    text, summary = call.arguments["text"], call.arguments.get("summary")
    if too_large := _find_too_large(store, text, summary):
        return too_large
    if documents.revision_of(memory) != call.revision:
        return _conflict(memory)
    return _write(call, store, memory, text, summary)


def _find_too_large(store: MemoryStore, text: str, summary: str | None) -> Outcome | None:
    assert store.content_bytes_max is not None
    limits = (("text", text, store.content_bytes_max), ("summary", summary or "", SUMMARY_BYTES_MAX))
    for name, value, size_max in limits:
        size = len(value.encode())
        if size > size_max:
            return rejected("too_large", field=name, bytes=size, maxBytes=size_max)
    return None


def _conflict(memory: Memory) -> Outcome:
    """What stands now, without its revision: only who reads it again may write over it."""
    card = documents.card_of(memory)
    output = {"status": "conflict", "text": memory.head.content, "summary": card.summary}
    return Outcome(output, version_ids=[memory.head_id])


def _write(call: DocumentCall, store: MemoryStore, memory: Memory, text: str, summary: str | None) -> Outcome:
    before = memory.head_id
    saved = documents.write_text(store, memory, text=text, summary=summary, actor=call.actor)
    revision, size = documents.revision_of(saved), saved.content_size_bytes
    if saved.head_id != before:
        facts = {
            "resource": call.resource_id,
            "document_id": call.binding.target_id,
            "revision": revision,
            "bytes": size,
        }
        append_event(call.session, "memory.saved", facts)
    output = {"status": "saved", "revision": revision, "bytes": size}
    return Outcome(output, version_ids=[saved.head_id], keeps_arguments=True)


def _list(call: DocumentCall) -> Outcome:
    resource = call.binding.resource
    filters = {"environment": resource.environment_id.hex, "resource": resource.resource_id}
    wanted = ListRequest("memory_list", filters, documents.DOCUMENTS_PER_PAGE, call.arguments.get("cursor"))
    store = _store_of(call.binding)
    erasure.hold_copies(call.session.environment_id)
    try:
        page = documents.cut_documents(store, wanted)
    except InvalidRequest:
        return rejected("invalid_cursor")
    listed = [
        document_facts(documents.as_document(memory, store)) | {"bytes": memory.content_size_bytes}
        for memory in page.rows
    ]
    output = {"documents": listed, "nextCursor": page.next_page}
    return Outcome(output, version_ids=[memory.head_id for memory in page.rows], keeps_arguments=True)


def _read(call: DocumentCall) -> Outcome:
    store = _store_of(call.binding)
    document_id = call.arguments["id"]
    erasure.hold_copies(call.session.environment_id)
    found = documents.find_documents([(store, document_id)]).get((store.id, document_id))
    if found is None:
        return rejected("not_found")
    facts = document_facts(found)
    output = {
        "id": facts["id"],
        "title": facts["title"],
        "text": found.text,
        "summary": facts["summary"],
        "revision": facts["revision"],
        "updatedAt": facts["updatedAt"],
    }
    return Outcome(output, version_ids=[found.memory.head_id], keeps_arguments=True)


_TOOLS: dict[str, Callable[[DocumentCall], Outcome]] = {
    MEMORY_SAVE: _save,
    MEMORY_LIST: _list,
    MEMORY_READ: _read,
}
