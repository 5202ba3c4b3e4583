"""The ledger of effects as people work through it: what waits for a decision first, the oldest of it on top.

What is decided, and how, is `providers.record_effects`; this module finds and counts.
"""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models.query import QuerySet

from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest, Page, cut_newest, cut_page
from memoryhub.rooms import WAITING_COUNTED_MAX, Need
from providers.record_effects import visible_effects
from providers.record_models import MemoryEffect, ProviderCall

UNKNOWN = "unknown"
STATES = (UNKNOWN, "begun", "done", "failed", "resolved")
TOOLS = ("save_memory", "forget_memory")
CALLS_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class EffectFilters:
    """An empty one restricts nothing. `scope`: the wire id of one."""

    state: str = UNKNOWN
    tool: str = ""
    provider: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def list_queue(request: ListRequest, filters: EffectFilters, *, actor: Actor) -> Page[MemoryEffect]:
    """Those that wait the oldest first, all others the newest first. Raises: InvalidRequest for a foreign cursor."""
    given = {name: value for name, value in filters.as_dict().items() if value}
    effects = visible_effects(actor).filter(**given).select_related("scope")
    if filters.state != UNKNOWN:
        return cut_newest(effects, request)
    position = request.position()
    if position is not None:
        effects = effects.filter(id__gt=UUID(hex=position[0]))
    rows = list(effects.order_by("id")[: request.limit + 1])
    return cut_page(rows, request, lambda effect: [effect.id.hex])


def unknown_effects(actor: Actor) -> QuerySet[MemoryEffect]:
    return visible_effects(actor).filter(state=UNKNOWN)


def count_unknown(actor: Actor) -> int:
    """At most WAITING_COUNTED_MAX."""
    return len(unknown_effects(actor).order_by("id").values_list("id", flat=True)[:WAITING_COUNTED_MAX])


def find_next(effect: MemoryEffect, *, actor: Actor) -> MemoryEffect | None:
    """The next that waits, and after the last of them the first."""
    others = unknown_effects(actor).exclude(id=effect.id).order_by("id")
    return others.filter(id__gt=effect.id).first() or others.first()


def list_calls(effect: MemoryEffect) -> list[ProviderCall]:
    """Of the provider, that asked for this write, the newest first: those that are still kept. One may have sent it several times."""
    calls = ProviderCall.objects.filter(
        scope_id=effect.scope_id, key_sha256=effect.key_sha256, id__gte=effect.id
    )
    method = "remember" if effect.tool == "save_memory" else "forget"
    return list(calls.filter(method=method).order_by("-id")[:CALLS_SHOWN_MAX])


def list_effect_needs(actor: Actor) -> list[Need]:
    """For those who decide."""
    waiting = count_unknown(actor)
    if not waiting:
        return []
    if waiting == 1:
        return [Need("Nobody knows whether a write of a record was done: decide.", "effects")]
    count = f"{WAITING_COUNTED_MAX - 1}+" if waiting == WAITING_COUNTED_MAX else waiting
    return [Need(f"Nobody knows whether {count} writes of records were done: decide.", "effects")]
