"""The page of the review queue, and the rejection of several nominations at once."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from authority import review_queue, reviews
from authority.review_forms import RejectForm, read_choices
from authority.review_pages import STATE_WORDS
from authority.review_queue import STATES, WAITING, QueueFilters
from memoryhub import ids
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pages import PageRequest, list_request, page

NOMINATE_EXAMPLE = """curl {url}/v1/authorities/$AUTHORITY/agent/nominate \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"nominationId": "review", "roots": ["fact:opening-hours"], "v": 1}}'"""


@page("nominations.list")
@require_safe
def review(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """What waits for a decision, the oldest first."""
    filters = _read_filters(request)
    wanted = list_request(request, "console.review", filters.as_dict())
    shown = review_queue.list_queue(wanted, filters, actor=actor)
    choices = review_queue.list_choices(actor=actor)
    writers = {one.created_by_id for one in shown.rows} | set(choices.agents)
    facts = {
        "nominations": shown,
        "filters": filters,
        "is_filtered": filters != QueueFilters(),
        "choices": choices,
        "states": [(state, STATE_WORDS[state]) for state in STATES],
        "names": name_actors(writers, actor=actor),
        "example": NOMINATE_EXAMPLE.format(url=settings.BASE_URL),
    }
    return render(request, "authority/review.html", facts)


def _read_filters(request: PageRequest) -> QueueFilters:
    """Of the URL: `state`, `authority`, `route`, `agent`. Raises: InvalidRequest."""
    names = ("authority", "route", "agent")
    authority, route, agent = (request.GET.get(name, "").strip() for name in names)
    state = request.GET.get("state", WAITING)
    is_unknown = authority and ids.from_wire(ids.AUTHORITY, authority) is None
    if state not in ("", WAITING, *STATES) or is_unknown or "\0" in route + agent:
        raise InvalidRequest("The address asks for a state or a name that there is not.")
    return QueueFilters(state, authority, route, agent)


@page("nominations.decide")
@require_POST
def reject_nominations(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """Asks first, for a reason; then a row for each, with what became of it."""
    choices = read_choices(request.POST.getlist("nomination"))
    if not choices:
        raise InvalidRequest("Tick the nominations first.")
    form = RejectForm(request.POST if "confirmed" in request.POST else None)
    if form.is_valid():
        results = reviews.reject_all(choices, note=form.cleaned_data["note"], actor=actor)
        return render(request, "authority/rejected.html", {"results": results})
    status = 400 if form.errors else 200
    facts: dict[str, Any] = {"choices": choices, "form": form}
    return render(request, "authority/reject_nominations.html", facts, status=status)
