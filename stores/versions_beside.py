"""What the console shows beside the text of a version: its store, the last versions and who wrote them."""

from typing import Any

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest
from stores import memory_stores, timelines

VERSIONS_BESIDE_MEMORY_MAX = 8


def versions_beside(store_id: str, memory_id: str, actor: Actor) -> dict[str, Any]:
    """What stands beside a text: its store, the last versions and who wrote them."""
    wanted = ListRequest("console.versions", {"memory": memory_id}, VERSIONS_BESIDE_MEMORY_MAX, None)
    steps = timelines.list_steps(store_id, memory_id, wanted, actor=actor)
    return {
        "store": memory_stores.get_store(store_id, actor=actor),
        "memory_id": memory_id,
        "steps": steps.rows,
        "names": name_actors((step.version.created_by_id for step in steps.rows), actor=actor),
    }
