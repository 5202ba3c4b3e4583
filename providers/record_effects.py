"""Effects whose outcome nobody knows: what is left of a crash is settled, the rest waits for a person.

Source: contract of the memory provider, section 4.1. `resolve_effect` decides in one transaction, and sends again after it.
"""

from typing import Literal

from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, Gone, NotFound
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from providers import ledger, records
from providers.record_models import MemoryEffect

type Decision = Literal["done", "not_done"]


def visible_effects(actor: Actor) -> QuerySet[MemoryEffect]:
    effects = MemoryEffect.objects.filter(project_id=actor.project_id)
    if actor.environment_id is not None:
        effects = effects.filter(scope__environment_id=actor.environment_id)
    return effects


def list_effects(
    page: ListRequest, *, environment: str | None, state: str | None, actor: Actor
) -> Page[MemoryEffect]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    effects = visible_effects(actor).select_related("scope")
    if environment is not None:
        named = tenancy.get_environment(environment, actor=actor)
        effects = effects.filter(scope__environment_id=named.id)
    if state is not None:
        effects = effects.filter(state=state)
    return cut_newest(effects, page)


def get_effect(effect_id: str, *, actor: Actor) -> MemoryEffect:
    """Raises: NotFound."""
    return _get(visible_effects(actor).select_related("scope"), effect_id)


def _get(effects: QuerySet[MemoryEffect], effect_id: str) -> MemoryEffect:
    key = ids.from_wire(ids.MEMORY_EFFECT, effect_id)
    effect = None if key is None else find_row(effects.filter(id=key))
    if effect is None:
        raise NotFound("effect")
    return effect


def resolve_effect(
    effect_id: str, *, decision: Decision, expected_attempts: int | None = None, actor: Actor
) -> MemoryEffect:
    """`done`: take it for done. `not_done`: send it again under the same key, at the risk that it is done twice.

    `expected_attempts`: as they were when it was decided. Again with the same decision: unchanged. Raises: NotFound; Conflict (`effect_not_unknown`), Gone when its text was erased.
    """
    decided = _decide(effect_id, decision=decision, expected_attempts=expected_attempts, actor=actor)
    if decided.state != "begun" or decided.claim is None:
        return decided  # nothing is left to do, so that nothing can fail after the change
    bound = records.find_provider(decided.provider)
    if bound is None:
        ledger.park(decided)
    else:
        ledger.send(decided, bound)
    return get_effect(effect_id, actor=actor)


@atomic(durable=True)
def _decide(
    effect_id: str, *, decision: Decision, expected_attempts: int | None, actor: Actor
) -> MemoryEffect:
    effects = visible_effects(actor).select_for_update(of=("self",)).select_related("scope")
    effect = _get(effects, effect_id)
    if effect.state != "unknown":
        if effect.decision == decision:
            return effect
        raise Conflict("The outcome of this effect is known.", error_code="effect_not_unknown")
    if expected_attempts not in (None, effect.attempts):
        raise Conflict("It was sent again meanwhile, and is unknown again.", error_code="effect_not_unknown")
    if decision == "not_done" and effect.payload is None:
        raise Gone("What this effect was to write was erased.", error_code="erased")
    if decision == "done":
        ledger.forget_copies(effect)
        effect.state, effect.payload = "resolved", None
        effect.outcome = ledger.outcome_of_done(effect)
    else:
        effect.state, effect.claim = "begun", ids.new_id()
        effect.claimed_until = ClockTimestamp() + ledger.CLAIM_FOR
        effect.attempts += 1
        effect.first_sent_at = ClockTimestamp()  # a window of the provider's begins with it
    effect.decision, effect.decided_at = decision, timezone.now()
    effect.decided_by_type, effect.decided_by_id = actor.type, actor.actor_id
    effect.save(
        update_fields=[
            "state",
            "payload",
            "outcome",
            "claim",
            "claimed_until",
            "attempts",
            "first_sent_at",
            "decision",
            "decided_at",
            "decided_by_type",
            "decided_by_id",
        ]
    )
    audit.record(
        AuditAction.EFFECT_RESOLVED,
        effect.wire_id,
        environment_id=effect.scope.environment_id,
        details={"decision": decision},
        actor=actor,
    )
    return effect


def sweep_effects() -> None:
    """Nobody asks for it: what was begun and is not being sent is an uncertain write, whatever stopped it."""
    for _ in range(ledger.SWEPT_MAX):
        effect = ledger.claim_due()
        if effect is None:
            return
        bound = records.find_provider(effect.provider)
        if bound is None:
            ledger.park(effect)
        else:
            ledger.send(effect, bound, resumed=True)
