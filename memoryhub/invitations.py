"""The verbs of an invitation: create (its token is shown once), list, revoke, accept."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor, user_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.members import require_member_room
from memoryhub.models import Invitation, Membership, User
from memoryhub.operations import ROLES
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.passwords import check_password_strength, count_password_try
from memoryhub.rows import find_row
from memoryhub.tokens import new_token, token_sha256

INVITATION_DAYS = 7
INVITATIONS_MAX = 200

type InvitationState = Literal["open", "accepted", "revoked", "expired"]


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """A new invitation with its token, which is shown this once."""

    invitation: Invitation
    token: str


@atomic(durable=True)
def create_invitation(
    *, email: str, role: str, invitation_id: UUID | None = None, actor: Actor
) -> IssuedInvitation:
    """`invitation_id`: the id promised to a form.

    Raises: InvalidRequest for a bad address or a full project, Conflict for somebody who is a member already, or when the
    id was used.
    """
    email = _check_email(email)
    tenancy.lock_project(actor.project_id)
    if invitation_id is not None and Invitation.objects.filter(id=invitation_id).exists():
        raise Conflict("This form has made its invitation already.", error_code="already_issued")
    if Membership.objects.filter(project_id=actor.project_id, user__email=email).exists():
        raise Conflict(
            "email: This person is a member already; change their role instead.", error_code="member_exists"
        )
    require_member_room(actor.project_id)
    if _open_invitations().filter(project_id=actor.project_id).count() >= INVITATIONS_MAX:
        raise InvalidRequest(
            f"{INVITATIONS_MAX} invitations are open; revoke some.", error_code="invitations_full"
        )
    token = new_token()
    invitation = Invitation.objects.create(
        id=invitation_id or ids.new_id(),
        project_id=actor.project_id,
        email=email,
        role=role,
        token_sha256=token_sha256(token),
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )
    audit.record(
        AuditAction.INVITATION_CREATED,
        invitation.wire_id,
        environment_id=None,
        details={"role": role},
        actor=actor,
    )
    return IssuedInvitation(invitation, token)


def _check_email(email: str) -> str:
    try:
        validate_email(email)
    except ValidationError as error:
        raise InvalidRequest("email: This is not an e-mail address.") from error
    return email.lower()


def _open_invitations() -> QuerySet[Invitation]:
    return Invitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())


def list_invitations(page: ListRequest, *, actor: Actor) -> Page[Invitation]:
    """Newest first, used and revoked ones included."""
    invitations = Invitation.objects.filter(project_id=actor.project_id)
    return cut_newest(invitations, page)


def state_of(invitation: Invitation) -> InvitationState:
    if invitation.accepted_at is not None:
        return "accepted"
    if invitation.revoked_at is not None:
        return "revoked"
    return "open" if invitation.expires_at > timezone.now() else "expired"


def get_invitation(invitation_id: str, *, actor: Actor) -> Invitation:
    """Raises: NotFound."""
    key = ids.from_wire(ids.INVITATION, invitation_id)
    invitation = find_row(Invitation.objects.filter(project_id=actor.project_id, id=key)) if key else None
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
    """The open invitation of a token, with its project."""
    return find_row(_open_invitations().filter(token_sha256=token_sha256(token)).select_related("project"))


def accept_invitation(token: str, *, name: str, password: str) -> User:
    """Join the project: a new account with this password, or the existing one when the password is its own.

    Somebody who is a member already keeps their role. Raises: NotFound for a used, revoked or expired token;
    InvalidRequest for a weak or wrong password or a full project; Conflict; RateLimited.
    """
    offer = find_invitation(token)
    if offer is None:
        raise NotFound("invitation")
    count_password_try(offer.email)
    return _accept(offer, name, password)


@atomic(durable=True)
def _accept(offer: Invitation, name: str, password: str) -> User:
    tenancy.lock_project(offer.project_id)
    # What was open may have been revoked while we waited: the locked row decides.
    invitation = find_row(_open_invitations().select_for_update().filter(id=offer.id))
    if invitation is None:
        raise NotFound("invitation")
    user = _invited_user(invitation.email, name, password)
    _join(invitation, user)
    invitation.accepted_at = timezone.now()
    invitation.save(update_fields=["accepted_at"])
    return user


def _join(invitation: Invitation, user: User) -> None:
    if Membership.objects.filter(project_id=invitation.project_id, user=user).exists():
        return
    require_member_room(invitation.project_id)
    member = Membership.objects.create(project_id=invitation.project_id, user=user, role=invitation.role)
    audit.record(
        AuditAction.MEMBER_JOINED,
        member.wire_id,
        environment_id=None,
        details={"invitation_id": invitation.wire_id, "user_id": user.wire_id, "role": invitation.role},
        actor=user_actor(user.id, invitation.project_id, ROLES[invitation.role]),
    )


def _invited_user(email: str, name: str, password: str) -> User:
    user = find_row(User.objects.filter(email=email))
    if user is None:
        return _create_user(email, name, password)
    if not user.check_password(password):
        raise InvalidRequest("password: This address has an account already; give its own password.")
    return user


def _create_user(email: str, name: str, password: str) -> User:
    user = User(email=email, name=name)
    check_password_strength(password, user)
    user.set_password(password)
    try:
        with atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "This address got an account just now: give its password.", error_code="user_exists"
        ) from error
    return user
