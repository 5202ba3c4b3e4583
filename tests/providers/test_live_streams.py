"""A session's stream over a real socket: what happens arrives, a reader goes on after the last it saw, the end ends it."""

import http.client
import json
import time
from typing import Any

import pytest

from memoryhub import keys, session_events
from memoryhub import sessions as found_sessions
from providers import sessions
from tests.live import LiveHub
from tests.providers.desk import Desk
from tests.world import Tenant

WAIT_SECONDS_MAX = 10.0


class Reader:
    """One stream, and what came of it."""

    def __init__(self, live: LiveHub, key: str, session: str, *, seen: int | None = None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=WAIT_SECONDS_MAX)
        headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
        if seen is not None:
            headers["Last-Event-ID"] = str(seen)
        self.connection.request("GET", f"/v1/sessions/{session}/events/stream", headers=headers)
        self.answer = self.connection.getresponse()

    def close(self) -> None:
        self.connection.close()

    def next_event(self) -> dict[str, Any] | None:
        """None at the end of the stream. Raises: TimeoutError."""
        fields: dict[str, str] = {}
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if text.startswith(":"):
                continue
            if not text and fields:
                data = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(data["number"]), data["event_type"])
                return dict(data)
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
        return None


@pytest.fixture
def live_desk(live_tenant: Tenant) -> Desk:
    return Desk(live_tenant)


def append(desk: Desk, session: str, number: int) -> None:
    session_events.add_event(session, type_="turn.done", data={"turn": number}, actor=desk.actor)


def test_what_happens_arrives_and_the_end_ends_the_stream(live: LiveHub, live_desk: Desk) -> None:
    session = live_desk.open({})
    append(live_desk, session, 0)
    reader = Reader(live, live_desk.tenant.key, session)
    assert reader.answer.headers["Content-Type"] == "text/event-stream"
    for number in range(1, 4):
        first = reader.next_event()
        assert first is not None and first["data"] == {"turn": number - 1}
        sent_at = time.monotonic()
        append(live_desk, session, number)
    last = reader.next_event()
    assert last is not None and last["data"] == {"turn": 3}
    assert time.monotonic() - sent_at < 5
    sessions.end_session(session, actor=live_desk.actor)
    ended = reader.next_event()
    assert ended is not None and ended["event_type"] == "session.ended"
    assert reader.next_event() is None
    reader.close()


def test_a_reader_that_was_cut_off_goes_on_after_the_last_event_it_saw(
    live: LiveHub, live_desk: Desk
) -> None:
    session = live_desk.open({})
    for number in range(120):  # more than one page
        append(live_desk, session, number)
    reader = Reader(live, live_desk.tenant.key, session)
    seen = [reader.next_event() for _ in range(110)]
    reader.close()
    append(live_desk, session, 120)
    again = Reader(live, live_desk.tenant.key, session, seen=110)
    more = [again.next_event() for _ in range(11)]
    again.close()
    assert [event["number"] for event in [*seen, *more] if event] == list(range(1, 122))
    sessions.end_session(session, actor=live_desk.actor)
    over = Reader(live, live_desk.tenant.key, session, seen=122)
    assert (over.answer.status, over.answer.read()) == (204, b"")
    over.close()


def test_a_revoked_key_and_a_deleted_session_end_their_streams(live: LiveHub, live_desk: Desk) -> None:
    session = live_desk.open({})
    append(live_desk, session, 0)
    secret = live_desk.tenant.new_key("read")
    reader, other = (Reader(live, key, session) for key in (secret, live_desk.tenant.key))
    assert reader.next_event() is not None and other.next_event() is not None
    keys.revoke_key(keys.authenticate_key(secret).actor_id, actor=live_desk.actor)
    append(live_desk, session, 1)
    assert reader.next_event() is None
    assert other.next_event() is not None
    sessions.delete_session(session, actor=live_desk.actor)
    assert other.next_event() is None
    reader.close()
    other.close()
    assert not found_sessions.visible_sessions(live_desk.actor).exists()
