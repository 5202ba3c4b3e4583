"""The verbs that freeze a memory: agents may no longer change it, owners write on."""

from dataclasses import replace

from django.db.transaction import atomic

from memoryhub import audit, quotas
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from stores import document_policy, memories, memory_stores
from stores.models import Memory, MemoryStore


@atomic(durable=True)
def freeze_memory(store_id: str, memory_id: str, *, actor: Actor) -> Memory:
    """Agents may no longer change the memory; owners may. Again: unchanged. Raises: NotFound."""
    store = memory_stores.share_store(store_id, actor)
    memory = memories.lock_memory(store, memory_id)
    if memory.frozen_at is None:
        _set_frozen(store, memory, frozen=True, actor=actor)
    return memory


@atomic(durable=True)
def unfreeze_memory(store_id: str, memory_id: str, *, actor: Actor) -> Memory:
    """Again: unchanged. Raises: NotFound."""
    store = memory_stores.share_store(store_id, actor)
    memory = memories.lock_memory(store, memory_id)
    if memory.frozen_at is not None:
        _set_frozen(store, memory, frozen=False, actor=actor)
    return memory


def _set_frozen(store: MemoryStore, memory: Memory, *, frozen: bool, actor: Actor) -> None:
    action = AuditAction.MEMORY_FROZEN if frozen else AuditAction.MEMORY_UNFROZEN
    memory.frozen_at = ClockTimestamp() if frozen else None
    memory.save(update_fields=["frozen_at"])
    if document_policy.is_document_store(store):  # a document's revision covers who may write it
        card = replace(document_policy.card_of(memory.head), agent_writes=not frozen)
        quotas.require_history_room(store.project_id)
        memories.append_version(
            memory, operation="modified", content=memories.head_content(memory), card=card, actor=actor
        )
    audit.record(
        action, memory.wire_id, environment_id=store.environment_id, parent_id=store.wire_id, actor=actor
    )
