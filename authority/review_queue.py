"""The review queue of an environment: what was nominated at any of its authorities, the oldest first."""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.db.models.query import QuerySet

from authority.models import WAITING_STATES, Authority, HostCall, Nomination
from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rooms import WAITING_COUNTED_MAX

CHOICES_MAX = 50
WAITING = "waiting"  # for a decision: those of WAITING_STATES
STATES = ["adopting", "adopted", "already_present", "conflict", "rejected", "superseded"]


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """An empty one restricts nothing. `agent`: the wire id of who nominated."""

    state: str = WAITING
    authority: str = ""
    route: str = ""
    agent: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Choices:
    """What waiting nominations can be restricted to: `authorities` as (wire id, label)."""

    authorities: list[tuple[str, str]]
    routes: list[str]
    agents: list[str]


def visible_nominations(actor: Actor) -> QuerySet[Nomination]:
    nominations = Nomination.objects.filter(project_id=actor.project_id)
    if actor.environment_id is None:
        return nominations
    return nominations.filter(environment_id=actor.environment_id)


def waiting_nominations(actor: Actor) -> QuerySet[Nomination]:
    return visible_nominations(actor).filter(state__in=WAITING_STATES)


def list_queue(request: ListRequest, filters: QueueFilters, *, actor: Actor) -> Page[Nomination]:
    """Without their texts. Raises: InvalidRequest for a foreign cursor."""
    nominations = waiting_nominations(actor) if filters.state == WAITING else visible_nominations(actor)
    if filters.state and filters.state != WAITING:
        nominations = nominations.filter(state=filters.state)
    if filters.authority:
        key = ids.from_wire(ids.AUTHORITY, filters.authority)
        nominations = nominations.filter(authority_id=key) if key else nominations.none()
    if filters.route:
        nominations = nominations.filter(nomination_id=filters.route)
    if filters.agent:
        nominations = nominations.filter(created_by_id=filters.agent)
    position = request.position()
    if position is not None:
        nominations = nominations.filter(id__gt=UUID(hex=position[0]))
    shown = nominations.select_related("authority__canonical", "authority__working").defer("body")
    rows = list(shown.order_by("id")[: request.limit + 1])
    return cut_page(rows, request, lambda nomination: [nomination.id.hex])


def list_choices(*, actor: Actor) -> Choices:
    waiting = waiting_nominations(actor).order_by()
    held = Authority.objects.filter(id__in=waiting.values("authority_id")).select_related("canonical")
    return Choices(
        [(one.wire_id, one.canonical.authority_id) for one in held.order_by("id")[:CHOICES_MAX]],
        sorted(waiting.values_list("nomination_id", flat=True).distinct()[:CHOICES_MAX]),
        sorted(waiting.values_list("created_by_id", flat=True).distinct()[:CHOICES_MAX]),
    )


def count_waiting(actor: Actor) -> int:
    """At most WAITING_COUNTED_MAX."""
    return len(waiting_nominations(actor).order_by("id").values_list("id", flat=True)[:WAITING_COUNTED_MAX])


def find_next(nomination: Nomination, *, actor: Actor) -> Nomination | None:
    """The next that waits, and after the last of them the first."""
    others = waiting_nominations(actor).exclude(id=nomination.id).order_by("id").defer("body")
    others = others.select_related("authority")
    return others.filter(id__gt=nomination.id).first() or others.first()


def list_unknown_calls(actor: Actor, limit: int) -> list[HostCall]:
    """Calls whose outcome nobody knows and whose request was not sent again, the newest first."""
    failed = HostCall.objects.filter(
        project_id=actor.project_id, state="failed", error__code="outcome_unknown"
    ).select_related("authority")
    if actor.environment_id is not None:
        failed = failed.filter(authority__environment_id=actor.environment_id)
    later = HostCall.objects.filter(
        authority_id=OuterRef("authority_id"),
        request_sha256=OuterRef("request_sha256"),
        ordinal__gt=OuterRef("ordinal"),
    )
    return list(failed.filter(~Exists(later)).defer("request").order_by("-id")[:limit])
