"""The pages of a project's people: who belongs to it in which role, and who is invited."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from memoryhub import invitations, members
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.forms import add_refusal
from memoryhub.models import Membership
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page
from memoryhub.people_forms import InvitationForm, RoleForm


@page("members.list")
@require_safe
def people(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = members.list_members(list_request(request, "console.members", {}), actor=actor)
    facts = {"members": shown, "only_owner": members.find_only_owner(actor.project_id)}
    return render(request, "memoryhub/people.html", facts)


@page("members.update")
def change_role(request: PageRequest, member_id: str, *, actor: Actor) -> HttpResponse:
    member = members.get_member(member_id, actor=actor)
    form = RoleForm(request.POST or None, initial={"role": member.role, "expected_role": member.role})
    if request.method != "POST" or not form.is_valid():
        return _role_page(request, member, form, form_status(request))
    try:
        changed = members.change_role(member_id, **form.cleaned_data, actor=actor)
    except InvalidRequest as error:
        add_refusal(form, error)
        return _role_page(request, member, form, 400)
    except Conflict as error:
        current = members.get_member(member_id, actor=actor)
        again = RoleForm({"role": form.cleaned_data["role"], "expected_role": current.role})
        again.add_error(
            "role", error.message.partition(": ")[2] + " Choose again, and send the form once more."
        )
        return _role_page(request, current, again, 409)
    messages.success(request, f"{_name(changed)} is {changed.role} now.")
    return _leave(request, changed)


def _role_page(request: PageRequest, member: Membership, form: RoleForm, status: int) -> HttpResponse:
    return render(request, "memoryhub/change_role.html", {"member": member, "form": form}, status=status)


def _name(member: Membership) -> str:
    return member.user.name or member.user.email


def _leave(request: PageRequest, changed: Membership) -> HttpResponse:
    """To the list, for those who may still see it."""
    is_own = changed.user_id == request.place.membership.user_id
    return go_to(request, "overview" if is_own and changed.role != "owner" else "people")


@page("members.remove")
def remove_member(request: PageRequest, member_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first, by name."""
    member = members.get_member(member_id, actor=actor)
    if request.method == "POST":
        try:
            members.remove_member(member_id, actor=actor)
        except InvalidRequest as error:
            facts = {"member": member, "problem": error.message}
            return render(request, "memoryhub/remove_member.html", facts, status=400)
        messages.success(request, f"{_name(member)} is removed, and sees the project no more.")
        is_own = member.user_id == request.place.membership.user_id
        return redirect("home") if is_own else go_to(request, "people")
    return render(request, "memoryhub/remove_member.html", {"member": member})


@page("invitations.list")
@require_safe
def invited(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = invitations.list_invitations(list_request(request, "console.invitations", {}), actor=actor)
    rows = [(invitation, invitations.state_of(invitation)) for invitation in shown.rows]
    return render(request, "memoryhub/invitations.html", {"invitations": Page(rows, shown.next_page)})


@page("invitations.create")
def invite(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The answer to the form is the only page that shows the link."""
    form = InvitationForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        try:
            issued = invitations.create_invitation(
                **form.cleaned_data, invitation_id=form.promised_id, actor=actor
            )
        except (InvalidRequest, Conflict) as error:
            if error.error_code == "already_issued":
                return render(request, "memoryhub/invitation_made.html", status=409)
            add_refusal(form, error)
        else:
            facts = {
                "invitation": issued.invitation,
                "url": f"{settings.BASE_URL}/invitations/{issued.token}",
            }
            return render(request, "memoryhub/invitation_issued.html", facts)
    return render(request, "memoryhub/invite.html", {"form": form}, status=form_status(request))


@page("invitations.revoke")
def revoke_invitation(request: PageRequest, invitation_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: the link in somebody's hands stops working."""
    invitation = invitations.get_invitation(invitation_id, actor=actor)
    if request.method == "POST":
        invitations.revoke_invitation(invitation_id, actor=actor)
        messages.success(request, f"The invitation of {invitation.email} is revoked.")
        return go_to(request, "invitations")
    return render(request, "memoryhub/revoke_invitation.html", {"invitation": invitation})
