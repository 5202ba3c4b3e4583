"""Waking those who wait for a row to change, in whatever process: a message without content over the queue's server.

Who waits subscribes first, looks at the row, and looks again at each message and every second: a lost message costs time.
"""

import contextlib
import time
from collections.abc import Callable
from functools import cache

import redis
import structlog
from django.conf import settings
from django.db import connection

from memoryhub.process_end import ending

log = structlog.get_logger("memoryhub.wakeups")
_CHANNEL = "memoryhub:wake:"
_LOOK_SECONDS = 1.0
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


def wait_until(name: str, is_done: Callable[[], bool], *, seconds: float) -> bool:
    """Whether it was done in that time. No connection to the database is held between two looks."""
    ends_at = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        pause = _open_channel(name, stack)
        while True:
            done = is_done()
            left = ends_at - time.monotonic()
            if done or left <= 0 or ending.is_set():
                return done
            if not connection.in_atomic_block:
                connection.close()
            pause(min(left, _LOOK_SECONDS))


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
