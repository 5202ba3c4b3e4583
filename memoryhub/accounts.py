"""The verbs of a person's own account: sign in, the name, the password, sessions, one-time sign-in links.

A changed password ends every session of its owner: their rows go, and a session carries a digest of the password it began
with. The page that changed it begins a new one.
"""

from datetime import timedelta
from uuid import UUID

from django.contrib.auth import authenticate
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.http import HttpRequest
from django.utils import timezone

from memoryhub import audit
from memoryhub.actors import Actor, user_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import InvalidRequest
from memoryhub.models import BrowserSession, Membership, SignInLink, User
from memoryhub.operations import ROLES
from memoryhub.passwords import check_password_strength, count_password_try
from memoryhub.tokens import new_token, token_sha256

SIGN_IN_LINK_MINUTES = 60
SESSIONS_SHOWN_MAX = 100


def check_sign_in(request: HttpRequest, *, email: str, password: str) -> User | None:
    """The person of an address and password, or None. Raises: RateLimited after too many tries for one address.

    An unknown address costs the same work as a wrong password.
    """
    count_password_try(email)
    user = authenticate(request, username=email.lower(), password=password)
    return user if isinstance(user, User) else None


@atomic(durable=True)
def create_sign_in_link(user_id: UUID) -> str:
    """The token of a new link, shown this once; it works once, for an hour."""
    token = new_token()
    SignInLink.objects.create(
        user_id=user_id,
        token_sha256=token_sha256(token),
        expires_at=timezone.now() + timedelta(minutes=SIGN_IN_LINK_MINUTES),
    )
    return token


def is_link_open(token: str) -> bool:
    return _open_links(token).exists()


def _open_links(token: str) -> QuerySet[SignInLink]:
    return SignInLink.objects.filter(
        token_sha256=token_sha256(token), used_at=None, expires_at__gt=timezone.now()
    )


@atomic(durable=True)
def use_sign_in_link(token: str) -> User | None:
    """The person of an open link, which is used up by this; None for any other."""
    link = _open_links(token).select_related("user").first()
    # The conditional update decides between two that use it at once.
    if link is None or not _open_links(token).update(used_at=timezone.now()):
        return None
    return link.user if link.user.is_active else None


def change_password(user: User, *, current: str | None, new: str) -> User:
    """Every session of the person ends. `current` None: a sign-in link has proved who it is.

    Raises: InvalidRequest, RateLimited.
    """
    count_password_try(user.email)
    return _change_password(user.id, current, new)


@atomic(durable=True)
def _change_password(user_id: UUID, current: str | None, new: str) -> User:
    user = User.objects.select_for_update().get(id=user_id)
    if current is not None and not user.check_password(current):
        raise InvalidRequest("current password: This is not your password.", error_code="wrong_password")
    check_password_strength(new, user)
    user.set_password(new)
    user.save(update_fields=["password"])
    BrowserSession.objects.filter(user=user).delete()
    _record(AuditAction.PASSWORD_CHANGED, user)
    return user


@atomic(durable=True)
def change_name(user_id: UUID, *, name: str) -> User:
    """What colleagues see beside what the person writes. Raises: InvalidRequest for none."""
    user = User.objects.select_for_update().get(id=user_id)
    if not name.strip():
        raise InvalidRequest("name: Your colleagues see it beside what you write, so it cannot be empty.")
    if user.name != name:
        user.name = name
        user.save(update_fields=["name"])
        _record(AuditAction.USER_RENAMED, user)
    return user


def _record(action: AuditAction, user: User) -> None:
    """In each project of the person. Memberships are held, so that a role changed meanwhile refuses nothing of this."""
    for membership in Membership.objects.select_for_update(no_key=True).filter(user=user).order_by("id"):
        audit.record(action, user.wire_id, environment_id=None, actor=member_actor(membership))


def list_sessions(user: User) -> list[BrowserSession]:
    """The browsers that are signed in, the last used first."""
    sessions = BrowserSession.objects.filter(user=user, expire_date__gt=timezone.now())
    return list(sessions.defer("session_data").order_by("-last_used_at")[:SESSIONS_SHOWN_MAX])


@atomic(durable=True)
def end_session(user_id: UUID, session_key: str) -> None:
    """Effective for every request that begins after the answer. One that has ended, or is another's: nothing happens."""
    BrowserSession.objects.filter(user_id=user_id, session_key=session_key).delete()


@atomic(durable=True)
def end_other_sessions(user_id: UUID, *, kept_key: str) -> int:
    """How many ended."""
    ended, _ = BrowserSession.objects.filter(user_id=user_id).exclude(session_key=kept_key).delete()
    return ended


@atomic(durable=True)
def clear_expired() -> int:
    """Remove sessions and sign-in links that let nobody in any more; the number of rows."""
    sessions, _ = BrowserSession.objects.filter(expire_date__lt=timezone.now()).delete()
    links, _ = SignInLink.objects.filter(expires_at__lt=timezone.now()).delete()
    return sessions + links


def member_actor(membership: Membership) -> Actor:
    return user_actor(membership.user_id, membership.project_id, ROLES[membership.role])
