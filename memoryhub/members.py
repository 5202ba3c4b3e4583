"""The verbs of a project's people: list, change a role, remove; invite, accept, revoke."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids
from memoryhub.actors import Actor, user_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.models import Invitation, Membership, Project, User
from memoryhub.operations import ROLES
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.tokens import new_token, token_sha256

INVITATION_DAYS = 7
INVITATIONS_MAX = 200


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """A new invitation with its token, which is shown this once."""

    invitation: Invitation
    token: str


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
    Project.objects.select_for_update(no_key=True).get(id=actor.project_id)
    return get_member(member_id, actor=actor)


def _require_another_owner(member: Membership) -> None:
    owners = Membership.objects.filter(project_id=member.project_id, role="owner").exclude(id=member.id)
    if member.role == "owner" and not owners.exists():
        raise InvalidRequest("The project would have no owner left: make somebody else an owner first.")


def _record(action: AuditAction, member: Membership, actor: Actor) -> None:
    details = {"user_id": member.user.wire_id, "role": member.role}
    audit.record(action, member.wire_id, environment_id=None, details=details, actor=actor)


@atomic(durable=True)
def create_invitation(*, email: str, role: str, actor: Actor) -> IssuedInvitation:
    """Raises: InvalidRequest for a bad address or a full project, Conflict for somebody who is a member already."""
    email = _check_email(email)
    Project.objects.select_for_update(no_key=True).get(id=actor.project_id)
    if Membership.objects.filter(project_id=actor.project_id, user__email=email).exists():
        raise Conflict(
            "This person is a member already; change their role instead.", error_code="member_exists"
        )
    if Membership.objects.filter(project_id=actor.project_id).count() >= settings.MEMBERS_MAX:
        raise InvalidRequest(
            f"The project has {settings.MEMBERS_MAX} members already.", error_code="members_full"
        )
    if _open_invitations(actor).count() >= INVITATIONS_MAX:
        raise InvalidRequest(
            f"{INVITATIONS_MAX} invitations are open; revoke some.", error_code="invitations_full"
        )
    token = new_token()
    invitation = Invitation.objects.create(
        project_id=actor.project_id,
        email=email,
        role=role,
        token_sha256=token_sha256(token),
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )
    details = {"role": role}
    audit.record(
        AuditAction.INVITATION_CREATED, invitation.wire_id, environment_id=None, details=details, actor=actor
    )
    return IssuedInvitation(invitation, token)


def _check_email(email: str) -> str:
    try:
        validate_email(email)
    except ValidationError as error:
        raise InvalidRequest("email: This is not an e-mail address.") from error
    return email.lower()


def _open_invitations(actor: Actor) -> QuerySet[Invitation]:
    return Invitation.objects.filter(
        project_id=actor.project_id, accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()
    )


def list_invitations(page: ListRequest, *, actor: Actor) -> Page[Invitation]:
    """Newest first, used and revoked ones included."""
    invitations = Invitation.objects.filter(project_id=actor.project_id)
    position = page.position()
    if position is not None:
        invitations = invitations.filter(id__lt=UUID(hex=position[0]))
    return cut_page(list(invitations.order_by("-id")[: page.limit + 1]), page, lambda row: [row.id.hex])


def get_invitation(invitation_id: str, *, actor: Actor) -> Invitation:
    """Raises: NotFound."""
    key = ids.from_wire(ids.INVITATION, invitation_id)
    invitation = Invitation.objects.filter(project_id=actor.project_id, id=key).first() if key else None
    if invitation is None:
        raise NotFound("invitation")
    return invitation


@atomic(durable=True)
def revoke_invitation(invitation_id: str, *, actor: Actor) -> Invitation:
    """Again: unchanged. Raises: NotFound, InvalidRequest for one that was accepted."""
    invitation = Invitation.objects.select_for_update().get(id=get_invitation(invitation_id, actor=actor).id)
    if invitation.accepted_at is not None:
        raise InvalidRequest("The invitation was accepted; remove the member instead.")
    if invitation.revoked_at is None:
        invitation.revoked_at = timezone.now()
        invitation.save(update_fields=["revoked_at"])
        audit.record(AuditAction.INVITATION_REVOKED, invitation.wire_id, environment_id=None, actor=actor)
    return invitation


def find_invitation(token: str) -> Invitation | None:
    """The open invitation of a token."""
    return (
        Invitation.objects.filter(
            token_sha256=token_sha256(token), accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()
        )
        .select_related("project")
        .first()
    )


@atomic(durable=True)
def accept_invitation(token: str, *, name: str, password: str) -> User:
    """Join the project: a new account with this password, or the existing one when the password is its own.

    Raises: NotFound for a used, revoked or expired token; InvalidRequest for a weak or wrong password.
    """
    invitation = find_invitation(token)
    if invitation is None or not Invitation.objects.select_for_update().filter(
        id=invitation.id, accepted_at=None
    ):
        raise NotFound("invitation")
    user = _invited_user(invitation.email, name, password)
    Membership.objects.get_or_create(
        project_id=invitation.project_id, user=user, defaults={"role": invitation.role}
    )
    invitation.accepted_at = timezone.now()
    invitation.save(update_fields=["accepted_at"])
    audit.record(
        AuditAction.MEMBER_JOINED,
        user.wire_id,
        environment_id=None,
        details={"invitation_id": invitation.wire_id, "role": invitation.role},
        actor=user_actor(user.id, invitation.project_id, ROLES[invitation.role]),
    )
    return user


def _invited_user(email: str, name: str, password: str) -> User:
    user = User.objects.filter(email=email).first()
    if user is not None:
        if not user.check_password(password):
            raise InvalidRequest("password: This address has an account already; give its own password.")
        return user
    user = User(email=email, name=name)
    check_password_strength(password, user)
    user.set_password(password)
    user.save(force_insert=True)
    return user


def check_password_strength(password: str, user: User) -> None:
    """Raises: InvalidRequest."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidRequest("password: " + " ".join(error.messages)) from error
