"""Waking those who wait for a row to change, in whatever process: a message without content over the queue's server.

Who waits subscribes first, looks at the row, and looks again at each message and every second: a lost message costs time. The
first look comes a moment later, since most of what is waited for tells of itself before it.
Few requests of a process wait, whatever they wait for, so that the others have threads left.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from functools import cache

import redis
import structlog
from django.conf import settings
from django.db import connection

from memoryhub.process_end import ending

log = structlog.get_logger("memoryhub.wakeups")
WAITS_MAX = 16  # of one process, which has more threads
_places = threading.BoundedSemaphore(WAITS_MAX)
_CHANNEL = "memoryhub:wake:"
_LOOK_SECONDS = 1.0
_FIRST_LOOK_SECONDS = 0.03
_SLICE_SECONDS = 0.25
_BLIND_SECONDS = 0.05  # between looks when the queue's server is away


@cache
def _client() -> "redis.Redis":
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


def wake(name: str) -> None:
    """Tell who waits for `name` to look again."""
    try:
        _client().publish(_CHANNEL + name, b"")
    except redis.RedisError as error:  # they look by themselves
        log.warning("wake_failed", cause=type(error).__name__)


def wait_for[Row](
    name: str, look: Callable[[], Row], is_done: Callable[[Row], bool], *, seconds: float
) -> Row:
    """The row when it is done, when the time is over, or at once when as many wait in this process as may.

    `look` reads it. No connection to the database is held between two looks.
    """
    if seconds <= 0 or not _places.acquire(blocking=False):
        return look()
    try:
        return _wait(name, look, is_done, time.monotonic() + seconds)
    finally:
        _places.release()


def _wait[Row](name: str, look: Callable[[], Row], is_done: Callable[[Row], bool], ends_at: float) -> Row:
    with contextlib.ExitStack() as stack:
        pause, look_seconds = _open_channel(name, stack), _FIRST_LOOK_SECONDS
        while True:
            if not connection.in_atomic_block:
                connection.close()
            pause(max(min(ends_at - time.monotonic(), look_seconds), 0.0))
            row = look()
            if is_done(row) or ends_at <= time.monotonic() or ending.is_set():
                return row
            look_seconds = _LOOK_SECONDS


def _open_channel(name: str, stack: contextlib.ExitStack) -> Callable[[float], None]:
    """A pause that a message cuts short."""
    channel = _client().pubsub()  # type: ignore[no-untyped-call]
    stack.callback(channel.close)
    try:
        channel.subscribe(_CHANNEL + name)
        channel.get_message(timeout=2)  # the subscription is in force
    except redis.RedisError as error:
        log.warning("waiting_blindly", cause=type(error).__name__)
        return lambda seconds: time.sleep(min(seconds, _BLIND_SECONDS))

    def pause(seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while (left := ends_at - time.monotonic()) > 0 and not ending.is_set():
            try:
                if channel.get_message(timeout=min(left, _SLICE_SECONDS)) is not None:
                    return
            except redis.RedisError:
                time.sleep(_BLIND_SECONDS)
                return

    return pause
