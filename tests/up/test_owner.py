"""A hub's first owner, from the link that the start prints: find, correct, erase, freeze, move a store, and see all of it in the audit."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.chromium import open_window
from tests.up.hubs import RunningHub

FACT = "They drink black tea.\n\nThe gate code is 4711-heron.\n"
SECRET = "4711-heron"
PASSWORD = "a long enough sentence"


def heading(page: Page, words: str) -> None:
    page.get_by_role("heading", level=1, name=words).wait_for()


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def go(page: Page, room: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=room).click()


def sign_in(page: Page, hub: RunningHub) -> None:
    page.goto(hub.facts["sign_in_url"])
    press(page, "Sign in")
    page.get_by_label("New password").fill(PASSWORD)
    press(page, "Save the password")


def find_and_correct(page: Page, change: Any) -> None:
    """`change` is called while the owner types: another client writes the same memory."""
    page.get_by_label("Find a fact in every store").fill("black tea")
    press(page, "Find")
    page.get_by_role("link", name="/acme.md").first.click()
    heading(page, "/acme.md")
    assert "the key first key" in page.locator(".timeline li").first.inner_text()
    page.get_by_role("link", name="Edit", exact=True).click()
    page.locator(".cm-content").fill(FACT.replace("tea", "coffee"))
    change(f"{FACT}Ring twice.\n")
    press(page, "Save")
    assert "Nothing was saved" in page.get_by_role("alert").inner_text()
    press(page, "Put both changes together")
    press(page, "Save")
    assert "They drink black coffee." in page.get_by_role("region", name="Text").inner_text()


def erase(page: Page) -> None:
    page.locator(".cm-content").fill("They drink black coffee.\n")
    press(page, "Save")
    go(page, "Redactions")
    page.get_by_role("link", name="Find a text").first.click()
    page.get_by_label("Text", exact=True).fill(SECRET)
    press(page, "Find")
    press(page, "Redact everywhere…")
    page.get_by_label("Reason").fill("a gate code")
    press(page, "Redact what is listed here")
    heading(page, "3 versions redacted")


def move(page: Page, folder: Path) -> None:
    go(page, "Stores")
    page.get_by_role("link", name="Customers").click()
    press(page, "Freeze")
    page.get_by_text("This store was frozen").wait_for()
    press(page, "Export")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(folder / "customers.tar")
    page.goto(page.url.replace("/development/", "/production/").partition("/work")[0] + "/stores")
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("Archive").set_input_files(folder / "customers.tar")
    press(page, "Import")
    page.locator("dd").get_by_role("link", name="Customers").click()
    page.get_by_role("link", name="acme.md").click()
    assert "They drink black coffee." in page.get_by_role("region", name="Text").inner_text()


def test_an_owner_finds_corrects_erases_and_moves_what_agents_know(hub: RunningHub, tmp_path: Path) -> None:
    store = hub.call("POST", "/v1/memory_stores", {"name": "Customers"})[1]["id"]
    url = f"/v1/memory_stores/{store}/memories"
    memory = hub.call("POST", url, {"path": "/acme.md", "content": FACT})[1]["id"]
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        sign_in(page, hub)
        find_and_correct(page, lambda text: hub.call("POST", f"{url}/{memory}", {"content": text}))
        page.get_by_role("link", name="Edit", exact=True).click()
        erase(page)
        assert SECRET not in page.content()
        move(page, tmp_path)
        assert SECRET.encode() not in (tmp_path / "customers.tar").read_bytes()
        go(page, "Audit")
        said = page.locator("main table").inner_text()
        assert window.wrongs == []
    for done in (
        "Memory created",
        "Memory updated",
        "Memory version redacted",
        "Memory store frozen",
        "imported",
    ):
        assert done in said, said
