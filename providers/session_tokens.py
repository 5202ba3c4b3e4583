"""The tokens of a session: what runs it reaches the stores that it attaches, as the session, until it ends.

A token is a row of the keys' table that names its session, so it is presented, counted and held as a key is.
"""

from datetime import timedelta
from typing import cast

from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, sessions
from memoryhub.actors import Actor, StoreAccess
from memoryhub.audit import AuditAction
from memoryhub.credentials import hold_credential
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.keys import IssuedKey, write_key
from memoryhub.models import ApiKey, Session
from memoryhub.operations import SESSION
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from providers.limits import ENDED_TOKEN_DAYS, SESSION_TOKENS_MAX
from stores.attachments import list_attachments


@atomic(durable=True)
def create_token(session_id: str, *, seconds: int, actor: Actor) -> IssuedKey:
    """It works for so many seconds, and no longer than the session. Raises: NotFound, Conflict for one that has ended,
    InvalidRequest when as many work as may.
    """
    hold_credential(actor)
    session = sessions.lock_session(session_id, actor)
    sessions.require_live(session)
    now = timezone.now()
    _tokens(session).filter(expires_at__lt=now - timedelta(days=ENDED_TOKEN_DAYS)).delete()
    if _tokens(session).filter(revoked_at=None, expires_at__gt=now).count() >= SESSION_TOKENS_MAX:
        raise InvalidRequest(
            f"The session has {SESSION_TOKENS_MAX} tokens that work; revoke one first.",
            error_code="session_tokens_full",
        )
    issued = write_key(
        project_id=session.project_id,
        environment_id=session.environment_id,
        session=session,
        name="",
        scopes=[SESSION],
        stores={one.store_id: cast(StoreAccess, one.access) for one in list_attachments(session)},
        record_scope=None,
        expires_at=now + timedelta(seconds=seconds),
        actor=actor,
    )
    _record(AuditAction.SESSION_TOKEN_CREATED, issued.key, session, actor)
    return issued


def _tokens(session: Session) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(session_id=session.id, work_id=None)


def _record(action: AuditAction, token: ApiKey, session: Session, actor: Actor) -> None:
    audit.record(
        action,
        token.wire_id,
        environment_id=session.environment_id,
        parent_id=session.wire_id,
        actor=actor,
    )


def list_tokens(session_id: str, page: ListRequest, *, actor: Actor) -> Page[ApiKey]:
    """Newest first, with those that work no more. Raises: NotFound, InvalidRequest for a foreign cursor."""
    return cut_newest(_tokens(sessions.get_session(session_id, actor=actor)), page)


def find_token(session: Session, token_id: str) -> ApiKey:
    """Raises: NotFound."""
    key = ids.from_wire(ids.API_KEY, token_id)
    token = None if key is None else find_row(_tokens(session).filter(id=key))
    if token is None:
        raise NotFound("session token")
    return token


@atomic(durable=True)
def revoke_token(session_id: str, token_id: str, *, actor: Actor) -> ApiKey:
    """Nothing done with it commits after the answer. Again: unchanged. Raises: NotFound."""
    session = sessions.lock_session(session_id, actor)
    token = ApiKey.objects.select_for_update(of=("self",)).get(id=find_token(session, token_id).id)
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        _record(AuditAction.SESSION_TOKEN_REVOKED, token, session, actor)
    return token


def revoke_all(session: Session) -> None:
    """A step: the session is locked. Waits for what is being done with one of its tokens."""
    held = _tokens(session).filter(revoked_at=None).select_for_update(of=("self",)).order_by("id")
    working = list(held.values_list("id", flat=True))
    ApiKey.objects.filter(id__in=working).update(revoked_at=timezone.now())
