"""What happens in a session, as a log: the hub and the application append, anybody who may see the session reads on.

Events are numbered under the session's lock, from 1 and without a gap, so a reader who goes on after a number misses none.
"""

from typing import Any

from django.db.transaction import atomic

from memoryhub import sessions
from memoryhub.actors import Actor
from memoryhub.digests import exact_json
from memoryhub.errors import InvalidRequest, RequestTooLarge
from memoryhub.models import Session, SessionEvent

EVENT_BYTES_MAX = 65_536
EVENTS_MAX = 100_000  # of one session, before the application's are refused
EVENTS_PER_PAGE_MAX = 100


@atomic(durable=True)
def add_event(session_id: str, *, type_: str, data: dict[str, Any], actor: Actor) -> SessionEvent:
    """An event of the application. Raises: NotFound, Conflict, InvalidRequest, RequestTooLarge."""
    size = len(exact_json(data))
    if size > EVENT_BYTES_MAX:
        raise RequestTooLarge(f"data: It has {size} bytes as JSON; an event holds at most {EVENT_BYTES_MAX}.")
    session = sessions.lock_session(session_id, actor)
    sessions.require_live(session)
    if session.events_count >= EVENTS_MAX:
        raise InvalidRequest(
            f"The session has {session.events_count} events, more than there may be; begin another.",
            error_code="events_full",
        )
    return append_event(session, type_, data)


def append_event(session: Session, type_: str, data: dict[str, Any]) -> SessionEvent:
    """A step: the session is locked. The hub's own events are never refused: neither an end nor a save fails for them."""
    session.events_count += 1
    session.save(update_fields=["events_count"])
    event = SessionEvent(
        project_id=session.project_id, session=session, number=session.events_count, type=type_, data=data
    )
    event.save(force_insert=True)
    return event


def list_events(session_id: str, *, after: int, limit: int, actor: Actor) -> list[SessionEvent]:
    """Those with a greater number, in order. Raises: NotFound."""
    session = sessions.get_session(session_id, actor=actor)
    events = SessionEvent.objects.filter(session_id=session.id, number__gt=after)
    return list(events.order_by("number")[:limit])
