"""The journeys of one who corrects what agents know: find it and change it, also when an agent changes it meanwhile."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page

from stores import memories, memory_stores
from stores.models import Memory, MemoryVersion
from tests.browser.chromium import Window, in_ways, open_window
from tests.browser.entering import enter, new_session
from tests.hostile.markup import PAYLOADS
from tests.live import LiveHub
from tests.world import Tenant

TEA = "# Acme\n\nThey drink black tea.\n\n---\n\nOpen on Sundays.\n"
SCRIPT = pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])


class Shop:
    """A store with a fact to find, and a window of its owner's."""

    def __init__(self, live: LiveHub, tenant: Tenant) -> None:
        self.live, self.tenant = live, tenant
        self.session = new_session(tenant.owner)
        self.store_id = memory_stores.create_store(
            environment="development", name="Customers", description="", metadata={}, actor=tenant.actor
        ).wire_id
        self.memory = self.put("/customers/acme.md", TEA)
        self.agent = live.caller(tenant.key)

    def put(self, path: str, content: str) -> Memory:
        return memories.create_memory(self.store_id, path=path, content=content, actor=self.tenant.actor)

    def url(self, *parts: str) -> str:
        base = f"{self.live.url}/p/{self.tenant.project.wire_id}/development/stores/{self.store_id}"
        return "/".join([base, *parts])

    def memory_url(self, *parts: str) -> str:
        return self.url("memories", self.memory.wire_id, *parts)

    def write_as_agent(self, content: str) -> None:
        url = f"/v1/memory_stores/{self.store_id}/memories/{self.memory.wire_id}"
        assert self.agent("POST", url, {"content": content}).status == 200

    def delete_as_agent(self) -> None:
        url = f"/v1/memory_stores/{self.store_id}/memories/{self.memory.wire_id}"
        assert self.agent("DELETE", url).status == 200

    def texts(self) -> list[str | None]:
        versions = MemoryVersion.objects.filter(memory_id=self.memory.id).order_by("number")
        return [version.content for version in versions]


@pytest.fixture
def shop(live: LiveHub, live_tenant: Tenant) -> Shop:
    return Shop(live, live_tenant)


def open_shop(
    shop: Shop, *, width: int = 1200, scheme: Literal["light", "dark"] = "light", script: bool = True
) -> Iterator[Window]:
    with open_window(width=width, scheme=scheme, script=script) as window:
        enter(window.page, shop.live.url, shop.session)
        yield window


def editor(page: Page) -> str:
    """What stands in the field, with a script or without."""
    return page.locator("textarea[name=content]").input_value()


def type_text(page: Page, text: str, *, script: bool = True) -> None:
    """Pasted over all: what Chromium itself inserts into the editor gets styles that the policy forbids it."""
    if not script:
        return page.get_by_role("textbox", name="Text").fill(text)
    page.locator(".cm-content").wait_for()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(".cm-content").press("Control+a")
    return page.locator(".cm-content").press("Control+v")


@in_ways((1200, "light"), (390, "dark"))
def test_what_is_known_is_found_and_corrected(
    shop: Shop, width: int, scheme: Literal["light", "dark"], script: bool
) -> None:
    corrected = TEA.replace("black", "green")
    for window in open_shop(shop, width=width, scheme=scheme, script=script):
        page = window.page
        page.goto(shop.url())
        page.get_by_label("Search this store").fill("tea")
        page.get_by_label("Search this store").press("Enter")
        page.get_by_role("link", name="/customers/acme.md").click()
        page.get_by_role("link", name="Edit", exact=True).click()
        assert editor(page) == TEA
        type_text(page, corrected, script=script)
        page.get_by_role("button", name="Save").click()
        assert page.get_by_role("status").inner_text() == "The memory is saved."
        assert "They drink green tea." in page.get_by_role("region", name="Text").inner_text()
        page.get_by_role("link", name="The whole history").click()
        assert page.get_by_text("Modified").count() == 1
        assert not script or not window.is_too_wide()
        assert window.wrongs == []
    assert shop.texts() == [TEA, corrected]


