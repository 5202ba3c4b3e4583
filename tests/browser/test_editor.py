"""The editor is the textarea that it stands for: what is typed is what is sent, and the keyboard comes out of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Page, Route

from stores import memories, memory_stores
from stores.models import Memory
from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.world import Tenant

TEXT = "\n# Tea\n\n- green\t\u2028tea\n" + "".join(f"- cup {number}\n" for number in range(200))


@pytest.fixture
def memory(live_tenant: Tenant) -> Memory:
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=live_tenant.actor
    )
    return memories.create_memory(store.wire_id, path="/tea.md", content=TEXT, actor=live_tenant.actor)


@contextmanager
def opened(
    live: LiveHub, tenant: Tenant, memory: Memory, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Page]:
    """The page that edits the memory. Nothing may be wrong with it at the end."""
    session, address = new_session(tenant.owner), address_of(live, tenant, memory)
    with open_window(width=1200, scheme=scheme) as window:
        enter(window.page, live.url, session)
        window.page.goto(address)
        assert window.page.locator(".cm-content").count() == 1, "it is there when the page has come"
        yield window.page
        assert window.wrongs == []


def address_of(live: LiveHub, tenant: Tenant, memory: Memory) -> str:
    environment = f"{live.url}/p/{tenant.project.wire_id}/development"
    return f"{environment}/stores/{memory.store.wire_id}/memories/{memory.wire_id}/edit"


def content_of(memory: Memory) -> str:
    return str(Memory.objects.select_related("head").get(id=memory.id).head.content)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").first.wait_for()


def test_what_is_typed_is_what_is_saved(live: LiveHub, live_tenant: Tenant, memory: Memory) -> None:
    with opened(live, live_tenant, memory) as page:
        text = page.get_by_role("textbox", name="Text")
        text.focus()
        page.keyboard.press("Control+Home")
        page.keyboard.insert_text("First line\n")
        page.keyboard.press("Control+End")
        page.keyboard.insert_text("<script>alert(1)</script>")
        page.keyboard.press("Control+z")
        page.keyboard.insert_text("the end")
        save(page)
    assert content_of(memory) == f"First line\n{TEXT}the end"


def test_what_was_not_touched_is_kept_to_the_last_character(
    live: LiveHub, live_tenant: Tenant, memory: Memory
) -> None:
    with opened(live, live_tenant, memory, "dark") as page:
        sent = page.locator("textarea[name=content]").evaluate("field => field.value")
    assert sent == TEXT


def test_the_keyboard_finds_and_leaves(live: LiveHub, live_tenant: Tenant, memory: Memory) -> None:
    with opened(live, live_tenant, memory) as page:
        page.get_by_role("textbox", name="Text").focus()
        page.keyboard.press("Control+f")
        page.keyboard.type("cup 150")
        page.keyboard.press("Enter")
        assert page.locator(".cm-searchMatch-selected").inner_text() == "cup 150"
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.classList.contains('cm-content')")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Find"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.get_by_role("button", name="Wrap lines").get_attribute("aria-pressed") == "false"
        assert page.locator(".cm-lineWrapping").count() == 0
        page.get_by_text("Text", exact=True).click()
        assert page.evaluate("document.activeElement.classList.contains('cm-content')"), (
            "the label leads into it"
        )


def test_who_types_before_the_editor_has_come_types_on(
    live: LiveHub, live_tenant: Tenant, memory: Memory
) -> None:
    session, address = new_session(live_tenant.owner), address_of(live, live_tenant, memory)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        page.route("**/vendor/codemirror*", hold)
        page.goto(address, wait_until="commit")
        field = page.locator("textarea[name=content]")
        field.focus()
        page.keyboard.press("Control+Home")
        page.keyboard.insert_text("before, ")
        assert page.locator(".cm-content").count() == 0
        while not held:
            page.wait_for_timeout(20)
        held[0].continue_()
        page.locator(".cm-content").wait_for()
        page.keyboard.insert_text("after")
        save(page)
        assert window.wrongs == []
    assert content_of(memory) == f"before, after{TEXT}"


def test_a_refusal_is_told_of_the_editor(live: LiveHub, live_tenant: Tenant, memory: Memory) -> None:
    with opened(live, live_tenant, memory) as page:
        page.locator("textarea[name=content]").evaluate("field => { field.value = 'x'.repeat(102_401) }")
        page.get_by_role("button", name="Save").click()
        refused = page.get_by_role("textbox", name="Text")
        refused.wait_for()
        assert refused.get_attribute("aria-invalid") == "true"
        told = refused.get_attribute("aria-describedby") or ""
        assert any(page.locator(f"#{name}.problem").count() for name in told.split())
        assert page.locator(".code-editor.refused").count() == 1
