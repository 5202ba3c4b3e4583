"""The reviewer's journeys: a nomination that replaces and adds, a conflict on the way, a receipt that others can check; twenty by keyboard."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest
from django.db import connection
from playwright.sync_api import Page

from authority import host_runs
from authority.canonical import parse
from authority.graph import make_record
from authority.models import Nomination, Receipt
from tests.browser.chromium import Window, open_window
from tests.browser.entering import enter, new_session
from tests.browser.example_reviews import Desk
from tests.browser.test_everywhere import violations
from tests.console.site import add_person
from tests.live import LiveCaller, LiveHub
from tests.source import ROOT
from tests.world import Tenant

NOMINATIONS = 20


class Worker:
    """Drains an authority's host calls in a thread, as the worker of a hub does."""

    def __init__(self, authority_id: UUID) -> None:
        self.authority_id, self._end = authority_id, threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            while not self._end.wait(0.02):
                if host_runs.has_queued(self.authority_id):
                    host_runs.drain(self.authority_id)
        finally:
            connection.close()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(20)


@pytest.fixture
def desk(live: LiveHub, live_tenant: Tenant) -> Desk:
    return Desk(f"desk.{live_tenant.project.name.replace('-', '')}", live_tenant.actor)


@pytest.fixture
def worker(desk: Desk) -> Iterator[Worker]:
    started = Worker(desk.authority.id)
    yield started
    started.stop()


@pytest.fixture
def reviewer(live_tenant: Tenant) -> str:
    return new_session(add_person(live_tenant, "reviewer"))


@pytest.fixture
def writer(live: LiveHub, live_tenant: Tenant) -> LiveCaller:
    return live.caller(live_tenant.new_key("host", environment=live_tenant.production))


def commit(writer: LiveCaller, desk: Desk, key: str, text: str) -> None:
    """Another writer of the reviewed memory, over the API."""
    url = f"/v1/spaces/{desk.canonical.wire_id}"
    head = writer("GET", f"{url}/head").body
    record = parse(make_record(key, "fact", {"text": text}, []).text)
    body = {
        "actorId": "importer.crm",
        "changes": [{"kind": "put", "record": record, "v": 1}],
        "expectedHead": {"operationSha256": head["operationSha256"], "sequence": head["sequence"]},
        "operationId": f"op_n{head['sequence'] + 1}",
        "v": 1,
    }
    assert writer("POST", f"{url}/commit", body).status == 200


def press(page: Page, key: str, *, wait_for: str) -> None:
    """A key that leads to a page with this heading."""
    with page.expect_navigation():
        page.keyboard.press(key)
    page.get_by_role("heading", name=wait_for).first.wait_for()


def fault_free(window: Window) -> list[str]:
    return [*violations(window.page), *(["too wide"] if window.is_too_wide() else []), *window.wrongs]


def ten_lines() -> str:
    """The script of the documentation that recomputes a receipt's digest."""
    page = (ROOT / "docs/authority.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(import hashlib.*?)```", page, re.DOTALL)
    assert found
    return found[1]


def recheck(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ten_lines()], input=text, capture_output=True, text=True, check=False
    )


def test_a_nomination_is_adopted_after_a_conflict_and_its_receipt_is_checked_elsewhere(
    live: LiveHub,
    live_tenant: Tenant,
    desk: Desk,
    worker: Worker,
    reviewer: str,
    writer: LiveCaller,
    tmp_path: Path,
) -> None:
    desk.note(("fact:opening-hours", "8 to 18"), ("fact:delivery", "Next day"), ("fact:gate", "Gate 3"))
    desk.nominate("fact:delivery", "fact:gate", "fact:opening-hours")
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, reviewer)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/production/review")
        page.get_by_role("heading", name="Review", exact=True).wait_for()
        assert page.get_by_role("navigation", name="Main").locator(".waits").inner_text() == "1\nwaiting"
        page.wait_for_function("() => document.activeElement.hasAttribute('data-open')")
        press(page, "Enter", wait_for="Would be replaced")
        shown = page.locator("article").all_inner_texts()
        assert len(shown) == 2
        assert "Orders before noon are delivered the next day." in shown[0]
        assert "Next day" in shown[0]
        assert "fact:gate New" in page.get_by_role("region", name="The others").inner_text().replace(
            "\n", " "
        )
        # Not ticked: told before anything is sent.
        press(page, "a", wait_for="Would be replaced")
        assert "Tick every record" in page.get_by_role("alert").inner_text()
        for _ in range(2):
            page.keyboard.press("j")
            page.keyboard.press(" ")
        assert page.locator("[name=replace]:checked").count() == 2
        commit(writer, desk, "fact:delivery", "Within two days.")
        press(page, "a", wait_for="The last adoption met a conflict")
        conflict = page.get_by_role("region", name="The last adoption met a conflict").inner_text()
        assert "Records in conflict\n3" in conflict
        assert "Nothing can be adopted until the pin is moved" in page.content()
        assert page.get_by_role("button", name="Adopt the nomination").count() == 0
        assert fault_free(window) == []
        press(page, "v", wait_for="Would be replaced")
        assert "The pin has moved." in page.get_by_role("status").inner_text()
        assert "Within two days." in page.locator("article").first.inner_text()
        for _ in range(2):
            page.keyboard.press("j")
            page.keyboard.press(" ")
        press(page, "a", wait_for="Receipt of call 3")
        page.locator("[data-checked=holds]").wait_for()
        assert "This browser made the digest anew" in page.locator("[data-checked]").inner_text()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the receipt").click()
        download.value.save_as(tmp_path / "receipt.json")
        assert fault_free(window) == []
    text = (tmp_path / "receipt.json").read_text(encoding="utf-8")
    assert recheck(text).stdout == "the receipt is what was sealed\n"
    assert recheck(text.replace('"adopted"', '"advanced"')).returncode != 0
    assert Receipt.objects.filter(authority_id=desk.authority.id).count() == 2
    assert Nomination.objects.get(authority_id=desk.authority.id).state == "adopted"


