"""The first journey: find what is known, see who wrote it, keep agents from changing it."""

from typing import Literal

import pytest
from playwright.sync_api import Page

from memoryhub import accounts
from stores import memories, memory_stores
from stores.models import Memory
from tests.browser.chromium import copied, in_ways, open_window
from tests.live import LiveHub
from tests.world import Tenant, make_tenant

PAYLOAD = "<script>alert(1)</script><img src=x onerror=alert(2)><b onclick=alert(3)>bold</b>"


@pytest.fixture
def known(live: LiveHub) -> tuple[Tenant, str]:
    """(tenant, a sign-in link's token): a store with one fact to find, and markup in every text that is kept."""
    tenant = make_tenant()
    store = memory_stores.create_store(
        environment="development",
        name=f"Notes {PAYLOAD}",
        description=PAYLOAD,
        metadata={},
        actor=tenant.actor,
    )
    for path, content in (("/acme/tea.md", f"She likes green tea.\n{PAYLOAD}\n"), ("/other.md", "Nothing.")):
        memories.create_memory(store.wire_id, path=path, content=content, actor=tenant.actor)
    return tenant, accounts.create_sign_in_link(tenant.owner.id)


def sign_in(page: Page, live: LiveHub, token: str) -> None:
    page.goto(f"http://127.0.0.1:{live.port}/sign-in/{token}")
    page.get_by_role("button", name="Sign in").click()


def find_tea(page: Page, live: LiveHub) -> None:
    """From the home page to the memory, as a person goes."""
    page.goto(f"http://127.0.0.1:{live.port}/")
    page.get_by_role("link", name="development").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Stores").click()
    page.get_by_role("link", name="Notes").click()
    page.get_by_label("Search this store").fill("tea")
    page.get_by_label("Search this store").press("Enter")
    assert page.locator("mark").first.inner_text() == "tea"
    page.get_by_role("link", name="/acme/tea.md").click()


@in_ways((1200, "light"), (390, "dark"))
def test_a_fact_is_found_and_frozen(
    live: LiveHub, known: tuple[Tenant, str], width: int, scheme: Literal["light", "dark"], script: bool
) -> None:
    tenant, token = known
    with open_window(width=width, scheme=scheme, script=script) as window:
        page = window.page
        sign_in(page, live, token)
        find_tea(page, live)
        assert page.get_by_role("region", name="Text").inner_text().splitlines()[0] == "She likes green tea."
        page.get_by_role("button", name="Freeze").click()
        assert "The memory is frozen" in page.get_by_role("status").inner_text()
        page.get_by_role("link", name="The whole history").click()
        assert page.get_by_role("heading", level=1).inner_text() == "History of /acme/tea.md"
        assert not script or not window.is_too_wide()
        assert window.wrongs == []
    assert Memory.objects.get(project=tenant.project, path="/acme/tea.md").frozen_at is not None


def test_an_id_copies_itself_in_full_by_keyboard(live: LiveHub, known: tuple[Tenant, str]) -> None:
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        sign_in(page, live, known[1])
        find_tea(page, live)
        shown = page.locator("aside [data-copy]").first
        shown.focus()
        assert copied(shown, lambda: shown.press("Enter")) == shown.get_attribute("data-copy")
        assert window.wrongs == []


def test_the_first_stop_of_the_keyboard_leads_past_the_navigation(
    live: LiveHub, known: tuple[Tenant, str]
) -> None:
    with open_window(width=1200, scheme="light") as window:
        sign_in(window.page, live, known[1])
        find_tea(window.page, live)
        window.page.get_by_role("heading", level=1, name="/acme/tea.md").wait_for()
        window.page.keyboard.press("Tab")
        window.page.keyboard.press("Enter")
        window.page.keyboard.press("Tab")
        focused = window.page.evaluate("document.activeElement.closest('main') !== null")
        assert focused
