"""The workers that run: each says so every few seconds, so that a page can tell whether anybody works."""

import os
import threading
from datetime import timedelta
from pathlib import Path

import structlog
from django.db import DatabaseError, InterfaceError, connection

from memoryhub import __version__
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Sweep, Worker
from memoryhub.parts import READY_FILE
from memoryhub.progress import stopping

log = structlog.get_logger("memoryhub.workers")

BEAT_SECONDS = 5.0
ALIVE_SECONDS = 20
FORGOTTEN_HOURS = 24


def begin(name: str) -> None:
    """Tell who started the worker that it takes jobs, and beat in a thread until it ends."""
    if ready_file := os.environ.get(READY_FILE):
        Path(ready_file).touch()
    threading.Thread(target=_beat, args=[name], name="worker beat", daemon=True).start()


def _beat(name: str) -> None:
    is_first = True
    while True:
        try:
            note_alive(name, is_start=is_first)
            is_first = False
        except (DatabaseError, InterfaceError) as error:  # the next beat tries again
            log.warning("beat_failed", worker=name, cause=type(error).__name__)
        finally:
            connection.close()
        if stopping.wait(BEAT_SECONDS):
            return


def note_alive(name: str, *, is_start: bool) -> None:
    seen = {"version": __version__, "seen_at": ClockTimestamp()}
    if is_start:
        seen["started_at"] = ClockTimestamp()
    Worker.objects.update_or_create(name=name, defaults=seen)


def list_alive() -> list[Worker]:
    since = ClockTimestamp() - timedelta(seconds=ALIVE_SECONDS)
    return list(Worker.objects.filter(seen_at__gte=since).order_by("name"))


def clear_gone() -> int:
    """Forget workers that were not seen for long; their number."""
    until = ClockTimestamp() - timedelta(hours=FORGOTTEN_HOURS)
    gone, _ = Worker.objects.filter(seen_at__lt=until).delete()
    return gone


def note_sweep(name: str) -> None:
    """A job that nobody asks for has run."""
    Sweep.objects.update_or_create(name=name, defaults={"ran_at": ClockTimestamp()})