def test_a_receipt_that_was_changed_says_so_in_the_page(
    live: LiveHub, live_tenant: Tenant, desk: Desk, reviewer: str
) -> None:
    desk.note(("fact:gate", "Gate 3"))
    sha256 = desk.nominate("fact:gate")
    call = desk.adopt(sha256)
    url = f"{live.url}/p/{live_tenant.project.wire_id}/production/authorities/{desk.authority.wire_id}"
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, reviewer)
        page.goto(f"{url}/receipts/{call.receipt_sha256}")
        page.locator("[data-checked=holds]").wait_for()
        page.evaluate(
            """() => { const shown = document.querySelector("[data-receipt] pre");
                shown.textContent = shown.textContent.replace("adopted", "adopteD"); }"""
        )
        page.get_by_role("button", name="Check again").click()
        page.locator("[data-checked=broken]").wait_for()
        assert "Does not hold" in page.locator("[data-checked]").inner_text()
        assert window.wrongs == []


def test_twenty_nominations_are_reviewed_by_keyboard(
    live: LiveHub, live_tenant: Tenant, desk: Desk, worker: Worker, reviewer: str
) -> None:
    keys = [f"fact:n{number:02}" for number in range(NOMINATIONS)]
    desk.note(*((key, f"Says {key}.") for key in keys))
    for key in keys:
        desk.nominate(key)
    with open_window(width=1200, scheme="dark") as window:
        page = window.page
        enter(page, live.url, reviewer)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/production/review")
        page.wait_for_function("() => document.activeElement.hasAttribute('data-open')")
        # Three are rejected at once, from the queue, with a reason for all.
        for key in (" ", "j", " ", "j", " "):
            page.keyboard.press(key)
        press(page, "r", wait_for="Reject 3 nominations?")
        page.get_by_label("Reason").press_sequentially("Nobody said so.")
        page.keyboard.press("Tab")
        press(page, "Enter", wait_for="What became of 3 nominations")
        assert page.locator("tbody .badge").all_inner_texts() == ["Rejected"] * 3
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/production/review")
        page.wait_for_function("() => document.activeElement.hasAttribute('data-open')")
        press(page, "a", wait_for="Nomination for kb.support")
        for number in range(3, NOMINATIONS):
            assert f"Says {keys[number]}." in page.locator("main").inner_text()
            press(page, "a", wait_for="Receipt of call")
            if number < NOMINATIONS - 1:
                press(page, "n", wait_for="Nomination for kb.support")
        assert page.get_by_role("link", name="Next that waits").count() == 0
        assert window.wrongs == []
    states = Nomination.objects.filter(authority_id=desk.authority.id).order_by("id")
    assert [one.state for one in states] == ["rejected"] * 3 + ["adopted"] * (NOMINATIONS - 3)
    assert {one.note for one in states if one.state == "rejected"} == {"Nobody said so."}


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_without_script_a_nomination_is_adopted_and_another_rejected(
    live: LiveHub,
    live_tenant: Tenant,
    desk: Desk,
    worker: Worker,
    reviewer: str,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    desk.note(("fact:opening-hours", "8 to 18"), ("fact:gate", "Gate 3"))
    desk.nominate("fact:opening-hours")
    desk.nominate("fact:gate")
    with open_window(width=width, scheme=scheme, script=False) as window:
        page = window.page
        enter(page, live.url, reviewer)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/production")
        page.get_by_role("link", name="2 nominations wait for a decision.").click()
        page.locator("[data-open]").first.click()
        page.get_by_label("Replace fact:opening-hours").check()
        page.get_by_label("Note").fill("As it says on the door.")
        page.get_by_role("button", name="Adopt the nomination").click()
        assert "The nomination is adopted." in page.get_by_role("status").inner_text()
        assert "The hub made the digest anew" in page.locator("[data-checked]").inner_text()
        page.get_by_role("link", name="Next that waits").click()
        page.get_by_role("link", name="Reject…").click()
        page.get_by_label("Reason").fill("Not agreed.")
        page.get_by_role("button", name="Reject the nomination").click()
        assert "The nomination is rejected." in page.get_by_role("status").inner_text()
        assert window.wrongs == []
    states = Nomination.objects.filter(authority_id=desk.authority.id).order_by("id")
    assert [one.state for one in states] == ["adopted", "rejected"]


def test_a_viewer_sees_all_of_it_and_no_button(
    live: LiveHub, live_tenant: Tenant, desk: Desk, writer: LiveCaller
) -> None:
    desk.note(("fact:opening-hours", "8 to 18"))
    sha256 = desk.nominate("fact:opening-hours")
    session = new_session(add_person(live_tenant, "viewer"))
    base = f"{live.url}/p/{live_tenant.project.wire_id}/production"
    url = f"{base}/review/{desk.authority.wire_id}/{sha256}"
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        for behind in (False, True):
            page.goto(url)
            page.get_by_role("heading", name="Would be replaced").wait_for()
            assert page.locator("main form, main [data-confirm], main input").count() == 0
            assert page.get_by_text("Nothing can be adopted until").count() == int(behind)
            commit(writer, desk, "fact:delivery", "Within two days.")
        assert window.wrongs == []
