"""The theme is switched without a flash and without losing text; times stay true."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryhub.templatetags.hub import time_ago
from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.world import Tenant

GROUND = "getComputedStyle(document.body).backgroundColor"
DARK, LIGHT = "rgb(18, 22, 30)", "rgb(246, 247, 249)"


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_theme_is_chosen_in_the_account_menu(live: LiveHub, live_tenant: Tenant, script: bool) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light", script=script) as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/development/stores/new")
        page.get_by_label("Name").fill("typed")
        page.get_by_role("button", name=live_tenant.owner.email).click()
        with page.expect_response("**/account/theme"):
            page.get_by_role("button", name="Dark").click()
        page.wait_for_url("**/stores/new")
        if script:
            assert page.evaluate(GROUND) == DARK
            assert page.get_by_label("Name").input_value() == "typed"
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert window.wrongs == []


def test_a_chosen_theme_holds_against_the_systems(live: LiveHub, live_tenant: Tenant) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="dark") as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(live.url)
        assert page.evaluate(GROUND) == DARK
        page.context.add_cookies([{"name": "memoryhub_theme", "value": "light", "url": live.url}])
        page.reload()
        assert page.evaluate(GROUND) == LIGHT


AGES = [
    0,
    59,
    60,
    119,
    120,
    3_599,
    3_600,
    7_200,
    86_399,
    86_400,
    172_800,
    59 * 86_400,
    60 * 86_400,
    364 * 86_400,
]
AGES += [365 * 86_400, 800 * 86_400, -30]


def test_the_script_says_times_in_the_words_of_the_hub(live: LiveHub) -> None:
    with open_window(width=1200, scheme="light") as window:
        window.page.goto(f"{live.url}/docs")
        url = window.page.locator("script[src*=times]").get_attribute("src")
        said = window.page.evaluate(
            "async ([url, ages]) => ages.map((await import(url)).timeAgo)", [url, [age + 0.5 for age in AGES]]
        )
    now = datetime.now(UTC)
    assert said == [time_ago(now - timedelta(seconds=age + 0.5)) for age in AGES]


def test_words_are_refreshed_where_both_clocks_agree(live: LiveHub, live_tenant: Tenant) -> None:
    session = new_session(live_tenant.owner)
    path = f"/p/{live_tenant.project.wire_id}/development/stores"
    assert live.caller(live_tenant.key)("POST", "/v1/memory_stores", {"name": "Notes"}).status == 200
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        page.clock.install()
        page.goto(live.url + path)
        time = page.locator("time").first
        assert time.inner_text() == "just now"
        page.clock.run_for(125_000)
        assert time.inner_text() == "2 minutes ago"
        made = datetime.fromisoformat(time.get_attribute("datetime") or "")
        page.clock.set_system_time(made + timedelta(seconds=63))  # as if the minute had ended on the way here
        page.reload()
        assert time.inner_text() == "just now"
        page.clock.run_for(21_000)
        assert time.inner_text() == "1 minute ago"
        page.clock.set_system_time(datetime.now(UTC) + timedelta(days=3))  # this machine's clock is wrong
        page.reload()
        assert time.inner_text() == "just now"
        page.clock.run_for(60_000)
        assert time.inner_text() == "just now"
