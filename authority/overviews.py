"""What the overview of an environment shows of its authorities, and what of them needs a person."""

from typing import Any

from authority.authorities import visible_authorities
from authority.models import HostCall
from authority.review_queue import count_waiting, list_unknown_calls
from memoryhub.actors import Actor
from memoryhub.rooms import WAITING_COUNTED_MAX, Need

NEWEST_SHOWN = 3
NEEDS_SHOWN_MAX = 5


def read_panel(actor: Actor) -> dict[str, Any]:
    authorities = visible_authorities(actor)
    waiting = HostCall.objects.filter(authority__in=authorities.values("id"), state__in=("queued", "running"))
    return {
        "authorities_count": authorities.count(),
        "waiting_count": count_waiting(actor),
        "calls_count": len(waiting.values_list("id", flat=True)[:WAITING_COUNTED_MAX]),
        "counted_max": WAITING_COUNTED_MAX,
        "newest": list(authorities.order_by("-id")[:NEWEST_SHOWN]),
    }


def list_review_needs(actor: Actor) -> list[Need]:
    """For those who decide."""
    waiting = count_waiting(actor)
    if not waiting:
        return []
    if waiting == 1:
        return [Need("A nomination waits for a decision.", "review")]
    count = f"{WAITING_COUNTED_MAX - 1}+" if waiting == WAITING_COUNTED_MAX else waiting
    return [Need(f"{count} nominations wait for a decision.", "review")]


def list_call_needs(actor: Actor) -> list[Need]:
    """For those who may send a request again."""
    return [
        Need(
            f"Nobody knows what became of host call {call.ordinal}: send its request again.",
            "host-call",
            {"authority_id": call.authority.wire_id, "call_id": call.wire_id},
        )
        for call in list_unknown_calls(actor, NEEDS_SHOWN_MAX)
    ]
