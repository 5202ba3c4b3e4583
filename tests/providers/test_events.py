"""A session's log of events, and its stream."""

import pytest

from memoryhub import event_streams, session_events
from memoryhub.errors import InvalidRequest
from memoryhub.models import SessionEvent
from providers import sessions
from tests.providers.desk import Desk
from tests.world import Caller


def event_types(session: str, desk: Desk) -> list[str]:
    listed = session_events.list_events(session, after=0, limit=100, actor=desk.actor)
    assert [event.number for event in listed] == list(range(1, len(listed) + 1))
    return [event.type for event in listed]


def test_a_full_log_refuses_the_application_and_neither_a_save_nor_an_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put()
    session = desk.open()
    monkeypatch.setattr(session_events, "EVENTS_MAX", 1)
    request = desk.begin(session)
    with pytest.raises(InvalidRequest) as refused:
        session_events.add_event(session, type_="turn.done", data={}, actor=desk.actor)
    assert refused.value.error_code == "events_full"
    assert desk.save(session, request, "Kept.")["status"] == "saved"
    sessions.end_session(session, actor=desk.actor)
    assert event_types(session, desk) == ["model_request.accepted", "memory.saved", "session.ended"]


@pytest.mark.parametrize(("size", "status"), [(65_536, 201), (65_537, 413)])
def test_an_event_has_a_limit(desk: Desk, call: Caller, size: int, status: int) -> None:
    session = desk.open({})
    data = {"n": 2**63 - 1, "t": ""}
    data["t"] = "x" * (size - len('{"n":9223372036854775807,"t":""}'))
    answer = call("POST", f"/v1/sessions/{session}/events", {"type": "turn.done", "data": data})
    assert answer.status == status
    listed = session_events.list_events(session, after=0, limit=10, actor=desk.actor)
    assert [event.data for event in listed] == ([data] if status == 201 else [])


def test_an_end_that_is_repeated_is_one_event(desk: Desk) -> None:
    session = desk.open({})
    for _ in range(2):
        sessions.end_session(session, actor=desk.actor)
    assert event_types(session, desk) == ["session.ended"]


def test_a_stream_of_a_session_that_is_over_ends_and_then_says_that_nothing_follows(
    desk: Desk, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "POLL_SECONDS", 30.0)  # who waits for more hangs
    session = desk.open({})
    sessions.end_session(session, actor=desk.actor)
    url = f"/v1/sessions/{session}/events/stream"
    first = call("GET", url)
    assert (first.status, first.headers["content-type"]) == (200, "text/event-stream")
    assert b"id: 1\nevent: session.ended\n" in first.content
    done = call("GET", url, headers={"Last-Event-ID": "1"})
    assert (done.status, done.content) == (204, b"")
    assert call("GET", url, query={"after": "1"}).status == 204


def test_places_for_streams_are_given_back(desk: Desk, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "STREAM_SECONDS_MAX", 0.0)
    session = desk.open({})
    for _ in range(3 * event_streams.STREAMS_PER_PROCESS_MAX):
        assert call("GET", f"/v1/sessions/{session}/events/stream").status == 200
    assert not SessionEvent.objects.filter(session__project=desk.tenant.project).exists()
