"""Two journeys of a worried owner: a leaked secret is redacted everywhere, and a bad edit is undone."""

import re
from html import unescape
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from memoryhub.digests import sha256_hex
from stores import memory_stores
from stores.models import Memory, MemoryVersion
from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.stores.shelf import Shelf
from tests.world import Tenant

SECRET = "sk-live-4242abcd"
AXE = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
    "preload": False,
}


def make_shelf(tenant: Tenant, name: str) -> Shelf:
    store = memory_stores.create_store(
        environment="development", name=name, description="", metadata={}, actor=tenant.actor
    )
    return Shelf(store.wire_id, tenant.actor)


def open_store(page: Page, live: LiveHub, tenant: Tenant, session: str) -> None:
    enter(page, live.url, session)
    page.goto(f"{live.url}/p/{tenant.project.wire_id}/development/stores")
    page.get_by_role("link", name="Customers").click()


def violations(page: Page) -> list[str]:
    """Of WCAG 2.2 AA: of pages that only a form leads to."""
    found: list[dict[str, Any]] = Axe().run(page, options=AXE).response["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


def pages_that_hold(page: Page, words: list[str]) -> tuple[int, list[str]]:
    """(how many pages of stores links lead to from this one, those of them that hold one of the words)."""
    origin = page.url.partition("/p/")[0]
    start = page.url.removeprefix(origin)
    seen, waiting, holding = {start}, [start], []
    while waiting:
        path = waiting.pop()
        shown = page.request.get(origin + path).text()
        if any(word in shown for word in words):
            holding.append(path)
        for link in re.findall(r'href="(/p/[^"#]*/(?:stores|redactions)[^"#]*)"', shown):
            if unescape(link) not in seen:
                seen.add(unescape(link))
                waiting.append(unescape(link))
    return len(seen), holding


@pytest.mark.parametrize(("width", "scheme", "script"), [(390, "light", True), (1200, "dark", False)])
def test_a_leaked_secret_is_redacted_everywhere(
    live: LiveHub, live_tenant: Tenant, width: int, scheme: Literal["light", "dark"], script: bool
) -> None:
    customers, copies = make_shelf(live_tenant, "Customers"), make_shelf(live_tenant, "Copies")
    memory = customers.put("/acme.md", f"The key is {SECRET}.\n")
    customers.update(memory, path="/acme/notes.md")
    customers.update(memory, content="The key is in the vault.\n")
    copies.put("/copy.md", SECRET)
    words = [SECRET, sha256_hex(SECRET), sha256_hex(f"The key is {SECRET}.\n")]
    session = new_session(live_tenant.owner)
    with open_window(width=width, scheme=scheme, script=script) as window:
        page = window.page
        open_store(page, live, live_tenant, session)
        store_url = page.url
        page.get_by_role("link", name="Find in history").click()
        page.get_by_role("link", name="Look in every store of development").click()
        page.get_by_label("Text", exact=True).fill(SECRET)
        page.get_by_role("button", name="Find").click()
        assert page.locator("main h2").first.inner_text() == "3 versions hold it"
        assert page.get_by_text("Current text", exact=True).count() == 1
        assert not script or violations(page) == []
        page.get_by_role("button", name="Redact everywhere…").click()
        assert page.get_by_role("row").count() == 1 + 3
        assert not script or violations(page) == []
        page.get_by_label("Delete the memories that hold it now").check()
        page.get_by_label("Reason").fill(f"the key {SECRET} leaked")
        page.get_by_role("button", name="Redact what is listed here").click()
        assert "It repeats what is to be erased" in page.locator(".problem").inner_text()
        assert page.get_by_label("Delete the memories that hold it now").is_checked()
        page.get_by_label("Reason").fill("a key in a note, ticket 12")
        page.get_by_role("button", name="Redact what is listed here").click()
        assert page.get_by_role("heading", level=1).inner_text() == "3 versions redacted"
        assert "1 memory was deleted." in page.get_by_role("status").inner_text()
        assert not [word for word in words if word in page.content()]
        assert not script or violations(page) == []
        page.get_by_role("link", name="All redactions").click()
        assert page.get_by_role("row").count() == 1 + 3
        page.goto(store_url)
        count, holding = pages_that_hold(page, words)
        assert (count > 15, holding) == (True, [])
        assert not script or not window.is_too_wide()
        assert window.wrongs == []
    assert not MemoryVersion.objects.filter(project=live_tenant.project, content__contains=SECRET).exists()


@pytest.mark.parametrize(("width", "scheme", "script"), [(390, "light", True), (1200, "dark", False)])
def test_a_bad_edit_is_undone(
    live: LiveHub, live_tenant: Tenant, width: int, scheme: Literal["light", "dark"], script: bool
) -> None:
    customers = make_shelf(live_tenant, "Customers")
    memory = customers.put("/acme.md", "She likes green tea.\n")
    customers.update(memory, content="She likes nothing.\n")
    session, key = new_session(live_tenant.owner), live_tenant.key
    with open_window(width=width, scheme=scheme, script=script) as window:
        page = window.page
        open_store(page, live, live_tenant, session)
        page.get_by_role("link", name="acme.md").click()
        page.get_by_role("link", name="The whole history").click()
        page.get_by_role("button", name="Compare the two chosen").click()
        assert page.locator("del").inner_text() == "green tea"
        assert page.locator("ins").inner_text() == "nothing"
        page.locator("dl a").first.click()  # the old version
        page.get_by_role("link", name="Restore…").click()
        assert page.locator("ins").inner_text() == "green tea"
        assert not script or not window.is_too_wide()
        # an agent changes the memory while the owner looks
        answer = live.caller(key)("POST", customers.memory_url(memory), {"content": "She likes coffee.\n"})
        assert answer.status == 200
        page.get_by_role("button", name="Restore this version").click()
        assert not script or violations(page) == []
        assert "nothing was restored" in page.get_by_role("alert").inner_text()
        assert page.locator("del").inner_text() == "coffee"
        page.get_by_role("button", name="Restore this version").click()
        assert "The version is restored" in page.get_by_role("status").inner_text()
        assert page.get_by_role("region", name="Text").inner_text() == "She likes green tea."
        assert window.wrongs == []
    assert Memory.objects.get(project=live_tenant.project).path == "/acme.md"
    assert len(customers.versions()) == 4
