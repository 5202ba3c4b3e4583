"""The pages of authorities: the line of operations that the pin goes along, host calls, receipts, and making one."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from authority import authorities as verbs
from authority import host_calls, space_archives, spaces
from authority.authorities import Lane, Options
from authority.models import Authority, Route, Space
from authority.plan_facts import list_passed
from authority.review_forms import AuthorityForm, SpaceForm, read_head
from authority.review_pages import head_text, show_calls, show_receipt, tell_outcome
from authority.review_plans import find_next_head
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import HubError
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.spools import file_answer, filled_spool

BEFORE_PIN_SHOWN = 5
SPACES_OFFERED_MAX = 100
CREATE_EXAMPLE = """curl {url}/v1/spaces \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"spaceId": "acme.canonical", "realmId": "tenant:acme", "profileKind": "canonical", "authorityId": "acme.canonical"}}'"""


@page("authorities.list")
@require_safe
def authorities(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = verbs.list_authorities(list_request(request, "console.authorities", {}), actor=actor)
    facts = {"authorities": shown, "example": CREATE_EXAMPLE.format(url=settings.BASE_URL)}
    return render(request, "authority/authorities.html", facts)


@page("authorities.get")
@require_safe
def authority(request: PageRequest, authority_id: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_authority(authority_id, actor=actor)
    wanted = list_request(request, "console.host_calls", {"authority": authority_id})
    found = host_calls.list_calls(authority_id, wanted, actor=actor)
    next_head = find_next_head(shown)
    passed = list_passed(shown.canonical_id, shown.pin_sequence, shown.canonical.sequence)
    facts = {
        "authority": shown,
        "distance": shown.canonical.sequence - shown.pin_sequence,
        "pin": head_text(shown.pin),
        "next_head": next_head,
        "next_text": head_text(next_head) if next_head else "",
        "passed": passed[::-1],
        "before": _list_before(shown)[::-1],
        "routes": list(Route.objects.filter(authority=shown).order_by("nomination_id")),
        "calls": show_calls(found.rows),
        "next_page": found.next_page,
        "names": name_actors((call.submitted_by_id for call in found.rows), actor=actor),
    }
    return render(request, "authority/authority.html", facts)


def _list_before(shown: Authority) -> list[Any]:
    """The last operations that the pin has reached; the pin's own is the last of them."""
    return list_passed(shown.canonical_id, max(0, shown.pin_sequence - BEFORE_PIN_SHOWN), shown.pin_sequence)


@page("authorities.advance")
@require_POST
def advance_authority(request: PageRequest, authority_id: str, *, actor: Actor) -> HttpResponse:
    """From the pin that the page showed; back to the nomination from which it was asked."""
    value = {
        "expectedHead": read_head(request.POST.get("head", "")),
        "nextHead": read_head(request.POST.get("next_head", "")),
        "v": 1,
    }
    tell_outcome(request, host_calls.submit_advance(authority_id, value, actor=actor))
    sha256 = request.POST.get("nomination", "")
    if sha256:
        return go_to(request, "nomination", authority_id=authority_id, nomination_sha256=sha256)
    return go_to(request, "authority", authority_id=authority_id)


@page("spaces.export")
@require_safe
def export_reviewed(request: PageRequest, authority_id: str, *, actor: Actor) -> FileResponse:
    """What agents read: the records at the pin, as the archive of a store."""
    shown = verbs.get_authority(authority_id, actor=actor)
    with filled_spool() as spool:
        space_archives.export_space(shown.canonical.wire_id, shown.pin.reference, spool, actor=actor)
    name = f"{shown.canonical.authority_id.replace('/', '-')}-at-{shown.pin_sequence}.tar"
    return file_answer(spool, content_type="application/x-tar", file_name=name)


# Host calls.


@page("host_calls.get")
@require_safe
def host_call(request: PageRequest, authority_id: str, call_id: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_authority(authority_id, actor=actor)
    call = host_calls.get_call(authority_id, call_id, actor=actor)
    facts = {
        "authority": shown,
        "call": show_calls([call])[0],
        "names": name_actors([call.submitted_by_id], actor=actor),
    }
    return render(request, "authority/host_call.html", facts)


@page("host_calls.get")
@require_safe
def host_call_progress(
    request: PageRequest, authority_id: str, call_id: str, *, actor: Actor
) -> HttpResponse:
    """The part of a page that asks for itself until the call has ended; then the page is to load itself anew."""
    call = host_calls.get_call(authority_id, call_id, actor=actor)
    if "HX-Request" not in request.headers:  # somebody opened it by itself
        return go_to(request, "host-call", authority_id=authority_id, call_id=call_id)
    facts = {"authority_id": authority_id, "call": show_calls([call])[0]}
    answer = render(request, "authority/call_progress.html", facts)
    if call.finished_at is not None:
        answer["HX-Refresh"] = "true"
    return answer


@page("host_calls.resend")
@require_POST
def resend_host_call(request: PageRequest, authority_id: str, call_id: str, *, actor: Actor) -> HttpResponse:
    again = tell_outcome(request, host_calls.resend_call(authority_id, call_id, actor=actor))
    if again.nomination_sha256:
        ids_of = {"authority_id": authority_id, "nomination_sha256": again.nomination_sha256}
        if "nomination" in request.POST:
            return go_to(request, "nomination", **ids_of)
    return go_to(request, "host-call", authority_id=authority_id, call_id=again.wire_id)


@page("host_calls.withdraw")
@require_POST
def withdraw_host_call(
    request: PageRequest, authority_id: str, call_id: str, *, actor: Actor
) -> HttpResponse:
    host_calls.withdraw_call(authority_id, call_id, actor=actor)
    messages.success(request, "The call is withdrawn: it never runs.")
    return go_to(request, "host-call", authority_id=authority_id, call_id=call_id)


# Receipts.


@page("receipts.get")
@require_safe
def receipt(request: PageRequest, authority_id: str, receipt_sha256: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_authority(authority_id, actor=actor)
    row = host_calls.get_receipt(authority_id, receipt_sha256, actor=actor)
    return render(request, "authority/receipt_page.html", {"authority": shown, "receipt": show_receipt(row)})


@page("receipts.get")
@require_safe
def receipt_file(
    request: PageRequest, authority_id: str, receipt_sha256: str, *, actor: Actor
) -> HttpResponse:
    """The canonical bytes themselves."""
    row = host_calls.get_receipt(authority_id, receipt_sha256, actor=actor)
    name = f"receipt-{row.receipt_sha256[:12]}.json"
    return HttpResponse(
        row.body,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


# Making one.


@page("spaces.create")
def create_space(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = SpaceForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = spaces.create_space(**form.cleaned_data, environment=None, actor=actor)
        except HubError as error:
            add_refusal(form, error)
        else:
            messages.success(request, f"The space {made.space_id} is there.")
            return go_to(request, "create-authority")
    return render(request, "authority/create_space.html", {"form": form}, status=form_status(request))


@page("authorities.create")
def create_authority(request: PageRequest, *, actor: Actor) -> HttpResponse:
    offered = list(
        spaces.visible_spaces(actor).filter(purge_receipt=None).order_by("-id")[:SPACES_OFFERED_MAX]
    )
    form = AuthorityForm(request.POST or None, spaces=offered)
    if request.method == "POST" and form.is_valid():
        try:
            made = verbs.create_authority(_options(form.cleaned_data, offered), actor=actor)
        except HubError as error:
            add_refusal(form, error)
        else:
            messages.success(
                request, "The authority is there. Its pin stands at the head of its canonical space."
            )
            return go_to(request, "authority", authority_id=made.wire_id)
    facts = {"form": form, "has_both": {one.profile_kind for one in offered} == {"canonical", "working"}}
    return render(request, "authority/create_authority.html", facts, status=form_status(request))


def _options(values: dict[str, Any], offered: list[Space]) -> Options:
    by_id = {one.wire_id: one for one in offered}
    canonical, working = by_id[values["canonical"]], by_id[values["working"]]
    return Options(
        Lane(canonical.wire_id, canonical.authority_id, canonical.binding_sha256),
        Lane(working.wire_id, working.authority_id, working.binding_sha256),
        values["actor_id"],
        values["adoption_actor_id"],
        canonical.head.as_wire(),
        [],
        values["routes"],
    )
