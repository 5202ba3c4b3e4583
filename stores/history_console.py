"""The pages of the history: what a memory held before, who changed it, and by how much."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.pages import PageRequest, list_request, page
from stores import memory_stores, memory_versions, timelines
from stores.versions_beside import versions_beside


@page("memory_versions.get")
@require_safe
def version(request: PageRequest, store_id: str, version_id: str, *, actor: Actor) -> HttpResponse:
    """The text of one version, which a newer one may have replaced."""
    shown = memory_versions.get_version(store_id, version_id, with_content=True, actor=actor)
    facts = versions_beside(store_id, shown.memory_wire_id, actor)
    facts |= {"memory": None, "version": shown}
    return render(request, "stores/memory.html", facts)


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
