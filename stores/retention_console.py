"""The page of how long the versions of a store are kept: the policy, what it would remove, and what was removed."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict
from memoryhub.pages import PageRequest, go_to, page
from stores import retention
from stores.retention import Removal, Retention
from stores.retention_forms import RetentionForm, kept_values, shown_policy


@page("retention.set")
def store_retention(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Counts what would go before it is saved; the form carries the policy that it was shown with."""
    held = retention.get_retention(store_id, actor=actor)
    if request.method != "POST":
        return _show(request, held, RetentionForm(initial=kept_values(held.policy)), actor)
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _show(request, held, form, actor, status=400)
    if request.POST.get("action") == "count":
        return _count(request, held, form, actor)
    try:
        retention.set_retention(
            store_id, policy=form.policy, expected=shown_policy(request.POST), actor=actor
        )
    except Conflict:
        held = retention.get_retention(store_id, actor=actor)
        return _show(request, held, form, actor, is_stale=True, status=409)
    messages.success(request, _said(form))
    return go_to(request, "store-retention", store_id=store_id)


def _count(request: PageRequest, held: Retention, form: RetentionForm, actor: Actor) -> HttpResponse:
    if form.policy is None:
        return _show(request, held, form, actor)
    plan = retention.plan_removal(held.store.wire_id, policy=form.policy, actor=actor)
    return _show(request, held, form, actor, plan=plan)


def _said(form: RetentionForm) -> str:
    if form.policy is None:
        return "The store keeps every version from now on."
    return "The retention is saved. What is past it goes in the background within minutes."


def _show(
    request: PageRequest,
    held: Retention,
    form: RetentionForm,
    actor: Actor,
    *,
    plan: Removal | None = None,
    is_stale: bool = False,
    status: int = 200,
) -> HttpResponse:
    row = held.row
    facts: dict[str, Any] = {
        "store": held.store,
        "retention": row,
        "form": form,
        "plan": plan,
        "is_stale": is_stale,
        "names": name_actors([row.set_by_id] if row else [], actor=actor),
    }
    return render(request, "stores/retention.html", facts, status=status)
