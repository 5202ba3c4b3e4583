"""The pages of what went wrong with records: writes that nobody knows of and their decision, and hits that were dropped."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, Gone, InvalidRequest
from memoryhub.pages import PageRequest, go_to, list_request, page
from providers import effect_queue, record_effects, violations
from providers.effect_queue import STATES, TOOLS, UNKNOWN, EffectFilters
from providers.held_records import find_known
from providers.limits import SCOPE_PART_BYTES_MAX
from providers.provider_facts import describe_named
from providers.record_effects import get_effect
from providers.record_forms import DecisionForm
from providers.record_models import MemoryEffect
from providers.record_pages import STATE_WORDS, TOOL_WORDS, room_facts
from providers.violations import ViolationFilters

PROVIDER_NAME_LENGTH_MAX = 64


@page("record_effects.list")
@require_safe
def effects(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """What waits for a decision, the oldest first; or any write of the ledger."""
    filters = _read_filters(request)
    wanted = list_request(request, "console.effects", filters.as_dict())
    shown = effect_queue.list_queue(wanted, filters, actor=actor)
    facts = room_facts(request, actor) | {
        "effects": shown,
        "filters": filters,
        "is_filtered": filters != EffectFilters(),
        "states": [(state, STATE_WORDS[state]) for state in STATES if state != UNKNOWN],
        "tools": TOOL_WORDS.items(),
        "names": name_actors({one.created_by_id for one in shown.rows}, actor=actor),
    }
    return render(request, "providers/effects.html", facts)


def _read_filters(request: PageRequest) -> EffectFilters:
    """Of the URL: `state`, `tool`, `provider`. Raises: InvalidRequest."""
    state, tool = request.GET.get("state", UNKNOWN), request.GET.get("tool", "")
    provider = request.GET.get("provider", "").strip()
    is_unknown = state not in ("", *STATES) or tool not in ("", *TOOLS)
    if is_unknown or "\0" in provider or len(provider) > PROVIDER_NAME_LENGTH_MAX:
        raise InvalidRequest("The address asks for a state or a name that there is not.")
    return EffectFilters(state, tool, provider)


@page("record_effects.list")
@require_safe
def effect(request: PageRequest, effect_id: str, *, actor: Actor) -> HttpResponse:
    """One write: what it is to do, how often it was sent, what came of it, and the decision."""
    shown = get_effect(effect_id, actor=actor)
    people, record_id = [shown.created_by_id, shown.decided_by_id or ""], _record_id(shown)
    facts = {
        "effect": shown,
        "scope": shown.scope,
        "record": (shown.payload or {}).get("record"),
        "record_id": record_id,
        "is_known": bool(find_known(shown.scope, [record_id])) if record_id else False,
        "outcome": shown.outcome or {},
        "calls": effect_queue.list_calls(shown),
        "provider": describe_named(shown.provider),
        "following": effect_queue.find_next(shown, actor=actor),
        "names": name_actors(people, actor=actor),
    }
    return render(request, "providers/effect.html", facts)


def _record_id(effect: MemoryEffect) -> str:
    """Of the record that was saved, or is to be forgotten; empty where nothing says it."""
    return str((effect.outcome or {}).get("id") or (effect.payload or {}).get("id") or "")


@page("record_effects.resolve")
@require_POST
def resolve_effect(request: PageRequest, effect_id: str, *, actor: Actor) -> HttpResponse:
    """Carries how often the write had been sent when the page was shown: a later send is told, and nothing is decided."""
    form = DecisionForm(request.POST)
    if not form.is_valid():
        raise InvalidRequest("The form was not complete. Open the write again.")
    decision, attempts = form.cleaned_data["decision"], form.cleaned_data["attempts"]
    try:
        decided = record_effects.resolve_effect(
            effect_id, decision=decision, expected_attempts=attempts, actor=actor
        )
    except (Conflict, Gone) as error:
        messages.error(request, error.message)
    else:
        _tell(request, decided)
    return go_to(request, "effect", effect_id=effect_id)


def _tell(request: PageRequest, decided: MemoryEffect) -> None:
    if decided.state == UNKNOWN:
        messages.warning(request, "It was sent again, and again nobody knows whether it was done.")
    elif decided.state == "begun":
        messages.warning(request, "It was sent again without a certain answer. The hub goes on by itself.")
    elif "code" in (decided.outcome or {}):
        messages.warning(request, "It was sent again, and the provider refused it: it was not done.")
    elif decided.decision == "done":
        messages.success(request, "The write is taken for done. Nothing more is sent.")
    else:
        messages.success(request, "It was sent again, and is done.")


@page("record_violations.list")
@require_safe
def dropped(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """Hits of a provider that were not of the scope that was asked."""
    provider, name = (request.GET.get(one, "").strip() for one in ("provider", "name"))
    if (
        "\0" in provider + name
        or len(provider) > PROVIDER_NAME_LENGTH_MAX
        or len(name) > SCOPE_PART_BYTES_MAX
    ):
        raise InvalidRequest("The address asks for a name that there is not.")
    filters = ViolationFilters(provider, name)
    wanted = list_request(request, "console.violations", filters.as_dict())
    facts: dict[str, Any] = room_facts(request, actor) | {
        "violations": violations.list_dropped(wanted, filters, actor=actor),
        "filters": filters,
        "is_filtered": filters != ViolationFilters(),
    }
    return render(request, "providers/violations.html", facts)


@page("record_violations.list")
@require_safe
def violation(request: PageRequest, violation_id: str, *, actor: Actor) -> HttpResponse:
    inspected = violations.inspect_violation(violation_id, actor=actor)
    facts = {
        "inspected": inspected,
        "violation": inspected.violation,
        "scope": inspected.violation.scope,
        "provider": describe_named(inspected.violation.provider),
    }
    return render(request, "providers/violation.html", facts)
