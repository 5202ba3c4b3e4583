"""The page of the writes that wait for a person, and what becomes of one, or of several that are rejected at once."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actors import Actor
from memoryhub.errors import Conflict, Gone, InvalidRequest
from memoryhub.pages import PageRequest, go_to, list_request, page
from providers import record_writes
from providers.limits import WRITES_REJECTED_MAX
from providers.record_writes import STATES, ShownWrite

STATE_WORDS = {
    "waiting": "Waiting for a decision",
    "approved": "Approved",
    "rejected": "Rejected",
    "expired": "Expired",
}
_FAILED = "It was approved, and could not be written: "


@page("record_writes.list")
@require_safe
def writes(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """Newest first, with the text of what waits."""
    state = request.GET.get("state", "waiting")
    if state not in ("", *STATES):
        raise InvalidRequest("The address asks for a state that there is not.")
    wanted = list_request(request, "console.record_writes", {"state": state})
    shown = record_writes.list_writes(wanted, environment=None, state=state or None, actor=actor)
    facts = {"writes": shown, "state": state, "states": STATE_WORDS}
    return render(request, "providers/record_writes.html", facts)


@page("record_writes.approve")
@require_POST
def approve_write(request: PageRequest, write_id: str, *, actor: Actor) -> HttpResponse:
    """The row's button: its text stands beside it."""
    try:
        approved = record_writes.approve_write(write_id, actor=actor)
    except (Conflict, Gone) as error:
        messages.warning(request, error.message)
    else:
        _say_outcome(request, approved)
    return go_to(request, "record-writes")


def _say_outcome(request: PageRequest, approved: ShownWrite) -> None:
    outcome = approved.write.outcome or {}
    if "code" in outcome:
        messages.warning(request, _FAILED + outcome["message"])
    elif approved.write.outcome is None or "status" in outcome:
        messages.warning(request, "It is approved. Nobody knows yet whether the memory service has done it.")
    else:
        done = "remembered" if approved.write.tool == "save_memory" else "forgotten"
        messages.success(request, f"It is approved and {done}.")


@page("record_writes.reject")
@require_POST
def reject_writes(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """Asks first; then a row for each, with what became of it."""
    chosen = list(dict.fromkeys(request.POST.getlist("write")))
    if not chosen:
        raise InvalidRequest("Tick the writes first.")
    if len(chosen) > WRITES_REJECTED_MAX:
        raise InvalidRequest(f"At most {WRITES_REJECTED_MAX} writes are rejected at once.")
    facts: dict[str, Any] = {"chosen": chosen}
    if "confirmed" not in request.POST:
        return render(request, "providers/reject_record_writes.html", facts)
    facts["results"] = record_writes.reject_all(chosen, actor=actor)
    return render(request, "providers/rejected_record_writes.html", facts)
