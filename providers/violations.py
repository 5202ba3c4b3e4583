"""Hits that were dropped, since they were of another scope: found for people, with what the hub knows of where they belong."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rooms import Need
from memoryhub.rows import find_row
from providers.held_scopes import visible_scopes
from providers.record_models import RecordBinding, RecordScope, ScopeViolation
from providers.records import visible_violations

ALERT_FOR = timedelta(days=1)
PROVIDERS_NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class ViolationFilters:
    """An empty one restricts nothing. `name`: a part of the agent's or the principal's name."""

    provider: str = ""
    name: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Inspected:
    """`owner`: the scope that the binding was issued to, where the actor may see it; None: the hub knows no such binding there.

    `is_issued` False: the namespace is that scope's, the binding was never issued.
    """

    violation: ScopeViolation
    owner: RecordScope | None
    is_issued: bool


def list_dropped(page: ListRequest, filters: ViolationFilters, *, actor: Actor) -> Page[ScopeViolation]:
    """Newest first. Raises: InvalidRequest for a foreign cursor."""
    violations = visible_violations(actor)
    if filters.provider:
        violations = violations.filter(provider=filters.provider)
    if filters.name:
        escaped = filters.name.replace("%", "%25").replace("/", "%2F")
        named = Q(scope__agent__icontains=filters.name) | Q(scope__scope__icontains=filters.name)
        violations = violations.filter(named | Q(scope__scope__icontains=escaped))
    return cut_newest(violations, page)


def inspect_violation(violation_id: str, *, actor: Actor) -> Inspected:
    """Raises: NotFound."""
    key = ids.from_wire(ids.SCOPE_VIOLATION, violation_id)
    found = None if key is None else find_row(visible_violations(actor).filter(id=key))
    if found is None:
        raise NotFound("violation")
    owner = visible_scopes(actor).filter(namespace=found.namespace).order_by("id").first()
    if owner is None:
        return Inspected(found, None, is_issued=False)
    issued = RecordBinding.objects.filter(scope_id=owner.id, record_id=found.record_id)
    return Inspected(found, owner, is_issued=issued.exists())


def list_violation_needs(actor: Actor) -> list[Need]:
    """Of the last day: one for each provider."""
    since = ids.first_id((timezone.now() - ALERT_FOR).timestamp())
    recent = visible_violations(actor).filter(id__gte=since).order_by("provider")
    names = recent.values_list("provider", flat=True).distinct()[:PROVIDERS_NAMED_MAX]
    return [
        Need(f"The provider {name} gave records of another scope; they were dropped.", "violations")
        for name in names
    ]
