"""A session's events as they happen, as Server-Sent Events. Source: WHATWG HTML, section 9.2.

A stream holds a thread of its process, so a process keeps few of them, at most half of its threads, none for ever, and all
end with the process; one whose reader takes nothing is ended by the web worker. The reader comes back with the number of the last event it saw, and misses none.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection

from memoryhub import session_events, sessions
from memoryhub.actors import Actor
from memoryhub.environ import read_integer
from memoryhub.errors import HubError, Unavailable
from memoryhub.models import SessionEvent
from memoryhub.process_end import ending

STREAMS_PER_PROCESS_MAX = 4
STREAM_SECONDS_MAX = 300.0
POLL_SECONDS = 0.5
QUIET_SECONDS_MAX = (
    15.0  # a comment is sent after this long without an event, so that nobody in between hangs up
)
LAST_EVENT = session_events.LAST_EVENT


def count_places(web_threads: int) -> int:
    """How many streams a process of so many threads keeps at once."""
    return min(STREAMS_PER_PROCESS_MAX, web_threads // 2)


_places = threading.BoundedSemaphore(
    count_places(read_integer("MEMORYHUB_WEB_THREADS", 8, minimum=1, maximum=64))
)


def stream_events(
    session_id: str,
    *,
    after: int,
    authenticate: Callable[[], Actor],
    shape: Callable[[SessionEvent], dict[str, Any]],
) -> Iterator[bytes] | None:
    """Frames of the session's events with a greater number; None when the session has ended and there never will be one.

    `authenticate` is asked again and again: a revoked key ends it.
    Raises, before the first frame: NotFound; Unavailable when the process has no place for another stream.
    """
    session = sessions.get_session(session_id, actor=authenticate())
    if session.ended_at is not None and after >= session.events_count:
        return None
    if not _places.acquire(blocking=False):
        raise Unavailable(
            "This process has no place for another stream; list the events instead, or try again.",
            error_code="streams_full",
        )
    return _Frames(_frames(session_id, after, authenticate, shape))


class _Frames:
    """Gives the place back exactly once, also when nobody ever reads."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames
        self._release = threading.Lock()

    def __iter__(self) -> "Iterator[bytes]":
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._frames)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Called by the server at the end of every answer."""
        if self._release.acquire(blocking=False):
            _places.release()


def _frames(
    session_id: str,
    after: int,
    authenticate: Callable[[], Actor],
    shape: Callable[[SessionEvent], dict[str, Any]],
) -> Iterator[bytes]:
    end_at, quiet_at = time.monotonic() + STREAM_SECONDS_MAX, time.monotonic() + QUIET_SECONDS_MAX
    yield b": open\n\n"
    while time.monotonic() < end_at and not ending.is_set():
        try:
            events = session_events.list_events(
                session_id, after=after, limit=session_events.EVENTS_PER_PAGE_MAX, actor=authenticate()
            )
        except HubError:  # the key is revoked, or the session is deleted
            return
        finally:
            _give_back_connection()
        for event in events:
            after, quiet_at = event.number, time.monotonic() + QUIET_SECONDS_MAX
            yield _frame(event, shape)
            if event.type == LAST_EVENT:
                return
        if time.monotonic() > quiet_at:
            quiet_at = time.monotonic() + QUIET_SECONDS_MAX
            yield b": quiet\n\n"
        if len(events) < session_events.EVENTS_PER_PAGE_MAX:
            ending.wait(POLL_SECONDS)


def _give_back_connection() -> None:
    """To the pool, while nothing is asked; a transaction around the whole answer keeps it."""
    if not connection.in_atomic_block:
        connection.close()


def _frame(event: SessionEvent, shape: Callable[[SessionEvent], dict[str, Any]]) -> bytes:
    text = json.dumps(shape(event), ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.number}\nevent: {event.type}\ndata: {text}\n\n".encode()
