"""What happens in a session, as a log: the hub and the application append, anybody who may see the session reads on.

Events are numbered under the session's lock, from 1 and without a gap, so a reader who goes on after a number misses none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.transaction import atomic

from memoryhub import erasure, sessions
from memoryhub.actors import Actor
from memoryhub.digests import exact_json
from memoryhub.errors import InvalidRequest, PermissionRefused, RequestTooLarge
from memoryhub.kept_queries import insert_row, together, update_row
from memoryhub.leases import hold_lease
from memoryhub.models import Session, SessionEvent
from memoryhub.pagination import ListRequest, Page, cut_page

EVENT_BYTES_MAX = 65_536
# What a tool of an agent answered, in the words of Managed Agents.
TOOL_RESULTS = frozenset({"user.tool_result", "user.custom_tool_result"})
TOOL_RESULT_BYTES_MAX = 262_144
EVENTS_AT_ONCE_MAX = 100
EVENTS_MAX = 100_000  # of one session, before the application's are refused
EVENTS_PER_PAGE_MAX = 100
LAST_EVENT = "session.ended"

type OnFirstEvent = Callable[[Session], None]
_first_event: list[OnFirstEvent] = []


def register_first_event(begin: OnFirstEvent) -> None:
    """`begin(session)`: a step at the first event of a session, which is locked and live."""
    _first_event.append(begin)


@dataclass(frozen=True, slots=True)
class WantedEvent:
    type: str
    data: dict[str, Any]


def add_event(session_id: str, *, type_: str, data: dict[str, Any], actor: Actor) -> SessionEvent:
    """An event of the application. Raises: as `add_events`."""
    return add_events(session_id, [WantedEvent(type_, data)], actor=actor)[0]


@atomic(durable=True)
def add_events(session_id: str, events: Sequence[WantedEvent], *, actor: Actor) -> list[SessionEvent]:
    """All of them in this order, or none. A worker tells what its tools answered, and nothing else.

    Raises: NotFound, PermissionRefused, LeaseLost, Conflict, InvalidRequest, RequestTooLarge.
    """
    for event in events:
        _check_size(event)
    session = sessions.lock_session(session_id, actor)
    if actor.work_id is not None and any(event.type not in TOOL_RESULTS for event in events):
        raise PermissionRefused(
            f"A worker may send events of the types {' and '.join(sorted(TOOL_RESULTS))} only.",
            error_code="tool_results_only",
        )
    hold_lease(actor)
    erasure.hold_copies(session.environment_id)
    sessions.require_live(session)
    if session.events_count + len(events) > EVENTS_MAX:
        raise InvalidRequest(
            f"The session has {session.events_count} events, and may have {EVENTS_MAX}; begin another.",
            error_code="events_full",
        )
    return [append_event(session, event.type, event.data) for event in events]


def _check_size(event: WantedEvent) -> None:
    """Raises: RequestTooLarge."""
    size = len(exact_json(event.data))
    most = TOOL_RESULT_BYTES_MAX if event.type in TOOL_RESULTS else EVENT_BYTES_MAX
    if size > most:
        raise RequestTooLarge(f"data: It has {size} bytes as JSON; an event holds at most {most}.")


def append_event(session: Session, type_: str, data: dict[str, Any]) -> SessionEvent:
    """A step: the session is locked. The hub's own events are never refused: neither an end nor a save fails for them."""
    session.events_count += 1
    if session.events_count == 1 and type_ != LAST_EVENT:
        for begin in _first_event:
            begin(session)
    event = SessionEvent(
        project_id=session.project_id, session=session, number=session.events_count, type=type_, data=data
    )
    with together():
        update_row(session, "events_count")
        insert_row(event)
    return event


def list_events(session_id: str, *, after: int, limit: int, actor: Actor) -> list[SessionEvent]:
    """Those with a greater number, in order. Raises: NotFound."""
    session = sessions.get_session(session_id, actor=actor)
    events = SessionEvent.objects.filter(session_id=session.id, number__gt=after)
    return list(events.order_by("number")[:limit])


def page_events(
    session_id: str, page: ListRequest, *, newest_first: bool, actor: Actor
) -> Page[SessionEvent]:
    """The same by pages. Raises: NotFound, InvalidRequest for a foreign cursor."""
    session = sessions.get_session(session_id, actor=actor)
    events = SessionEvent.objects.filter(session_id=session.id)
    position = page.position()
    if position is not None:
        events = events.filter(**{"number__lt" if newest_first else "number__gt": position[0]})
    found = events.order_by("-number" if newest_first else "number")[: page.limit + 1]
    return cut_page(list(found), page, lambda event: [event.number])
