"""What holds of every page, in a real browser."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from playwright.sync_api import Page
from pytest_django import DjangoDbBlocker

from tests.browser.chromium import open_window
from tests.browser.entering import new_session
from tests.browser.everywhere import Address, list_addresses
from tests.browser.example import make_example
from tests.browser.visits import Visits
from tests.live import LiveHub

AXE = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
    "preload": False,
}
# The pages of the documentation are one template; these hold what differs: prose, wide tables, long lists.
DOCS_LOOKED_AT = {"docs", "api-reference", "docs-page", "docs-page-12", "docs-page-13", "docs-page-17"}
SHIFT_MAX = 0.01
TABS_TOO_MANY = 20


@dataclass(frozen=True)
class Whole:
    addresses: list[Address]
    session: str

    def looked_at(self) -> list[Address]:
        return [
            one for one in self.addresses if not one.path.startswith("/docs") or one.name in DOCS_LOOKED_AT
        ]


@pytest.fixture(scope="module")
def whole(live_hub: LiveHub, django_db_blocker: DjangoDbBlocker) -> Iterator[Whole]:
    with django_db_blocker.unblock():
        example = make_example(f"-{live_hub.port}")
        yield Whole(list_addresses(example), new_session(example.owner))
        connection.close()


@cache
def axe() -> Axe:
    return Axe()


def violations(page: Page) -> list[str]:
    found: list[dict[str, Any]] = axe().run(page, options=AXE).response["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


def least_shift(page: Page) -> float:
    """How far the page moved while it was drawn; of two loads when the first moved, as a busy machine may cut one in two."""
    first: float = page.evaluate("window.shifted")
    if first <= SHIFT_MAX:
        return first
    page.reload(wait_until="load")
    return min(first, page.evaluate("window.shifted"))


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_every_page_is_accessible_fits_and_stays_still(
    live_hub: LiveHub, whole: Whole, width: int, scheme: Literal["light", "dark"]
) -> None:
    with open_window(width=width, scheme=scheme) as window:
        visits = Visits(window, live_hub.url, whole.session)
        for address, page in visits.walk(whole.looked_at()):
            for violation in violations(page):
                visits.note(address, violation)
            if page.locator("h1").count() != 1:
                visits.note(address, f"{page.locator('h1').count()} headings of the first level")
            if window.is_too_wide():
                visits.note(address, "is wider than the window")
            if (shifted := least_shift(page)) > SHIFT_MAX:
                visits.note(address, f"moved by {shifted} while it was drawn")
    visits.require_none()


# What the keyboard must reach; of radio buttons with one name, one.
_NOTE_FOCUS = """() => {
  const names = new Set();
  const reachable = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]")]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => one.type !== "radio" || !names.has(one.name) && names.add(one.name));
  window.unreached = new Set(reachable);
  window.unseen = [];
  addEventListener("focusin", ({ target }) => {
    window.unreached.delete(target);
    if (target.type === "radio") for (const one of window.unreached) if (one.name === target.name) window.unreached.delete(one);
    const rings = [target, target.parentElement, target.closest(".code-editor")].filter(Boolean).map(getComputedStyle);
    if (!rings.some((ring) => ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) >= 1)) window.unseen.push(target.outerHTML.slice(0, 160));
  });
  document.activeElement.blur();
  return reachable.length;
}"""


def walk_by_tab(page: Page) -> Iterator[str]:
    """What Tab does not reach, and what does not show that it is reached."""
    for _ in range(page.evaluate(_NOTE_FOCUS) + TABS_TOO_MANY):
        page.keyboard.press("Tab")
        if not page.evaluate("window.unreached.size"):
            break
    unreached = page.evaluate("[...window.unreached].map((one) => one.outerHTML.slice(0, 160))")
    yield from (f"is not reached: {one}" for one in unreached)
    yield from (f"does not show the focus: {one}" for one in page.evaluate("window.unseen"))


def test_the_keyboard_reaches_everything_and_shows_where_it_is(live_hub: LiveHub, whole: Whole) -> None:
    with open_window(width=1200, scheme="light") as window:
        visits = Visits(window, live_hub.url, whole.session)
        for address, page in visits.walk([one for one in whole.looked_at() if one.name != "api-reference"]):
            for fault in walk_by_tab(page):
                visits.note(address, fault)
    visits.require_none()


def test_a_page_that_does_all_of_it_wrong_is_seen(live_hub: LiveHub, whole: Whole) -> None:
    with open_window(width=390, scheme="light") as window:
        visits = Visits(window, live_hub.url, whole.session)
        home = next(one for one in whole.addresses if one.name == "home")
        for address, page in visits.walk([home]):
            page.evaluate("""async () => {
              const wrong = document.createElement("div");
              wrong.innerHTML = '<a href="/unseen" tabindex="-1">x</a><img src="/x.png"><b onclick="alert(1)">b</b><p>a</p>';
              wrong.style.width = "3000px";
              const link = document.createElement("a");
              link.href = "/never"; link.textContent = "never"; link.style.outline = "none";
              document.querySelector("main").prepend(wrong, link);
              await new Promise((done) => setTimeout(done, 100));
              link.addEventListener("focus", () => wrong.remove());
            }""")
            assert window.is_too_wide()
            assert page.evaluate("window.shifted") > SHIFT_MAX
            assert any(one.startswith("image-alt") for one in violations(page))
            assert [fault for fault in walk_by_tab(page) if "does not show" in fault and "/never" in fault]
            visits.note(address, "seen")
        assert any("violation" in fault for fault in visits.found()["home"])
