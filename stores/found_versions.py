"""What the console shows of versions that were found: where each stands, by whose hand, and whether it is current."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from stores.memory_stores import visible_stores
from stores.models import MemoryStore, MemoryVersion
from stores.redactions import Redaction


@dataclass(frozen=True, slots=True)
class FoundVersion:
    version: MemoryVersion
    store: MemoryStore
    is_head: bool


def describe_found(versions: Iterable[MemoryVersion], head_ids: set[UUID], *, actor: Actor) -> dict[str, Any]:
    """`{"rows": [FoundVersion], "names": writers by id}`; three queries, however many there are."""
    shown = list(versions)
    stores = visible_stores(actor).in_bulk({version.store_id for version in shown})
    rows = [
        FoundVersion(version, stores[version.store_id], version.id in head_ids)
        for version in shown
        if version.store_id in stores
    ]
    return {"rows": rows, "names": name_actors((row.version.created_by_id for row in rows), actor=actor)}


def count_found(plan: Redaction) -> dict[str, int]:
    """`heads`: current contents. `archived`: those among them that an archived store keeps."""
    heads = plan.head_ids
    return {
        "all": len(plan.versions),
        "former": len(plan.versions) - len(heads),
        "heads": len(heads),
        "archived": sum(reason == "store_archived" for _, reason in plan.left),
    }
