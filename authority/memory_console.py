"""The page that proposes a file of a store, or a document, for reviewed memory."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render

from authority.memory_nominations import nominate_memory as nominate
from authority.models import Route
from authority.review_forms import MemoryForm
from memoryhub.actors import Actor
from memoryhub.errors import HubError
from memoryhub.forms import add_refusal
from memoryhub.nomination_sources import read_nomination_source
from memoryhub.pages import PageRequest, form_status, go_to, page

ROUTES_OFFERED_MAX = 100


@page("authorities.nominate_memory")
def nominate_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    """As it is when the form is sent, to one route of one authority."""
    source = read_nomination_source(store_id, memory_id, actor=actor)
    routes = Route.objects.filter(authority__environment_id=request.place.environment.id)
    offered = list(routes.select_related("authority__canonical").order_by("id")[:ROUTES_OFFERED_MAX])
    form = MemoryForm(request.POST or None, routes=offered)
    if request.method == "POST" and form.is_valid():
        authority_id, route = form.cleaned_data["route"].split(" ")
        try:
            made = nominate(authority_id, store_id=store_id, memory_id=memory_id, route=route, actor=actor)
        except HubError as error:
            add_refusal(form, error)
        else:
            messages.success(request, "The memory is nominated, and waits for a reviewer.")
            ids_of = {"authority_id": authority_id, "nomination_sha256": made.nomination_sha256}
            return go_to(request, "nomination", **ids_of)
    facts = {"source": source, "form": form, "has_routes": bool(offered)}
    return render(request, "authority/nominate_memory.html", facts, status=form_status(request))
