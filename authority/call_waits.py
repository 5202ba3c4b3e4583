"""Waiting for the end of a host call, while few others of this process do. Nobody holds a connection meanwhile."""

import threading

from authority.models import HostCall
from memoryhub import wakeups

WAITING_PER_PROCESS_MAX = 16
_places = threading.BoundedSemaphore(WAITING_PER_PROCESS_MAX)


def wait_for_call(call: HostCall, seconds: float) -> HostCall:
    """The call as it is then: it goes on whatever happens to who waits."""
    if not seconds or not _places.acquire(blocking=False):
        return call

    def has_ended() -> bool:
        call.refresh_from_db()
        return call.finished_at is not None

    try:
        wakeups.wait_until(call.wire_id, has_ended, seconds=seconds)
    finally:
        _places.release()
    return call
