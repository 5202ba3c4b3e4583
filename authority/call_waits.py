"""Waiting for the end of a host call, while few others of this process do."""

import threading
import time

from authority.models import HostCall

WAITING_PER_PROCESS_MAX = 16
_LOOK_SECONDS = 0.05
_places = threading.BoundedSemaphore(WAITING_PER_PROCESS_MAX)


def wait_for_call(call: HostCall, seconds: float) -> HostCall:
    """The call as it is then: it goes on whatever happens to who waits."""
    if seconds and _places.acquire(blocking=False):
        try:
            _look_until(call, time.monotonic() + seconds)
        finally:
            _places.release()
    return call


def _look_until(call: HostCall, deadline: float) -> None:
    while call.finished_at is None and time.monotonic() < deadline:
        call.refresh_from_db()
        if call.finished_at is None:
            time.sleep(_LOOK_SECONDS)
