"""What asks before a change opens over the page, and is a page of its own without script."""

import pytest
from playwright.sync_api import Locator, Page

from stores import memory_stores
from stores.models import MemoryStore
from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.world import Tenant


@pytest.fixture
def notes(live_tenant: Tenant) -> MemoryStore:
    return memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=live_tenant.actor
    )


def url_of(live: LiveHub, store: MemoryStore, tenant: Tenant) -> str:
    return f"{live.url}/p/{tenant.project.wire_id}/development/stores/{store.wire_id}"


def open_dialog(page: Page) -> Locator:
    link = page.get_by_role("link", name="Archive…")
    link.focus()
    link.press("Enter")
    dialog = page.get_by_role("dialog", name="Archive Notes?")
    dialog.wait_for()
    return dialog


def test_a_question_opens_over_the_page_and_leads_back(
    live: LiveHub, live_tenant: Tenant, notes: MemoryStore
) -> None:
    url, session = url_of(live, notes, live_tenant), new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(url)
        for leave in ("Escape", "Cancel"):
            dialog = open_dialog(page)
            assert page.evaluate("document.activeElement.textContent") == "Cancel"
            for _ in range(5):  # the keyboard stays inside
                page.keyboard.press("Tab")
                assert page.evaluate(
                    "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
                )
            if leave == "Escape":
                page.keyboard.press("Escape")
            else:
                dialog.get_by_role("link", name="Cancel").click()
            page.get_by_role("dialog").wait_for(state="detached")
            page.wait_for_function("() => document.activeElement.textContent === 'Archive…'")
        open_dialog(page).get_by_role("button", name="Archive the store").click()
        page.get_by_role("status").wait_for()
        assert (page.url, page.get_by_role("status").inner_text()) == (url, "The store is archived.")
        assert window.wrongs == []


def test_a_refusal_is_shown_in_the_dialog(live: LiveHub, live_tenant: Tenant, notes: MemoryStore) -> None:
    """Of a form whose token is stale."""
    session = new_session(live_tenant.owner)
    url = url_of(live, notes, live_tenant)
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(url)
        dialog = open_dialog(page)
        form_token = dialog.locator("[name=csrfmiddlewaretoken]")
        form_token.evaluate("field => { field.value = 'stale' }")
        dialog.get_by_role("button", name="Archive the store").click()
        refused = page.get_by_role("dialog", name="This was refused")
        refused.wait_for()
        assert "The form is no longer valid" in refused.inner_text()
        refused.get_by_role("button", name="Close").click()
        assert page.url == url
        assert window.wrongs == []


def test_without_script_the_question_is_a_page(
    live: LiveHub, live_tenant: Tenant, notes: MemoryStore
) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=390, scheme="dark", script=False) as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(url_of(live, notes, live_tenant))
        page.get_by_role("link", name="Archive…").click()
        page.get_by_role("button", name="Archive the store").click()
        assert page.get_by_role("status").inner_text() == "The store is archived."
