"""What models did, counted into the days of an environment."""

from dataclasses import replace

import pytest

from memoryhub import activity
from memoryhub.models import ActivityDay
from providers import sessions, turns
from tests.providers import misbehaving
from tests.providers.desk import Desk
from tests.providers.services import Service


def counts(desk: Desk) -> list[tuple[int, int]]:
    days = ActivityDay.objects.filter(environment_id=desk.tenant.development.id)
    return list(days.values_list("recalls", "refusals"))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SETTLED_SECONDS", 0)


def test_recalls_and_refused_calls_are_counted_once(desk: Desk, at_once: None) -> None:
    turns.count_turns()
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    desk.save(session, request, "First.", "c1")
    desk.save(session, request, "Second.", "c2")  # in conflict with the first
    desk.call(session, request, "memory_list", "c3", unknown=True)
    desk.recall(session, "r2")
    assert turns.count_turns() == 4
    assert counts(desk) == [(2, 2)]
    assert turns.count_turns() == 0
    desk.recall(session, "r3")
    turns.count_turns()
    assert counts(desk) == [(3, 2)]


def test_what_a_service_answers_is_no_refusal_of_the_hub(service: Service, at_once: None) -> None:
    turns.count_turns()
    for answer in ({"status": "rejected"}, {"status": "conflict"}):
        service.endpoint.script = [misbehaving.body({"result": answer})]
        assert service.use("note").output == answer
    turns.count_turns()
    assert counts(service) == [(2, 0)]
    service.endpoint.script = [misbehaving.error(409, "conflict")]
    service.use("note")
    session_id = service.open()
    request_id = service.begin(session_id)
    sessions.revoke_binding(session_id, "knowledge", actor=service.actor)
    service.call(session_id, request_id, "memory_note", fact="x")
    turns.count_turns()
    assert counts(service) == [(4, 2)]


def test_what_may_still_be_under_way_is_counted_later(desk: Desk) -> None:
    turns.count_turns()
    desk.put()
    desk.begin(desk.open())
    turns.count_turns()
    assert counts(desk) == []


def test_the_overview_shows_them_beside_the_changes(desk: Desk, at_once: None) -> None:
    desk.put()
    desk.begin(desk.open())
    activity.count_activity()
    actor = replace(desk.actor, environment_id=desk.tenant.development.id)
    [day] = [day for day in activity.list_days(actor=actor) if day.total]
    assert (day.recalls, day.refusals) == (1, 0)
