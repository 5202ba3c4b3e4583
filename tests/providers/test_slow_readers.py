"""Readers of a stream that stop reading: nobody else waits for them, and they do not hold their places for ever."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from memoryhub import event_streams, session_events
from tests.live import LiveHub, url_of
from tests.providers.desk import Desk
from tests.world import Tenant

THREADS = 8
PLACES = event_streams.count_places(THREADS)
SEND_SECONDS = 2
FREE_SECONDS_MAX = 20
EVENTS, EVENT_TEXT = 150, "x" * 60_000  # more than the kernel takes for a reader


@pytest.mark.parametrize(("threads", "places"), [(1, 0), (2, 1), (7, 3), (8, 4), (64, 4)])
def test_streams_leave_half_of_the_threads(threads: int, places: int) -> None:
    assert event_streams.count_places(threads) == places


@pytest.fixture
def small(live: LiveHub, tmp_path: Path) -> Iterator[LiveHub]:
    """A hub of one process, which waits for a reader only so long."""
    hub = LiveHub(
        tmp_path,
        database_url=url_of(connection.settings_dict),
        web_processes=1,
        web_threads=THREADS,
        settings={"MEMORYHUB_SEND_SECONDS": str(SEND_SECONDS)},
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


def ask(hub: LiveHub, key: str, session: str) -> socket.socket:
    """A reader that has asked for the stream and taken nothing of it."""
    reader = socket.socket()
    reader.settimeout(FREE_SECONDS_MAX)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    reader.connect(("127.0.0.1", hub.port))
    lines = [f"GET /v1/sessions/{session}/events/stream HTTP/1.1", "Host: 127.0.0.1", f"X-Api-Key: {key}"]
    reader.sendall("\r\n".join([*lines, "", ""]).encode())
    return reader


def status_of(reader: socket.socket) -> int:
    return int(reader.recv(12).decode().split()[1])


def test_readers_that_take_nothing_keep_nobody_waiting_and_lose_their_places(
    small: LiveHub, live_tenant: Tenant
) -> None:
    desk, call = Desk(live_tenant), small.caller(live_tenant.key)
    session = desk.open({})
    for number in range(EVENTS):
        data = {"number": number, "text": EVENT_TEXT}
        session_events.add_event(session, type_="turn.done", data=data, actor=desk.actor)
    readers = [ask(small, live_tenant.key, session) for _ in range(PLACES + 1)]
    statuses = [status_of(reader) for reader in readers]
    assert sorted(statuses) == [200] * PLACES + [503], "one place too many, or too few"
    began = time.monotonic()
    assert call("GET", "/v1/sessions").status == 200
    assert time.monotonic() - began < SEND_SECONDS
    again = 503
    while again == 503 and time.monotonic() - began < FREE_SECONDS_MAX:
        time.sleep(0.2)
        reader = ask(small, live_tenant.key, session)
        again = status_of(reader)
        reader.close()
    assert again == 200
    for reader in readers:
        reader.close()
