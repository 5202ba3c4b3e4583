"""The turn of an authority: who may run its host calls now.

A turn is a PostgreSQL session that holds the authority's advisory lock, on a connection of its own, and says every few
seconds that it lives. A killed worker's session ends, and the lock with it. A stopped worker keeps its session for ever:
once its heartbeat is old, its sessions are ended, the one that works too, so that no call of it to a store runs on.
Both sessions bear the turn's name. Times are the database's.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import structlog
from django.db import Error, connection

from authority.models import Turn

log = structlog.get_logger("authority.turns")

HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 30
_CLASS = 7_310  # explanations have rows of their own, so that agents never wait for a host
_HELD_BY_DJANGO = ("pool", "context", "cursor_factory")


@dataclass(frozen=True, slots=True)
class HeldTurn:
    """`attempt`: what only the holder knows; `lost` is set when its session ended."""

    authority_id: UUID
    attempt: UUID
    lost: threading.Event = field(default_factory=threading.Event)


def lock_number(authority_id: UUID) -> int:
    """64 bits of its own for each authority."""
    return int.from_bytes(authority_id.bytes[8:], signed=True) ^ _CLASS


@contextmanager
def try_turn(authority_id: UUID, project_id: UUID) -> Iterator[HeldTurn | None]:
    """The turn, or None when somebody else has it."""
    turn = HeldTurn(authority_id, uuid.uuid4())
    with _open_session(_name(turn.attempt)) as session:
        taken = session.execute("SELECT pg_try_advisory_lock(%s)", [lock_number(authority_id)]).fetchone()
        if not taken or not taken[0]:
            yield None
            return
        _say(session, turn)
        ended = threading.Event()
        beating = threading.Thread(target=_beat, args=(session, turn, ended), name="turn", daemon=True)
        beating.start()
        try:
            with _named_session(_name(turn.attempt)):
                yield turn
        finally:
            ended.set()
            beating.join()
            _forget(session, turn)


def _open_session(name: str) -> psycopg.Connection[Any]:
    parameters = {
        key: value for key, value in connection.get_connection_params().items() if key not in _HELD_BY_DJANGO
    }
    return psycopg.connect(**{**parameters, "application_name": name}, autocommit=True)


def _name(attempt: UUID) -> str:
    return f"memoryhub turn {attempt.hex}"


@contextmanager
def _named_session(name: str) -> Iterator[None]:
    """This thread's own session bears the turn's name, so that it can be ended with the turn."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [name])
    try:
        yield
    finally:
        with suppress(Error), connection.cursor() as cursor:
            cursor.execute("RESET application_name")
        connection.close()


_SAY = """
UPDATE authority_turn SET attempt = %s, application = %s, heartbeat_at = clock_timestamp() WHERE authority_id = %s
"""
_BEAT = """
UPDATE authority_turn SET heartbeat_at = clock_timestamp() WHERE authority_id = %s AND attempt = %s
"""
_UNLOCK = "SELECT pg_advisory_unlock(%s)"
_FORGET = """
UPDATE authority_turn SET attempt = NULL, application = NULL, heartbeat_at = NULL
 WHERE authority_id = %s AND attempt = %s
"""


def _say(session: psycopg.Connection[Any], turn: HeldTurn) -> None:
    session.execute(_SAY, [turn.attempt, _name(turn.attempt), turn.authority_id])


def _beat(session: psycopg.Connection[Any], turn: HeldTurn, ended: threading.Event) -> None:
    while not ended.wait(HEARTBEAT_SECONDS):
        try:
            session.execute(_BEAT, [turn.authority_id, turn.attempt])
        except psycopg.Error as error:
            log.warning("turn_lost", authority=str(turn.authority_id), cause=type(error).__name__)
            turn.lost.set()
            return


def _forget(session: psycopg.Connection[Any], turn: HeldTurn) -> None:
    try:
        session.execute(_FORGET, [turn.authority_id, turn.attempt])
        # The end of a session frees it too, but only when its process gets to it: the next turn would be refused until then.
        session.execute(_UNLOCK, [lock_number(turn.authority_id)])
    except psycopg.Error:  # the session ended, and the lock with it
        turn.lost.set()


_END_SESSIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE application_name = %s AND pid <> pg_backend_pid()
"""


def take_stale_turns() -> list[UUID]:
    """End every session of a turn that was silent for too long; the authorities whose turns these were."""
    stale = Turn.objects.raw(
        "SELECT * FROM authority_turn WHERE heartbeat_at < clock_timestamp() - make_interval(secs => %s)",
        [STALE_SECONDS],
    )
    taken = []
    for turn in stale:
        with connection.cursor() as cursor:
            cursor.execute(_END_SESSIONS, [turn.application])
            ended = cursor.fetchone()[0]
            cursor.execute(_FORGET, [turn.authority_id, turn.attempt])
        log.warning("turn_taken", authority=str(turn.authority_id), sessions=ended)
        taken.append(turn.authority_id)
    return taken