@in_ways((1200, "dark"), (390, "light"))
def test_a_stale_edit_keeps_the_typed_text(
    shop: Shop, width: int, scheme: Literal["light", "dark"], script: bool
) -> None:
    theirs, mine = TEA.replace("black", "green"), TEA.replace("Sundays", "Mondays")
    for window in open_shop(shop, width=width, scheme=scheme, script=script):
        page = window.page
        page.goto(shop.memory_url("edit"))
        type_text(page, mine, script=script)
        shop.write_as_agent(theirs)
        page.get_by_role("button", name="Save").click()
        said = page.get_by_role("alert").inner_text()
        assert re.search(r"Nothing was saved: the key admin changed this memory", said)
        assert editor(page) == mine
        assert page.get_by_role("region", name="What they changed").locator("ins").inner_text() == "green"
        assert page.get_by_role("region", name="What you changed").locator("ins").inner_text() == "Mondays"
        assert not script or not window.is_too_wide()
        page.get_by_role("button", name="Put both changes together").click()
        both = theirs.replace("Sundays", "Mondays")
        assert editor(page) == both
        page.get_by_role("button", name="Save").click()
        assert page.get_by_role("status").inner_text() == "The memory is saved."
        assert window.wrongs == []
    assert shop.texts() == [TEA, theirs, both]


def test_what_was_deleted_meanwhile_is_saved_as_a_new_memory(shop: Shop) -> None:
    for window in open_shop(shop):
        page = window.page
        page.goto(shop.memory_url("edit"))
        type_text(page, "typed")
        shop.delete_as_agent()
        page.get_by_role("button", name="Save").click()
        assert "deleted this memory" in page.get_by_role("alert").inner_text()
        assert (page.get_by_label("Path").input_value(), editor(page)) == ("/customers/acme.md", "typed")
        page.get_by_role("button", name="Save the memory").click()
        assert page.get_by_role("status").inner_text() == "The memory is saved."
        assert window.wrongs == []


HOSTILE = [
    "\n\nfirst",
    "a\r\nb\r\n",
    "a\rb\n\r\n",
    " \t x \n \n",
    "</textarea><b>&amp;",
    "\u202eab\u200b\ufeff\u2028c\x0b\x1b",
    "👩\u200d🚀 é e\u0301",
]


@SCRIPT
def test_a_text_goes_through_the_editor_as_it_was(shop: Shop, script: bool) -> None:
    kept = [shop.put(f"/{index}.md", content) for index, content in enumerate(HOSTILE)]
    for window in open_shop(shop, script=script):
        for memory in kept:
            window.page.goto(shop.url("memories", memory.wire_id, "edit"))
            window.page.get_by_role("button", name="Save").click()
            assert window.page.get_by_role("status").inner_text() == "Nothing was changed."
        assert window.wrongs == []
    found = MemoryVersion.objects.filter(memory_id__in=[memory.id for memory in kept]).order_by("number")
    assert [version.content for version in found] == HOSTILE


def test_a_memory_is_deleted_from_the_dialog(shop: Shop) -> None:
    for window in open_shop(shop):
        page = window.page
        page.goto(shop.memory_url())
        page.get_by_role("link", name="Delete…").click()
        dialog = page.get_by_role("dialog", name="Delete /customers/acme.md?")
        dialog.wait_for()
        shop.write_as_agent("another")
        dialog.get_by_role("button", name="Delete the memory").click()
        page.get_by_text("Nothing was deleted:").wait_for()
        page.get_by_role("dialog").get_by_role("button", name="Delete the memory").click()
        page.get_by_role("status").wait_for()
        assert page.get_by_role("status").inner_text().startswith("The memory is deleted.")
        assert window.wrongs == []


def test_text_of_agents_runs_nothing_on_any_page_of_a_memory(shop: Shop) -> None:
    """In a text and in its path; as text, as Markdown, in the editor, and beside another change of it."""
    content = (
        "\n\n".join(PAYLOADS)
        + "\n\n"
        + "\n".join(f"| {payload} |" for payload in PAYLOADS if "\n" not in payload)
    )
    path = "/<img src=x onerror=alert(1)>\"'.md"
    shop.memory = shop.put(path, content)
    new = shop.url("memories", "new")
    for window in open_shop(shop):
        page = window.page
        for url in ("", "?view=rendered", "/edit", "/move", "/delete", "/history"):
            page.goto(shop.memory_url() + url)
            assert page.locator("h1").count() == 1
        page.goto(shop.memory_url("edit"))
        shop.write_as_agent("".join(reversed(PAYLOADS)))
        page.get_by_role("button", name="Save").click()
        assert page.get_by_role("alert").count() == 1
        page.get_by_role("button", name="Put both changes together").click()
        page.goto(new)
        page.get_by_label("Path").fill(path)
        type_text(page, content)
        page.get_by_role("button", name="Save the memory").click()
        assert "is taken by" in page.locator(".problem").inner_text()
        foreign = "main :is(img, svg, iframe, style, [style]):not(.code-editor, .code-editor *)"
        shown = "all => [...document.querySelectorAll(all)].map((one) => one.outerHTML.slice(0, 200))"
        assert page.evaluate(shown, foreign) == []
        assert window.wrongs == []
