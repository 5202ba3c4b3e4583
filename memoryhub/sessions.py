"""Sessions of agents: found through an actor, held while something of them changes. What they pin is held by the rooms.

Order of locks: the session before any store, memory or document.
"""

from django.db.models.query import QuerySet

from memoryhub import ids, tenancy
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row


def visible_sessions(actor: Actor) -> QuerySet[Session]:
    """The sessions that exist for an actor."""
    sessions = Session.objects.filter(project_id=actor.project_id)
    return sessions if actor.environment_id is None else sessions.filter(environment_id=actor.environment_id)


def get_session(session_id: str, *, actor: Actor) -> Session:
    """Raises: NotFound."""
    return _get(visible_sessions(actor), session_id)


def lock_session(session_id: str, actor: Actor) -> Session:
    """A step: the session, held alone to the end of the transaction. Raises: NotFound."""
    return _get(visible_sessions(actor).select_for_update(of=("self",), no_key=True), session_id)


def _get(sessions: QuerySet[Session], session_id: str) -> Session:
    key = ids.from_wire(ids.SESSION, session_id)
    session = None if key is None else find_row(sessions.filter(id=key))
    if session is None:
        raise NotFound("session")
    return session


def require_live(session: Session) -> None:
    """Raises: Conflict for a session that has ended."""
    if session.ended_at is not None:
        raise Conflict("The session has ended.", error_code="session_closed")


def list_sessions(
    page: ListRequest, *, environment: str | None, is_live: bool | None, actor: Actor
) -> Page[Session]:
    """Newest first. Raises: NotFound for a foreign environment, InvalidRequest for a foreign cursor."""
    return cut_sessions(visible_sessions(actor), page, environment=environment, is_live=is_live, actor=actor)


def cut_sessions(
    sessions: QuerySet[Session],
    page: ListRequest,
    *,
    environment: str | None,
    is_live: bool | None,
    actor: Actor,
) -> Page[Session]:
    """The page of some of the visible sessions, newest first. Raises: NotFound, InvalidRequest."""
    if environment is not None:
        sessions = sessions.filter(environment_id=tenancy.get_environment(environment, actor=actor).id)
    if is_live is not None:
        sessions = sessions.filter(ended_at__isnull=is_live)
    return cut_newest(sessions, page)
