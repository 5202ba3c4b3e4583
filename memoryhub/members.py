"""The verbs of a project's people: list, change a role, remove."""

from uuid import UUID

from django.conf import settings
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.models import Membership
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row


def list_members(page: ListRequest, *, actor: Actor) -> Page[Membership]:
    """Oldest first, with their users."""
    members = Membership.objects.filter(project_id=actor.project_id).select_related("user")
    position = page.position()
    if position is not None:
        members = members.filter(id__gt=UUID(hex=position[0]))
    return cut_page(list(members.order_by("id")[: page.limit + 1]), page, lambda member: [member.id.hex])


def get_member(member_id: str, *, actor: Actor) -> Membership:
    """Raises: NotFound."""
    key = ids.from_wire(ids.MEMBERSHIP, member_id)
    members = Membership.objects.filter(project_id=actor.project_id).select_related("user")
    member = members.filter(id=key).first() if key else None
    if member is None:
        raise NotFound("member")
    return member


@atomic(durable=True)
def change_role(member_id: str, *, role: str, expected_role: str | None = None, actor: Actor) -> Membership:
    """`expected_role`: what it was when the change was decided on.

    Raises: NotFound, Conflict for another than the expected one, InvalidRequest for the last owner.
    """
    member = _lock_member(member_id, actor)
    if member.role == role:
        return member
    if expected_role not in (None, member.role):
        raise Conflict(
            f"expected_role: Somebody made this member {member.role} meanwhile.", error_code="role_changed"
        )
    _require_another_owner(member)
    # first, since owners may lower their own role
    _record(AuditAction.MEMBER_ROLE_CHANGED, member, role, actor)
    member.role = role
    member.save(update_fields=["role"])
    return member


@atomic(durable=True)
def remove_member(member_id: str, *, actor: Actor) -> str:
    """The person keeps their account, and sees the project no more. Raises: NotFound, InvalidRequest for the last owner."""
    member = _lock_member(member_id, actor)
    _require_another_owner(member)
    _record(AuditAction.MEMBER_REMOVED, member, member.role, actor)
    wire_id = member.wire_id
    member.delete()
    return wire_id


def _lock_member(member_id: str, actor: Actor) -> Membership:
    # The project's row, so that two owners cannot demote each other at once; and the member's, so that what they have
    # under way is committed first (credentials.hold_credential).
    tenancy.lock_project(actor.project_id)
    member = get_member(member_id, actor=actor)
    held = Membership.objects.select_related("user").select_for_update(of=("self",)).filter(id=member.id)
    found = find_row(held)
    if found is None:
        raise NotFound("member")
    return found


def _require_another_owner(member: Membership) -> None:
    owners = Membership.objects.filter(project_id=member.project_id, role="owner").exclude(id=member.id)
    if member.role == "owner" and not owners.exists():
        raise InvalidRequest("The project would have no owner left: make somebody else an owner first.")


def find_only_owner(project_id: UUID) -> UUID | None:
    """The membership that may neither be lowered nor removed; None where there are several owners."""
    owners = Membership.objects.filter(project_id=project_id, role="owner").values_list("id", flat=True)[:2]
    return owners[0] if len(owners) == 1 else None


def _record(action: AuditAction, member: Membership, role: str, actor: Actor) -> None:
    details = {"user_id": member.user.wire_id, "role": role}
    audit.record(action, member.wire_id, environment_id=None, details=details, actor=actor)


def require_member_room(project_id: UUID) -> None:
    """A step: one more member fits; the project is locked. Raises: InvalidRequest."""
    if Membership.objects.filter(project_id=project_id).count() >= settings.MEMBERS_MAX:
        raise InvalidRequest(
            f"The project has {settings.MEMBERS_MAX} members already; remove one first.",
            error_code="members_full",
        )
