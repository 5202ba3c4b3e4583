"""Calls in the air: each says that it lives, and is ended when its row says so. One thread looks for all of a process."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import event_loops
from memoryhub.columns import ClockTimestamp
from memoryhub.egress import Outgoing, Reply, send
from providers.models import HttpOperation

log = structlog.get_logger("memoryhub.flights")

LOOK_SECONDS = 0.2
BEAT_SECONDS = 1.0

_lock = threading.Lock()
_flights: dict[UUID, "Flight"] = {}
_watcher: threading.Thread | None = None


class FlightCancelled(Exception):
    """The operation was cancelled, or is no longer held by this run."""


class Flight:
    """One run of an operation: its attempts and the pauses between them."""

    def __init__(self, operation_id: UUID, claim: UUID) -> None:
        self.operation_id = operation_id
        self.claim = claim
        self._ended = threading.Event()
        self._attempt: tuple[asyncio.AbstractEventLoop, asyncio.Task[Reply]] | None = None
        self._lock = threading.Lock()

    def send(self, outgoing: Outgoing, *, seconds: float) -> Reply:
        """Raises: EgressError, FlightCancelled."""
        try:
            return event_loops.run(self._send(outgoing, seconds))
        except asyncio.CancelledError as error:
            raise FlightCancelled from error
        finally:
            with self._lock:
                self._attempt = None

    async def _send(self, outgoing: Outgoing, seconds: float) -> Reply:
        task = asyncio.ensure_future(send(outgoing, seconds=seconds))
        with self._lock:
            self._attempt = (asyncio.get_running_loop(), task)
            if self._ended.is_set():
                task.cancel()
        return await task

    def pause(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def end(self) -> None:
        """From another thread: the connection is closed, a pause is over."""
        with self._lock:
            self._ended.set()
            if self._attempt is not None:
                loop, task = self._attempt
                with suppress(RuntimeError):  # its loop has ended with it
                    loop.call_soon_threadsafe(task.cancel)


@contextmanager
def flying(operation_id: UUID, claim: UUID) -> Iterator[Flight]:
    global _watcher
    flight = Flight(operation_id, claim)
    with _lock:
        _flights[claim] = flight
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, name="flights", daemon=True)
            _watcher.start()
    try:
        yield flight
    finally:
        with _lock:
            _flights.pop(claim, None)


def _watch() -> None:
    """It begins with a pause: what has just been claimed has just said that it lives, and most calls end before the first look."""
    global _watcher
    beat_at = time.monotonic() + BEAT_SECONDS
    while True:
        time.sleep(LOOK_SECONDS)
        with _lock:
            watched = list(_flights.values())
            if not watched:
                _watcher = None
                return
        try:
            beat_at = _look(watched, beat_at)
        except (DatabaseError, InterfaceError) as error:  # the next look tries again
            log.warning("look_failed", cause=type(error).__name__)
        finally:
            connection.close()


@atomic
def _beat(held: QuerySet[HttpOperation]) -> None:
    """Of those that nobody holds: whoever does, ends it or beats for it, and waiting for several could be waiting for each other."""
    free = held.select_for_update(skip_locked=True).values_list("id", flat=True)
    HttpOperation.objects.filter(id__in=list(free)).update(beat_at=ClockTimestamp())


def _look(watched: list[Flight], beat_at: float) -> float:
    held = HttpOperation.objects.filter(claim__in=[flight.claim for flight in watched])
    if time.monotonic() >= beat_at:
        _beat(held)
        beat_at = time.monotonic() + BEAT_SECONDS
    live = set(held.filter(cancelled_at=None).values_list("claim", flat=True))
    for flight in watched:
        if flight.claim not in live:
            flight.end()
    return beat_at
