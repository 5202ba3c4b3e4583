"""A memory as what may be nominated for reviewed memory."""

from memoryhub.actors import Actor
from memoryhub.nomination_sources import NominationSource
from stores.memories import get_memory, head_content
from stores.memory_stores import get_store


def read_source(store_id: str, memory_id: str, actor: Actor) -> NominationSource:
    """The text of now. Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    memory = get_memory(store_id, memory_id, with_content=True, actor=actor)
    return NominationSource(
        environment_id=store.environment_id,
        store_id=store.wire_id,
        memory_id=memory.wire_id,
        path=memory.path,
        version_id=memory.head.wire_id,
        content=head_content(memory),
        content_sha256=memory.content_sha256,
    )
