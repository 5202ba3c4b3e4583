"""The pages of the history: what a memory or a store held before, who changed it, by what; and putting it back."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import HubError, InvalidRequest, MemoryPathConflict, MemoryPreconditionFailed
from memoryhub.pages import PageRequest, go_to, list_request, page, sentence
from memoryhub.problems import error_body
from stores import history as histories
from stores import memory_stores, standings, timelines
from stores.history import Restored
from stores.history_forms import AsItWasForm, TimelineForm
from stores.versions_beside import versions_beside


@page("memory_versions.get")
@require_safe
def version(request: PageRequest, store_id: str, version_id: str, *, actor: Actor) -> HttpResponse:
    """The text of one version, which a newer one may have replaced."""
    standing = standings.get_standing(store_id, version_id, actor=actor)
    facts = versions_beside(store_id, standing.version.memory_wire_id, actor)
    writers = [standing.version.created_by_id, standing.version.redacted_by_id or ""]
    facts |= {"standing": standing, "version": standing.version}
    facts["names"] |= name_actors(writers, actor=actor)
    return render(request, "stores/version.html", facts)


@page("memory_versions.list")
@require_safe
def history(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    wanted = list_request(request, "console.history", {"memory": memory_id})
    steps = timelines.list_steps(store_id, memory_id, wanted, actor=actor)
    facts = {
        "store": memory_stores.get_store(store_id, actor=actor),
        "memory_id": memory_id,
        "steps": steps,
        "is_live": timelines.has_memory(store_id, memory_id, actor=actor),
        "path": next((step.version.path for step in steps.rows if step.version.path), None),
        "names": name_actors((step.version.created_by_id for step in steps.rows), actor=actor),
    }
    return render(request, "stores/history.html", facts)


@page("memory_versions.list")
@require_safe
def store_history(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Every change of every memory of the store, or those of one kind or one writer."""
    store = memory_stores.get_store(store_id, actor=actor)
    form = TimelineForm(request.GET)
    filters = form.filters()
    wanted = list_request(request, "console.store_history", {"store": store_id, **filters})
    steps = timelines.list_store_steps(store_id, wanted, **filters, actor=actor)
    writers = {step.version.created_by_id for step in steps.rows} | {filters["created_by_id"] or ""}
    names = name_actors(writers, actor=actor)
    form.offer_writers(writers, names)
    facts = {
        "store": store,
        "steps": steps,
        "names": names,
        "form": form,
        "is_filtered": any(filters.values()),
    }
    return render(request, "stores/store_history.html", facts)


@page("memory_versions.diff")
@require_safe
def compare(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """From `before`, else the version before it, to the version `after`."""
    comparison = histories.compare_versions(
        store_id, request.GET.get("after", ""), against_id=request.GET.get("before") or None, actor=actor
    )
    sides = [side for side in (comparison.before, comparison.after) if side is not None]
    facts = {
        "store": memory_stores.get_store(store_id, actor=actor),
        "comparison": comparison,
        "names": name_actors((side.created_by_id for side in sides), actor=actor),
    }
    return render(request, "stores/compare.html", facts)


@page("memory_versions.restore")
def restore(request: PageRequest, store_id: str, version_id: str, *, actor: Actor) -> HttpResponse:
    """Shows what would change first; the form carries the digest of the text that it was shown for."""
    problem: HubError | None = None
    if request.method == "POST":
        expected = request.POST.get("expected_sha256") or None
        try:
            restored = histories.restore_version(store_id, version_id, expected_sha256=expected, actor=actor)
        except (InvalidRequest, MemoryPathConflict, MemoryPreconditionFailed) as error:
            problem = error
        else:
            messages.success(request, _said(restored))
            return go_to(request, "memory", store_id=store_id, memory_id=restored.memory.wire_id)
    facts = _restore_facts(store_id, version_id, problem, actor)
    status = 200 if problem is None else error_body(problem)[0]
    return render(request, "stores/restore.html", facts, status=status)


def _restore_facts(store_id: str, version_id: str, problem: HubError | None, actor: Actor) -> dict[str, Any]:
    standing = standings.get_standing(store_id, version_id, actor=actor)
    return {
        "store": standing.store,
        "standing": standing,
        "version": standing.version,
        "difference": standing.difference() if standing.can_be_restored else None,
        "problem": problem,
        "is_stale": isinstance(problem, MemoryPreconditionFailed),
        "in_the_way": problem.conflicting_memory_id if isinstance(problem, MemoryPathConflict) else None,
        "names": name_actors([standing.version.created_by_id], actor=actor),
    }


def _said(restored: Restored) -> str:
    if restored.is_new_memory:
        return "The text is back, as a new memory: the one that held it was deleted."
    return "The version is restored: its text and its path are the current ones, as a new version."


@page("memory_stores.snapshot")
@require_safe
def as_it_was(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    store = memory_stores.get_store(store_id, actor=actor)
    form = AsItWasForm(request.GET if "at" in request.GET else None)
    facts: dict[str, Any] = {"store": store, "form": form}
    if form.is_bound and form.is_valid():
        at = form.cleaned_data["at"]
        wanted = list_request(request, "console.as_it_was", {"store": store_id, "at": at.isoformat()})
        try:
            versions = histories.list_snapshot(
                store_id, wanted, at=at, path_prefix="/", with_content=False, actor=actor
            )
        except InvalidRequest as error:
            if error.error_code != "history_removed":
                raise
            form.add_error("at", sentence(error))
        else:
            writers = (version.created_by_id for version in versions.rows)
            facts |= {"at": at, "versions": versions, "names": name_actors(writers, actor=actor)}
    return render(request, "stores/as_it_was.html", facts, status=400 if form.errors else 200)
