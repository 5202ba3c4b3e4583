"""A lease kept by heartbeats in a thread, until it is let go or lost. Source: stores contract, sections 8 and 10."""

import threading
import time
from collections.abc import Callable
from types import TracebackType

from memoryhub.client.errors import ClientError, HubRefused
from stores.mount.queues import NO_HEARTBEAT, Beat

FIRST_SECONDS = 30.0
TTL_SECONDS_ASSUMED = 90.0
BEAT_SECONDS_MIN = 1.0
BEAT_SECONDS_MAX = 30.0
_TRANSIENT = frozenset({408, 409, 429})
_ENDING = frozenset({"stopping", "stopped"})

type BeatCall = Callable[[str], Beat]


class Lease:
    """In a `with`. `over`: the run has to end. `is_lost`: the item is somebody else's, so it is not ours to stop."""

    def __init__(self, beat: BeatCall, *, first_seconds: float = FIRST_SECONDS) -> None:
        self.over = threading.Event()
        self.is_lost = False
        self.reason: str | None = None
        self._beat = beat
        self._first_seconds = first_seconds
        self._let_go = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> "Lease":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go.set()
        self._thread.join()

    def _keep(self) -> None:
        last, ttl, pause = NO_HEARTBEAT, TTL_SECONDS_ASSUMED, self._first_seconds
        alive_at = time.monotonic()
        while True:
            try:
                beat = self._beat(last)
            except ClientError as error:
                if self._is_fatal(error) or time.monotonic() - alive_at > ttl:
                    self._end(str(error), is_lost=True)
                    return
                pause = min(pause, BEAT_SECONDS_MAX, max(BEAT_SECONDS_MIN, ttl / 4))
            else:
                last, ttl, alive_at = beat.last_heartbeat, beat.ttl_seconds, time.monotonic()
                pause = max(BEAT_SECONDS_MIN, min(ttl / 2, BEAT_SECONDS_MAX))
                if beat.state in _ENDING or not beat.lease_extended:
                    self._end(f"the work item is {beat.state}", is_lost=False)
            if self._let_go.wait(pause):
                return

    def _is_fatal(self, error: ClientError) -> bool:
        return isinstance(error, HubRefused) and 400 <= error.status < 500 and error.status not in _TRANSIENT

    def _end(self, reason: str, *, is_lost: bool) -> None:
        self.reason = self.reason or reason
        self.is_lost = is_lost
        self.over.set()
