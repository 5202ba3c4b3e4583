"""The overview: what happened lately, counted along the sealed trail, and what waits for a person."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import activity, audit, rooms
from memoryhub.activity import DAYS_SHOWN, Day
from memoryhub.models import ActivityDay, AuditEvent
from memoryhub.overview_console import CHART_HEIGHT, draw_bars
from memoryhub.rooms import Need
from tests.console.site import Site, sign_in
from tests.stores.shelf import Shelf
from tests.world import Tenant

SOME_DAY = date(2026, 11, 30)


def today() -> date:
    return datetime.now(UTC).date()


def count() -> int:
    audit.seal_all()
    return activity.count_activity()


def main_of(site: Site) -> str:
    return " ".join(site.get().content.decode().partition("<main")[2].split())


def test_changes_are_counted_once_on_their_day_and_in_their_environment(
    owner: Site, tenant: Tenant, shelf: Shelf
) -> None:
    shelf.put("/a.md")
    shelf.put("/b.md")
    count()
    assert count() == 0
    counted = ActivityDay.objects.filter(project=tenant.project).values_list("environment_id", "changes")
    assert list(counted) == [(tenant.development.id, 3)], (
        "the store and two memories; a key is no change of these"
    )
    shelf.put("/c.md")
    assert "3 changes of stores and memories" in main_of(owner)
    count()
    shown = main_of(owner)
    assert "4 changes of stores and memories" in shown
    assert shown.count("<rect ") == 1
    assert f'<td>{today():%Y-%m-%d}</td><td class="number">4</td><td class="number">0</td>' in shown
    assert "0 changes" in main_of(sign_in(tenant.owner, tenant.project, "production"))


def test_the_days_shown_are_the_last_thirty(tenant: Tenant) -> None:
    for ago, changes in ((0, 1), (DAYS_SHOWN - 1, 2), (DAYS_SHOWN, 4)):
        ActivityDay.objects.create(
            project=tenant.project, environment_id=tenant.development.id, day=today() - timedelta(days=ago), changes=changes
        )  # fmt: skip
    actor = replace(tenant.actor, environment_id=tenant.development.id)
    days = activity.list_days(actor=actor)
    assert len(days) == DAYS_SHOWN
    assert (days[0].changes, days[-1].changes, sum(day.changes for day in days)) == (2, 1, 3)


def test_a_bar_is_as_high_as_its_day_was_busy() -> None:
    days = [Day(SOME_DAY, changes) for changes in (0, 1, 1_000_000, 500_000)]
    bars = [bar for bar in draw_bars(days) if bar["kind"] == "changes"]
    assert [bar["height"] for bar in bars] == [0, 2, CHART_HEIGHT, CHART_HEIGHT // 2]
    assert [bar["y"] + bar["height"] for bar in bars] == [CHART_HEIGHT] * 4
    assert [bar["height"] for bar in draw_bars([Day(SOME_DAY)])] == [0, 0, 0]


def test_what_a_day_saw_stands_one_upon_the_other_inside_the_chart() -> None:
    for day in (Day(SOME_DAY, 2, 1, 1), Day(SOME_DAY, 0, 0, 7), Day(SOME_DAY, 1_000_000, 1, 1)):
        y = CHART_HEIGHT
        for bar in draw_bars([day]):
            assert bar["y"] + bar["height"] == y and bar["y"] >= 0
            assert (bar["height"] > 0) == (bar["count"] > 0)
            y = bar["y"]
        assert y <= 4, "the busiest day fills the chart"


def test_the_newest_changes_lead_to_what_changed(owner: Site, viewer: Site, shelf: Shelf) -> None:
    memory = shelf.put("/dir/tea.md")
    gone = shelf.put("/gone.md")
    shelf.delete(gone)
    for site in (owner, viewer):
        shown = main_of(site)
        assert (
            f'href="{site.base}/stores/{shelf.store_id}/memories/{memory.wire_id}"><bdi>/dir/tea.md' in shown
        )
        assert "Memory deleted" in shown
        assert "/gone.md" not in shown
        assert ">Owner</bdi>" in shown
        assert "key created" not in shown.lower(), "keys are the owners' to see"


def test_what_waits_for_a_person_is_named_to_those_who_may_settle_it(
    owner: Site, viewer: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Needs a person" not in main_of(owner)
    monkeypatch.setattr(rooms, "_needs", [])
    rooms.register_needs("api_keys.create", lambda actor: [Need("A key ends today.", "stores")])
    assert f'<li><a href="{owner.base}/stores">A key ends today.</a></li>' in main_of(owner)
    assert "Needs a person" not in main_of(viewer)


def test_the_overview_makes_as_many_queries_for_many_changes_as_for_few(owner: Site, shelf: Shelf) -> None:
    def queries() -> int:
        count()
        with CaptureQueriesContext(connection) as found:
            assert owner.get().status_code == 200
        return len(found)

    for number in range(12):
        shelf.put(f"/{number}.md")
    queries()  # the first page of a session writes it
    few = queries()
    for number in range(12, 42):
        shelf.put(f"/{number}.md")
    assert queries() == few


def test_the_newest_events_are_read_along_an_index(owner: Site, tenant: Tenant, shelf: Shelf) -> None:
    """An environment may hardly change while another of the project has a hundred thousand events."""
    shelf.put("/rare.md")
    AuditEvent.objects.bulk_create(
        AuditEvent(project=tenant.project, environment_id=tenant.production.id, action="memory.updated",
                   actor_type="user_actor", actor_id="user_x", subject_id="mem_x", details={})
        for _ in range(20_000)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memoryhub_auditevent")
    with CaptureQueriesContext(connection) as found:
        shown = main_of(owner)
    assert "/rare.md" in shown
    [newest] = [
        query["sql"] for query in found if "auditevent" in query["sql"] and "LIMIT 10" in query["sql"]
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {newest}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "auditevent_environment" in plan, plan
    assert "Sort" not in plan, plan


def test_the_search_box_leads_to_the_search_of_every_store(owner: Site, shelf: Shelf) -> None:
    shelf.put("/a.md", "green tea")
    action = re.search(r'<form class="search" method="get" action="([^"]+)"', main_of(owner))
    assert action
    assert "<mark>tea</mark>" in owner.client.get(action[1], query_params={"q": "tea"}).content.decode()
