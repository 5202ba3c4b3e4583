"""The pages of one nomination: the review plan, a record of it beside the reviewed one, and the decision."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from authority import host_calls, review_queue, reviews
from authority.graph import Wire
from authority.limits import LANE_BYTES_MAX, LANE_RECORDS_MAX, REPLACEMENTS_MAX
from authority.nominations_kept import get_nomination
from authority.plan_facts import read_records
from authority.plan_wires import page_of
from authority.review_forms import RejectForm, read_claims, read_head
from authority.review_pages import (
    BLOCKER_WORDS,
    head_text,
    show_calls,
    tell_outcome,
)
from authority.review_plans import Plan, PlannedRecord, compute_plan
from authority.reviews import NOTE_LENGTH_MAX
from authority.value_diffs import FieldDiff, diff_fields, shown
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, NotFound
from memoryhub.pages import PageRequest, go_to, list_request, page
from memoryhub.pagination import Page
from memoryhub.strict_json import json_text

UNTICKED = "Tick every record that would be replaced: an adoption takes all of a nomination, or nothing."


@dataclass(frozen=True, slots=True)
class Beside:
    """A record that would be replaced, with what differs. `tick`: what its box sends."""

    record: PlannedRecord
    difference: FieldDiff
    tick: str


@page("nominations.plan")
@require_safe
def nomination(
    request: PageRequest, authority_id: str, nomination_sha256: str, *, actor: Actor
) -> HttpResponse:
    return _show(request, authority_id, nomination_sha256, actor, ticked=set(), problem=None)


def _show(
    request: PageRequest,
    authority_id: str,
    nomination_sha256: str,
    actor: Actor,
    *,
    ticked: set[str],
    problem: str | None,
) -> HttpResponse:
    plan = compute_plan(authority_id, nomination_sha256, actor=actor)
    names = {"authority": authority_id, "nomination": nomination_sha256}
    wanted = list_request(request, "console.plan", names)
    others = page_of([one for one in plan.records if one.state != "replace"], wanted)
    calls = show_calls(host_calls.list_nomination_calls(plan.nomination))
    actors = [plan.nomination.created_by_id, plan.nomination.decided_by_id or ""]
    facts = {
        "plan": plan,
        "nomination": plan.nomination,
        "authority": plan.authority,
        "pin": head_text(plan.pin),
        "next_head": head_text(plan.next_head) if plan.next_head else "",
        "replaced": _put_beside(plan),
        "others": Page([(one, shown(one.wire["value"])) for one in others.rows], others.next_page),
        "blocked": [BLOCKER_WORDS[name] for name in plan.blockers if name in BLOCKER_WORDS],
        "is_open": plan.nomination.is_waiting or plan.nomination.state == "rejected",
        "calls": calls[::-1],
        "last_call": calls[0] if calls else None,
        "following": review_queue.find_next(plan.nomination, actor=actor),
        "names": name_actors([*actors, *(call.row.submitted_by_id for call in calls)], actor=actor),
        "records_max": LANE_RECORDS_MAX,
        "bytes_max": LANE_BYTES_MAX,
        "note_length_max": NOTE_LENGTH_MAX,
        "ticked": ticked,
        "problem": problem,
    }
    return render(request, "authority/nomination.html", facts, status=400 if problem else 200)


def _put_beside(plan: Plan) -> list[Beside]:
    """As many as one adoption may replace."""
    records = plan.of_state("replace")[:REPLACEMENTS_MAX]
    standing = read_records(plan.authority.canonical_id, plan.pin, [one.key for one in records])
    return [
        Beside(
            one,
            diff_fields(_compared(standing[one.key]), _compared(one.wire)),
            f"{one.key} {one.canonical_sha256}",
        )
        for one in records
    ]


def _compared(record: Wire) -> Wire:
    """What may differ of two records of one key."""
    return {name: record[name] for name in ("dependencies", "kind", "value")}


@page("nominations.plan")
@require_safe
def nomination_record(
    request: PageRequest, authority_id: str, nomination_sha256: str, *, actor: Actor
) -> HttpResponse:
    """`?key=`: one record, whole, beside the reviewed one."""
    plan = compute_plan(authority_id, nomination_sha256, actor=actor)
    record = next((one for one in plan.records if one.key == request.GET.get("key")), None)
    if record is None:
        raise NotFound("record")
    standing = read_records(plan.authority.canonical_id, plan.pin, [record.key]).get(record.key)
    facts = {
        "plan": plan,
        "nomination": plan.nomination,
        "record": record,
        "nominated": json_text(_compared(record.wire)),
        "standing": json_text(_compared(standing)) if standing else None,
        "difference": diff_fields(_compared(standing), _compared(record.wire)) if standing else None,
    }
    return render(request, "authority/nomination_record.html", facts)


@page("nominations.decide")
@require_POST
def adopt_nomination(
    request: PageRequest, authority_id: str, nomination_sha256: str, *, actor: Actor
) -> HttpResponse:
    """Carries the head and the digests that the page showed."""
    head, ticks = read_head(request.POST.get("head", "")), request.POST.getlist("replace")
    plan = compute_plan(authority_id, nomination_sha256, actor=actor)
    if head == plan.pin.as_wire() and not {one.tick for one in _put_beside(plan)} <= set(ticks):
        return _show(request, authority_id, nomination_sha256, actor, ticked=set(ticks), problem=UNTICKED)
    try:
        decision = reviews.adopt_nomination(
            authority_id,
            nomination_sha256,
            expected_head=head,
            replacements=read_claims(ticks),
            note=request.POST.get("note", "").replace("\r\n", "\n"),
            actor=actor,
        )
    except Conflict as error:
        messages.error(request, error.message)
    else:
        assert decision.call is not None
        tell_outcome(request, decision.call)
    return go_to(request, "nomination", authority_id=authority_id, nomination_sha256=nomination_sha256)


@page("nominations.decide")
def reject_nomination(
    request: PageRequest, authority_id: str, nomination_sha256: str, *, actor: Actor
) -> HttpResponse:
    """Asks first, for a reason."""
    ids_of = {"authority_id": authority_id, "nomination_sha256": nomination_sha256}
    shown_one, form = get_nomination(**ids_of, actor=actor), RejectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            reviews.reject_nomination(**ids_of, note=form.cleaned_data["note"], actor=actor)
        except Conflict as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "The nomination is rejected. Nothing was written to either memory.")
        return go_to(request, "nomination", **ids_of)
    facts: dict[str, Any] = {"nomination": shown_one, "authority_id": authority_id, "form": form}
    status = 400 if request.method == "POST" else 200
    return render(request, "authority/reject_nomination.html", facts, status=status)
