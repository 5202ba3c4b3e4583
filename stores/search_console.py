"""The page that searches every store of an environment."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actors import Actor
from memoryhub.pages import PageRequest, page
from stores.finding import find


@page("memories.search")
@require_safe
def search_environment(request: PageRequest, *, actor: Actor) -> HttpResponse:
    query = request.GET.get("q", "").strip()
    with_archived = request.GET.get("archived") == "yes"
    facts: dict[str, Any] = {"query": query, "with_archived": with_archived}
    if query:
        facts |= find(query, "/", store_id=None, with_archived=with_archived, actor=actor)
    return render(request, "stores/search.html", facts, status=400 if "problem" in facts else 200)
