"""The queue of writes that wait, by keyboard: one is approved, one is rejected, and what the model wrote is text."""

from playwright.sync_api import Page

from providers import record_writes
from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.browser.test_everywhere import violations
from tests.console.site import add_person
from tests.live import LiveHub
from tests.providers.record_sessions import RecordSessions
from tests.providers.test_record_writes import park
from tests.world import Tenant


def focus_first(page: Page) -> None:
    page.wait_for_function("() => document.activeElement.hasAttribute('data-open')")


def test_writes_are_decided_on_by_keyboard(live: LiveHub, live_tenant: Tenant) -> None:
    notes = RecordSessions(live_tenant, "ask")
    rejected, approved = park(notes, "Pays <b>late</b>."), park(notes, "Likes tea.")
    reviewer = new_session(add_person(live_tenant, "reviewer"))
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, reviewer)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/development/writes")
        page.get_by_role("heading", name="Waiting writes", exact=True).wait_for()
        assert "Pays <b>late</b>." in page.locator("tbody").inner_text()
        assert violations(page) == [] and not window.is_too_wide()
        focus_first(page)
        with page.expect_navigation():
            page.keyboard.press("a")  # the newest, which is the first row
        page.get_by_text("It is approved and remembered.").wait_for()
        assert page.locator("tbody tr").count() == 1
        focus_first(page)
        with page.expect_navigation():
            page.keyboard.press("r")  # chooses the current row, and asks
        page.get_by_role("heading", name="Reject 1 write?").wait_for()
        with page.expect_navigation():
            page.get_by_role("button", name="Reject the write").click()
        page.get_by_role("heading", name="What became of 1 write").wait_for()
        assert window.wrongs == []
    states = [record_writes.get_write(one, actor=notes.actor).write.state for one in (approved, rejected)]
    assert states == ["approved", "rejected"]
