"""The pages that make the hub forget: find a text in all versions, erase it wherever it stands, see what was erased.

What is sought travels in the body of a form, so that no URL, log or history of a browser holds it.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page, sentence
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from stores import memory_stores, memory_versions, redacted_versions, redaction_runs, standings
from stores.found_versions import count_found, describe_found
from stores.models import MemoryStore
from stores.redaction_forms import ReasonForm, RedactionForm, SoughtForm
from stores.redactions import Redaction, find_elsewhere

FOUND_SHOWN_MAX = 200
no_report = sensitive_post_parameters("sought-contains", "sought-content_sha256", "sought-reason", "reason")


@page("redactions.list")
@require_safe
def redactions(request: PageRequest, *, actor: Actor) -> HttpResponse:
    wanted = list_request(request, "console.redactions", {"environment": request.place.environment.name})
    redacted = redacted_versions.list_redacted(wanted, actor=actor)
    names = name_actors((row.version.redacted_by_id or "" for row in redacted.rows), actor=actor)
    return render(request, "stores/redactions.html", {"redacted": redacted, "names": names})


@page("memory_versions.redact")
@no_report
def redact_version(request: PageRequest, store_id: str, version_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    form = ReasonForm(request.POST) if request.method == "POST" else ReasonForm()
    if request.method == "POST" and form.is_valid():
        try:
            memory_versions.redact_version(
                store_id, version_id, reason=form.cleaned_data.get("reason"), actor=actor
            )
        except InvalidRequest as error:
            form.add_error("reason" if error.error_code == "reason_holds_text" else None, sentence(error))
        else:
            messages.success(request, "The version is redacted: nothing of its text and its path is left.")
            return go_to(request, "version", store_id=store_id, version_id=version_id)
    standing = standings.get_standing(store_id, version_id, actor=actor)
    facts = {"store": standing.store, "standing": standing, "version": standing.version, "form": form}
    return render(request, "stores/redact_version.html", facts, status=form_status(request))


@page("memory_versions.search")
@no_report
def find(request: PageRequest, store_id: str | None = None, *, actor: Actor) -> HttpResponse:
    """In one store, or in every store of the environment."""
    store = _find_store(store_id, actor)
    if request.method != "POST":
        return _show_find(request, store, SoughtForm(), {})
    form, facts = SoughtForm(request.POST), {}
    if form.is_valid():
        try:
            facts = _find(request, form, store_id, actor)
        except InvalidRequest as error:
            form.add_error(None, _said(form, error))
    return _show_find(request, store, form, facts)


def _find_store(store_id: str | None, actor: Actor) -> MemoryStore | None:
    return None if store_id is None else memory_stores.get_store(store_id, actor=actor)


def _show_find(
    request: PageRequest, store: MemoryStore | None, form: SoughtForm, facts: dict[str, Any]
) -> HttpResponse:
    template = "stores/find.html" if store is None else "stores/find_in_store.html"
    status = 400 if form.errors else 200
    return render(request, template, {"store": store, "form": form, **facts}, status=status)


def _find(request: PageRequest, form: SoughtForm, store_id: str | None, actor: Actor) -> dict[str, Any]:
    wanted, sought = _part(request, form, store_id), form.sought()
    found = redaction_runs.find_versions(wanted, sought=sought, store_id=store_id, actor=actor)
    heads = {one.version.id for one in found.rows if one.is_head}
    shown = describe_found((one.version for one in found.rows), heads, actor=actor)
    facts = {**shown, "found": found, "sought": sought, "is_first": wanted.page is None}
    if store_id is None and wanted.page is None:
        facts["elsewhere"] = find_elsewhere(sought=sought, actor=actor)
    return facts


def _part(request: PageRequest, form: SoughtForm, store_id: str | None) -> ListRequest:
    """Where to look from. The cursor is bound to what is sought, and where."""
    sought = form.sought()
    filters = {
        "environment": request.place.environment.wire_id,
        "store": store_id,
        "contains": sought.contains,
        "content_sha256": sought.content_sha256,
    }
    return ListRequest("console.found", filters, LIST_LIMIT_DEFAULT, form.cleaned_data.get("page"))


def _said(form: SoughtForm, error: InvalidRequest) -> str:
    if "page" in form.cleaned_data and error.error_code is None:
        return "This is not the text that was looked for before. Look for it from the beginning."
    return sentence(error)


@page("redactions.create")
@no_report
def redact_text(request: PageRequest, store_id: str | None = None, *, actor: Actor) -> HttpResponse:
    """First what would go, then exactly that: the form carries the digest of the plan that it was shown with."""
    store = _find_store(store_id, actor)
    sought_form = SoughtForm(request.POST)
    if request.method != "POST" or not sought_form.is_valid():
        return _show_find(request, store, sought_form if request.method == "POST" else SoughtForm(), {})
    wanted, sought = _part(request, sought_form, store_id), sought_form.sought()
    form = RedactionForm(
        request.POST if "expected_plan" in request.POST else None, initial=_first(sought_form)
    )
    if form.is_bound and form.is_valid():
        try:
            done = redaction_runs.carry_out_run(
                wanted,
                sought=sought,
                store_id=store_id,
                heads=form.cleaned_data.get("heads", "refuse"),
                reason=form.cleaned_data.get("reason"),
                expected_plan=request.POST["expected_plan"],
                actor=actor,
            )
        except Conflict:
            form.add_error(
                None, "What was found changed since it was shown, so nothing was redacted. Look again."
            )
            return _show_plan(request, store, sought_form, form, status=409)
        except InvalidRequest as error:
            form.add_error("reason" if error.error_code == "reason_holds_text" else None, sentence(error))
        else:
            return _show_done(request, store, done)
    return _show_plan(request, store, sought_form, form, status=400 if form.errors else 200)


def _first(sought_form: SoughtForm) -> dict[str, str]:
    """What the form of a run begins with."""
    return {**sought_form.cleaned_data, "heads": "refuse"}


def _show_plan(
    request: PageRequest,
    store: MemoryStore | None,
    sought_form: SoughtForm,
    form: RedactionForm,
    *,
    status: int,
) -> HttpResponse:
    actor, store_id = request.place.actor, store.wire_id if store else None
    wanted, sought = _part(request, sought_form, store_id), sought_form.sought()
    try:
        plan = redaction_runs.plan_run(wanted, sought=sought, store_id=store_id, actor=actor)
    except InvalidRequest as error:
        sought_form.add_error(None, _said(sought_form, error))
        return _show_find(request, store, sought_form, {})
    counts = count_found(plan)
    facts = describe_found(plan.versions[:FOUND_SHOWN_MAX], plan.head_ids, actor=actor)
    facts |= {
        "store": store,
        "form": form,
        "plan": plan,
        "plan_digest": redaction_runs.plan_digest(plan),
        "counts": counts,
        "not_shown": max(0, counts["all"] - FOUND_SHOWN_MAX),
    }
    return render(request, "stores/redact_text.html", facts, status=status)


def _show_done(request: PageRequest, store: MemoryStore | None, done: Redaction) -> HttpResponse:
    """Names versions and memories by their ids alone: a path may have held the text."""
    actor = request.place.actor
    facts = describe_found((version for version, _ in done.left), done.head_ids, actor=actor)
    facts |= {
        "store": store,
        "done": done,
        "archived": sum(reason == "store_archived" for _, reason in done.left),
        "go_on_form": SoughtForm(initial={"page": done.next_page}) if done.next_page else None,
    }
    return render(request, "stores/redacted_text.html", facts)
