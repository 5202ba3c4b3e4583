"""The page of operations: how the hub fares, for the owners of a project."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import hub_status as status
from memoryhub.actors import Actor
from memoryhub.pages import PageRequest, page


@page("hub_status.get")
@require_safe
def hub_status(request: PageRequest, *, actor: Actor) -> HttpResponse:
    return render(request, "memoryhub/hub_status.html", {"status": status.read_status(actor)})
