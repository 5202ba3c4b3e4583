"""Every document of an environment, one by one as it stands: not one moment's snapshot. Source: contract, section 8.5."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from providers import documents
from providers.document_serializers import document_wire
from providers.documents import Document
from providers.models import Resource

EXPORT_ROWS = 50


def export_documents(environment: str, resource_ids: Sequence[str], *, actor: Actor) -> Iterator[str]:
    """Lines `{"resource", …the document}`, by resource and id; retired resources too, or only those named.

    Raises: NotFound for a foreign environment or a resource that holds no documents, before the first line.
    """
    return _lines(find_exported(environment, resource_ids, actor=actor))


def find_exported(environment: str, resource_ids: Sequence[str], *, actor: Actor) -> list[Resource]:
    """Raises: NotFound."""
    environment_id = tenancy.get_environment(environment, actor=actor).id
    held = documents.visible_resources(actor).filter(environment_id=environment_id, kind="document")
    resources = [
        one for one in held.order_by("resource_id") if not resource_ids or one.resource_id in resource_ids
    ]
    if set(resource_ids) - {one.resource_id for one in resources}:
        raise NotFound("resource")
    return resources


def read_documents(resource: Resource) -> Iterator[Document]:
    """In the order of their ids, some rows at a time."""
    assert resource.store is not None
    after = b""
    while True:
        held = documents.documents_of(resource.store, with_text=True).filter(path_key__gt=after)
        rows = list(held.order_by("path_key")[:EXPORT_ROWS])
        yield from (documents.as_document(memory, resource.store) for memory in rows)
        if len(rows) < EXPORT_ROWS:
            return
        after = bytes(rows[-1].path_key)


def document_line(resource: Resource, document: Document) -> str:
    facts: dict[str, Any] = {"resource": resource.resource_id} | document_wire(document)
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n"


def _lines(resources: Sequence[Resource]) -> Iterator[str]:
    for resource in resources:
        for document in read_documents(resource):
            yield document_line(resource, document)
