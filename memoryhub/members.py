"""The verbs of a project's people: list, change a role, remove."""

from uuid import UUID

from django.conf import settings
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.models import Membership
from memoryhub.pagination import ListRequest, Page, cut_page


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
def change_role(member_id: str, *, role: str, actor: Actor) -> Membership:
    """Raises: NotFound, InvalidRequest for the last owner."""
    member = _lock_member(member_id, actor)
    if member.role == role:
        return member
    _require_another_owner(member)
    member.role = role
    member.save(update_fields=["role"])
    _record(AuditAction.MEMBER_ROLE_CHANGED, member, actor)
    return member


@atomic(durable=True)
def remove_member(member_id: str, *, actor: Actor) -> str:
    """The person keeps their account, and sees the project no more. Raises: NotFound, InvalidRequest for the last owner."""
    member = _lock_member(member_id, actor)
    _require_another_owner(member)
    _record(AuditAction.MEMBER_REMOVED, member, actor)
    wire_id = member.wire_id
    member.delete()
    return wire_id


def _lock_member(member_id: str, actor: Actor) -> Membership:
    # The project's row, so that two owners cannot demote each other at once.
    tenancy.lock_project(actor.project_id)
    return get_member(member_id, actor=actor)


def _require_another_owner(member: Membership) -> None:
    owners = Membership.objects.filter(project_id=member.project_id, role="owner").exclude(id=member.id)
    if member.role == "owner" and not owners.exists():
        raise InvalidRequest("The project would have no owner left: make somebody else an owner first.")


def _record(action: AuditAction, member: Membership, actor: Actor) -> None:
    details = {"user_id": member.user.wire_id, "role": member.role}
    audit.record(action, member.wire_id, environment_id=None, details=details, actor=actor)


def require_member_room(project_id: UUID) -> None:
    """A step: one more member fits; the project is locked. Raises: InvalidRequest."""
    if Membership.objects.filter(project_id=project_id).count() >= settings.MEMBERS_MAX:
        raise InvalidRequest(
            f"The project has {settings.MEMBERS_MAX} members already; remove one first.",
            error_code="members_full",
        )
