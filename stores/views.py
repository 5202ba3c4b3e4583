"""What every URL below a store shares."""

from memoryhub.actors import Actor
from memoryhub.api import HubView
from stores import memories, memory_stores, memory_versions


class StoreView(HubView):
    """A URL below one store: what the actor may not see answers 404 before anything else."""

    def require_visible(self, actor: Actor) -> None:
        memory_stores.get_store(self.kwargs["store_id"], actor=actor)
        if "memory_id" in self.kwargs:
            memories.get_memory(
                self.kwargs["store_id"], self.kwargs["memory_id"], with_content=False, actor=actor
            )
        if "version_id" in self.kwargs:
            memory_versions.get_version(
                self.kwargs["store_id"], self.kwargs["version_id"], with_content=False, actor=actor
            )
