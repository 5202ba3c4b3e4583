"""Sessions of agents: found through an actor, held while something of them changes. What they pin is held by the rooms.

Order of locks: the session before any store, memory or document.
"""

from collections.abc import Callable
from uuid import UUID

from django.db.models.query import QuerySet

from memoryhub import ids, tenancy
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, NotFound
from memoryhub.kept_queries import KeptSelect
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_newest


def visible_sessions(actor: Actor) -> QuerySet[Session]:
    """The sessions that exist for an actor."""
    sessions = Session.objects.filter(**actor.owners)
    if actor.token_id is None:
        return sessions
    own = ids.from_wire(ids.SESSION, actor.actor_id)
    assert own is not None, "a token is a session's"
    return sessions.filter(id=own)


def get_session(session_id: str, *, actor: Actor) -> Session:
    """Raises: NotFound."""
    return _found(_with_id.row(id=session_key(session_id, actor), **actor.owners))


def lock_session(session_id: str, actor: Actor) -> Session:
    """A step: the session, held alone to the end of the transaction. Raises: NotFound."""
    return ask_session(session_id, actor)()


def ask_session(session_id: str, actor: Actor) -> Callable[[], Session]:
    """As `lock_session` when what comes back is called, for who asks for other rows together with it. Raises: NotFound."""
    asked = _locked.ask(id=session_key(session_id, actor), **actor.owners)
    return lambda: _found(asked.row())


_with_id = KeptSelect(lambda **values: Session.objects.filter(**values))
_locked = KeptSelect(
    lambda **values: Session.objects.filter(**values).select_for_update(of=("self",), no_key=True)
)


def session_key(session_id: str, actor: Actor) -> UUID:
    """Raises: NotFound for what no id can be."""
    key = ids.from_wire(ids.SESSION, session_id)
    if key is None or (actor.token_id is not None and session_id != actor.actor_id):
        raise NotFound("session")  # a token knows of no session but its own
    return key


def _found(session: Session | None) -> Session:
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
