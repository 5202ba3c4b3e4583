"""What a model is given of each bound resource: its text, its sources, whether it may be written now.

Source: contract, sections 6 and 7.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memoryhub.clock import to_wire_milliseconds
from memoryhub.errors import RecallFailed
from memoryhub.models import Session
from memoryhub.pagination import ListRequest
from providers import documents
from providers.documents import Document
from providers.limits import OVERVIEW_LINES_MAX
from providers.models import Binding
from providers.overviews import OverviewEntry, write_overview
from providers.sessions import is_writable
from providers.wire_answers import host_error
from stores.models import Memory


@dataclass(frozen=True, slots=True)
class Recalled:
    """`version_ids`: the memory versions whose text or title stands in it."""

    resource_id: str
    text: str
    sources: list[dict[str, Any]]
    writable: bool
    version_ids: list[UUID] = field(default_factory=list)
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Line(OverviewEntry):
    memory: Memory


def recall_all(session: Session, bindings: Sequence[Binding], answers: Mapping[str, Any]) -> list[Recalled]:
    """A step: every bound document and collection as it stands, and what services answered, by resource id.

    Who keeps it holds the copies of the environment. Raises: RecallFailed, nothing is left out.
    """
    stores = {one.resource.store_id: one.resource.store for one in bindings if one.resource.store is not None}
    bound = [(stores[one.resource.store_id], one.target_id) for one in bindings if one.scope == "document"]
    found = documents.find_documents(bound)
    frozen = {
        (store_id, f"/{document_id}"): document.memory.frozen_at is not None
        for (store_id, document_id), document in found.items()
    }
    recalled = []
    for one in bindings:
        if one.scope == "document":
            assert one.resource.store_id is not None
            document = found.get((one.resource.store_id, one.target_id))
            recalled.append(_recall_document(one, document, writable=is_writable(session, one, frozen)))
        elif one.scope == "collection":
            recalled.append(_recall_collection(one))
        elif one.scope == "records":  # nothing by itself: a model asks for them with a tool
            recalled.append(Recalled(one.resource.resource_id, "", [], is_writable(session, one, {})))
        else:
            recalled.append(_recall_service(session, one, answers.get(one.resource.resource_id)))
    return recalled


def _recall_service(session: Session, binding: Binding, answer: Any) -> Recalled:
    """Never an empty text in the place of one that was not had."""
    resource_id = binding.resource.resource_id
    if answer is None or "error" in answer:
        raise RecallFailed(resource_id, answer["error"] if answer else host_error("session_closed"))
    return Recalled(
        resource_id,
        answer["text"],
        answer["sources"],
        is_writable(session, binding, {}),
        cursor=answer["cursor"],
    )


def _recall_document(binding: Binding, document: Document | None, *, writable: bool) -> Recalled:
    if document is None:
        message = f"There is no document {binding.target_id} any more."
        raise RecallFailed(binding.resource.resource_id, {"code": "not_found", "message": message})
    return Recalled(
        binding.resource.resource_id,
        document.text,
        [_source(document.id, document.card.title, document.memory)],
        writable,
        [document.memory.head_id],
    )


def _source(document_id: str, title: str, memory: Memory) -> dict[str, Any]:
    return {
        "id": document_id,
        "title": title,
        "revision": documents.revision_of(memory),
        "updatedAt": to_wire_milliseconds(memory.updated_at),
    }


def _recall_collection(binding: Binding) -> Recalled:
    store = binding.resource.store
    assert store is not None
    newest = documents.cut_documents(store, ListRequest("overview", {}, OVERVIEW_LINES_MAX, None))
    text, lines = write_overview(_line(memory) for memory in newest.rows)
    return Recalled(
        binding.resource.resource_id,
        text,
        [_source(line.id, line.title, line.memory) for line in lines],
        writable=False,
        version_ids=[line.memory.head_id for line in lines],
    )


def _line(memory: Memory) -> _Line:
    card = documents.card_of(memory)
    return _Line(documents.document_id_of(memory), card.title, card.summary, memory.updated_at, memory)
