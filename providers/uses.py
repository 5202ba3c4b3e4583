"""Who uses a document: the live sessions that bind it, and the versions that it has."""

from memoryhub.actors import Actor
from providers import documents
from providers.documents import Document
from providers.models import Binding
from stores.models import MemoryVersion

COUNTED_MAX = 1_000


def count_live(resource_id: str, document_id: str, *, actor: Actor) -> int:
    """The live sessions that bind the document, by itself or with all of its resource; at most COUNTED_MAX.

    Raises: NotFound for the resource.
    """
    resource = documents.get_resource(None, resource_id, actor=actor)
    live = Binding.objects.filter(resource_id=resource.id, revoked_at=None, target_id__in=["", document_id])
    return live[:COUNTED_MAX].count()


def count_versions(document: Document) -> int:
    """At most COUNTED_MAX."""
    return MemoryVersion.objects.filter(memory_id=document.memory.id)[:COUNTED_MAX].count()
