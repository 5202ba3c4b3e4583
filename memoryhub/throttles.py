"""Throttling: a counter per credential and minute in the queue's Redis. Without Redis nothing is throttled."""

import math
import time
from functools import cache

import redis
import structlog
from django.conf import settings

from memoryhub.errors import RateLimited

WINDOW_SECONDS = 60
log = structlog.get_logger("memoryhub.throttles")


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5)


def count_request(bucket: str, *, requests_max: int) -> None:
    """Count one request of `bucket` in the current minute. Raises: RateLimited past `requests_max` (0: no limit)."""
    if requests_max == 0:
        return
    window, elapsed = divmod(time.time(), WINDOW_SECONDS)
    name = f"memoryhub:throttle:{bucket}:{int(window)}"
    try:
        count = int(_redis().incr(name))
        if count == 1:
            _redis().expire(name, 2 * WINDOW_SECONDS)
    except redis.RedisError as error:
        log.warning("throttle_unavailable", cause=type(error).__name__)
        return
    if count > requests_max:
        raise RateLimited(math.ceil(WINDOW_SECONDS - elapsed))
