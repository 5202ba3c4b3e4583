"""X1: what is stored is never markup. Forty payloads in everything that is kept, every page that shows it."""

from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import Route
from pytest_django import DjangoDbBlocker

from tests.browser.chromium import EVERY_WAY, open_window
from tests.browser.entering import new_session
from tests.browser.everywhere import Address, list_addresses
from tests.browser.payloads import ACTIVE, FETCHED, NOTE_ACTS, PAYLOADS, make_hostile, packs
from tests.browser.visits import Visits
from tests.live import LiveHub

WITHOUT_A_PAGE = {"job-file"}  # work that failed left none


@pytest.fixture(scope="module")
def hostile(live_hub: LiveHub, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[list[Address], str]]:
    """(each page once, a session)."""
    with django_db_blocker.unblock():
        examples = make_hostile(f"-{live_hub.port}")
        found = {one.path + str(one.sends): one for example in examples for one in list_addresses(example)}
        shown = [
            one
            for one in found.values()
            if not one.path.startswith(("/docs", "/sign-in")) and one.name not in WITHOUT_A_PAGE
        ]
        yield shown, new_session(examples[0].owner)
        connection.close()


def test_there_are_forty_and_every_one_is_stored() -> None:
    assert len(PAYLOADS) == len(set(PAYLOADS)) == 40
    assert all(any(payload in pack for pack in packs()) for payload in PAYLOADS)


def share_out(addresses: list[Address]) -> tuple[list[Address], list[Address]]:
    """Those to open: of the pages of one name another pack's for each name; and the rest."""
    if EVERY_WAY:
        return addresses, []
    by_name: dict[str, list[Address]] = {}
    for one in addresses:
        by_name.setdefault(one.name, []).append(one)
    opened = [alike[number % len(alike)] for number, alike in enumerate(by_name.values())]
    return opened, [one for one in addresses if one not in opened and not one.sends]


def test_no_payload_acts_on_any_page(live_hub: LiveHub, hostile: tuple[list[Address], str]) -> None:
    addresses, session = hostile
    opened, fetched = share_out(addresses)
    with open_window(width=1200, scheme="light") as window:
        window.page.context.add_init_script(NOTE_ACTS)
        visits = Visits(window, live_hub.url, session)
        shown = 0
        for address, page in visits.walk(opened):
            shown += "acted()" in page.content()
            for active in page.evaluate(ACTIVE):
                visits.note(address, f"markup: {active}")
            if not page.url.startswith(f"{live_hub.url}/"):
                visits.note(address, f"led away to {page.url}")
        window.page.goto(f"{live_hub.url}/account")
        parsed = window.page.evaluate(FETCHED, [one.path for one in fetched])
    visits.require_none()
    assert [(path, fault) for path, fault in parsed if fault is not None] == []
    assert shown + len(parsed) > 10 * len(packs()), "most pages show what is stored"


def plant(route: Route) -> None:
    payload = PAYLOADS[int(route.request.url.rpartition("/")[2])]
    route.fulfill(body=f"<body><div>{payload}</div>", content_type="text/html")


def test_a_payload_that_acts_would_be_seen(live_hub: LiveHub, hostile: tuple[list[Address], str]) -> None:
    with open_window(width=1200, scheme="light") as window:
        window.page.context.add_init_script(NOTE_ACTS)
        visits = Visits(window, live_hub.url, hostile[1])
        for _, page in visits.walk([one for one in hostile[0] if one.name == "home"][:1]):
            page.evaluate(
                """payloads => payloads.forEach((payload) => {
                  const one = document.querySelector("main").appendChild(document.createElement("div"));
                  one.innerHTML = payload;
                })""",
                [payload for payload in PAYLOADS if "refresh" not in payload],  # which would lead away
            )
            page.route("**/planted/*", plant)
            parsed = page.evaluate(FETCHED, [f"/planted/{number}" for number in range(len(PAYLOADS))])
            assert len({path for path, fault in parsed if fault is not None}) > 20
            page.evaluate("acted()")
            page.wait_for_timeout(50)
            assert len(page.evaluate(ACTIVE)) > 20
        faults = visits.found()["home"]
    assert any("a payload acted" in fault for fault in faults)
    assert any("violation script-src" in fault for fault in faults), faults
