"""Waiting for services in the web process: few requests at a time, so that those of documents have threads left."""

import threading
from collections.abc import Callable

from memoryhub import wakeups
from providers.limits import BLOCKED_WAITS_MAX, WAIT_SECONDS_MAX

_places = threading.BoundedSemaphore(BLOCKED_WAITS_MAX)


def wait_for(name: str, is_done: Callable[[], bool]) -> None:
    """Return when it is done, when the time is over, or at once when there is no place to wait in."""
    if not _places.acquire(blocking=False):
        return
    try:
        wakeups.wait_until(name, is_done, seconds=WAIT_SECONDS_MAX)
    finally:
        _places.release()
