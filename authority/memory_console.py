"""The pages that propose for reviewed memory: a file of a store or a document, and a record."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render

from authority.memory_nominations import nominate_memory as nominate
from authority.memory_nominations import nominate_record as nominate_of
from authority.models import Nomination, Route
from authority.review_forms import MemoryForm
from memoryhub.actors import Actor
from memoryhub.errors import HubError
from memoryhub.forms import add_refusal
from memoryhub.nomination_sources import find_record_scope, read_nomination_source, read_record_source
from memoryhub.pages import PageRequest, form_status, go_to, page

ROUTES_OFFERED_MAX = 100


@page("authorities.nominate_memory")
def nominate_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    """As it is when the form is sent, to one route of one authority."""
    source = read_nomination_source(store_id, memory_id, actor=actor)

    def propose(authority_id: str, route: str) -> Nomination:
        return nominate(authority_id, store_id=store_id, memory_id=memory_id, route=route, actor=actor)

    return _answer(request, "authority/nominate_memory.html", {"source": source}, propose)


@page("authorities.nominate_record")
def nominate_record(
    request: PageRequest, scope_id: str, memory_record_id: str, *, actor: Actor
) -> HttpResponse:
    """As `nominate_memory`, of what an agent remembers."""
    environment_id, of = find_record_scope(scope_id, actor=actor)
    source = read_record_source(environment_id, of, memory_record_id, actor=actor)

    def propose(authority_id: str, route: str) -> Nomination:
        return nominate_of(authority_id, of=of, record_id=memory_record_id, route=route, actor=actor)

    facts = {"source": source, "of": of, "scope_id": scope_id}
    return _answer(request, "authority/nominate_record.html", facts, propose)


def _answer(
    request: PageRequest, template: str, facts: dict[str, Any], propose: Callable[[str, str], Nomination]
) -> HttpResponse:
    routes = Route.objects.filter(authority__environment_id=request.place.environment.id)
    offered = list(routes.select_related("authority__canonical").order_by("id")[:ROUTES_OFFERED_MAX])
    form = MemoryForm(request.POST or None, routes=offered)
    if request.method == "POST" and form.is_valid():
        authority_id, route = form.cleaned_data["route"].split(" ")
        try:
            made = propose(authority_id, route)
        except HubError as error:
            add_refusal(form, error)
        else:
            messages.success(request, "The memory is nominated, and waits for a reviewer.")
            ids_of = {"authority_id": authority_id, "nomination_sha256": made.nomination_sha256}
            return go_to(request, "nomination", **ids_of)
    shown = facts | {"form": form, "has_routes": bool(offered)}
    return render(request, template, shown, status=form_status(request))
