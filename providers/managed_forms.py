"""Sessions and their events in the form of Managed Agents, which its workers read: the type of an event is the type of the object.

A request asks for it by the header that the SDK sends with every call of a session, `anthropic-beta: managed-agents-…`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memoryhub.clock import to_wire
from memoryhub.errors import InvalidRequest
from memoryhub.models import Session, SessionEvent
from memoryhub.session_events import LAST_EVENT, WantedEvent

EVENT_TYPE = r"^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*\Z"
EVENT_TYPE_LENGTH_MAX = 64
PAGE_EVENTS_MAX = 50  # each may be as large as what a tool answers
_TERMINATED = "session.status_terminated"
_ASKED = re.compile(r"(?:^|[,\s])managed-agents-", re.ASCII)


def is_asked_for(headers: Mapping[str, str]) -> bool:
    return _ASKED.search(headers.get("anthropic-beta", "")) is not None


def status_of(session: Session) -> str:
    return "running" if session.ended_at is None else "terminated"


def managed_event_wire(event: SessionEvent) -> dict[str, Any]:
    type_ = _TERMINATED if event.type == LAST_EVENT else event.type
    told = {"id": event.wire_id, "type": type_, "processed_at": to_wire(event.created_at)}
    return {**event.data, **told}


def read_managed_events(given: Sequence[dict[str, Any]]) -> list[WantedEvent]:
    """Raises: InvalidRequest."""
    return [_read(number, event) for number, event in enumerate(given)]


def _read(number: int, event: dict[str, Any]) -> WantedEvent:
    type_ = event.get("type")
    fits = isinstance(type_, str) and len(type_) <= EVENT_TYPE_LENGTH_MAX and re.match(EVENT_TYPE, type_)
    if not fits:
        raise InvalidRequest(f"events.{number}.type: This value does not match the required pattern.")
    return WantedEvent(str(type_), {name: value for name, value in event.items() if name != "type"})


def live_after(session: Session) -> int:
    """The number after which a reader is told what happens from now on; of a session that has ended, its last event."""
    return session.events_count if session.ended_at is None else max(session.events_count - 1, 0)
