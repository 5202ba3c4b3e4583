"""The REST door of freezing: agents may no longer change a store or a memory; owners write on."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import operation
from stores import freezes, memory_stores
from stores.serializers import MemoryShape, StoreShape, memory_wire, store_wire
from stores.views import StoreView

type Values = dict[str, Any]


class StoreFreeze(StoreView):
    @operation("memory_stores.freeze", "Freeze a memory store for agents", answer=StoreShape)
    def post(self, store_id: str, *, actor: Actor) -> Values:
        return store_wire(memory_stores.freeze_store(store_id, actor=actor))


class StoreUnfreeze(StoreView):
    @operation("memory_stores.unfreeze", "Let agents change a memory store again", answer=StoreShape)
    def post(self, store_id: str, *, actor: Actor) -> Values:
        return store_wire(memory_stores.unfreeze_store(store_id, actor=actor))


class MemoryFreeze(StoreView):
    @operation("memories.freeze", "Freeze a memory for agents", answer=MemoryShape)
    def post(self, store_id: str, memory_id: str, *, actor: Actor) -> Values:
        return memory_wire(freezes.freeze_memory(store_id, memory_id, actor=actor), "basic")


class MemoryUnfreeze(StoreView):
    @operation("memories.unfreeze", "Let agents change a memory again", answer=MemoryShape)
    def post(self, store_id: str, memory_id: str, *, actor: Actor) -> Values:
        return memory_wire(freezes.unfreeze_memory(store_id, memory_id, actor=actor), "basic")
