"""What holds of every page, in a real browser."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from playwright.sync_api import Page
from pytest_django import DjangoDbBlocker

from tests.browser.chromium import EVERY_WAY, Sight, Window, open_window
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
# The rules whose answer depends on the theme and the width.
LOOKS = AXE | {
    "runOnly": {
        "type": "rule",
        "values": ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"],
    }
}
# The pages of the documentation are one template; these hold what differs: prose, wide tables, long lists.
DOCS_LOOKED_AT = {
    "docs",
    "api-reference",
    "docs-page",
    "docs-page-12",
    "docs-page-13",
    "docs-page-16",
    "docs-page-18",
}
SHIFT_MAX = 0.01
TABS_TOO_MANY = 20


@dataclass(frozen=True)
class Whole:
    addresses: list[Address]
    session: str

    def looked_at(self) -> list[Address]:
        """Those for guests first, before anybody is signed in."""
        shown = [
            one for one in self.addresses if not one.path.startswith("/docs") or one.name in DOCS_LOOKED_AT
        ]
        return sorted(shown, key=lambda one: not one.is_for_guests)


@pytest.fixture(scope="module")
def whole(live_hub: LiveHub, django_db_blocker: DjangoDbBlocker) -> Iterator[Whole]:
    with django_db_blocker.unblock():
        example = make_example(f"-{live_hub.port}")
        yield Whole(list_addresses(example), new_session(example.owner))
        connection.close()


WIDE: Sight = (1200, "light")
NARROW: Sight = (390, "dark")


@cache
def axe() -> Axe:
    return Axe()


def violations(page: Page, options: dict[str, Any] = AXE) -> list[str]:
    """axe stays in the page until another is loaded."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe().axe_script)
    found: list[dict[str, Any]] = page.evaluate(
        "async (options) => (await axe.run(options)).violations", options
    )
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


def least_shift(page: Page) -> float:
    """How far the page moved while it was drawn; of two loads when the first moved, as a busy machine may cut one in two."""
    first: float = page.evaluate("window.shifted")
    if first <= SHIFT_MAX:
        return first
    page.reload(wait_until="load")
    return min(first, page.evaluate("window.shifted"))


def turn(window: Window, sight: Sight) -> None:
    width, scheme = sight
    window.page.set_viewport_size({"width": width, "height": 900})
    window.page.emulate_media(color_scheme=scheme)


def faults_of(window: Window, rules: dict[str, Any]) -> Iterator[str]:
    """Of the page as it is seen."""
    page = window.page
    yield from violations(page, rules)
    if (headings := page.evaluate("document.querySelectorAll('h1').length")) != 1:
        yield f"{headings} headings of the first level"
    if window.is_too_wide():
        yield "is wider than the window"


# What the keyboard must reach; of radio buttons with one name, one.
_NOTE_FOCUS = """(within) => {
  const names = new Set();
  const all = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const reachable = [...document.querySelector(within).querySelectorAll(all)]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => one.type !== "radio" || !names.has(one.name) && names.add(one.name));
  window.unreached = new Set(reachable);
  window.unseen = [];
  document.activeElement.blur();
  if (within === "main") document.querySelector("main").focus({ preventScroll: true });
  addEventListener("focusin", ({ target }) => {
    window.unreached.delete(target);
    if (target.type === "radio") for (const one of window.unreached) if (one.name === target.name) window.unreached.delete(one);
    const rings = [target, target.parentElement, target.closest(".code-editor")].filter(Boolean).map(getComputedStyle);
    if (!rings.some((ring) => ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) >= 1)) window.unseen.push(target.outerHTML.slice(0, 160));
  });
  return reachable.length;
}"""


# All around <main>, but for which of its links is the page's.
_FRAME = """[...document.querySelectorAll("body a, body button, body summary")].filter((one) => !one.closest("main"))
  .map((one) => `${one.tagName} ${one.className} ${one.textContent.trim()}`).join("\\n")"""


@dataclass
class Keyboard:
    """Goes through a page by Tab. `frames`: what it has gone through around what is a page's own, which it then leaves out."""

    frames: set[str] = field(default_factory=set)

    def walk(self, page: Page) -> Iterator[str]:
        """What Tab does not reach, and what does not show that it is reached."""
        frame = page.evaluate(_FRAME)
        is_new = EVERY_WAY or frame not in self.frames
        self.frames.add(frame)
        for _ in range(page.evaluate(_NOTE_FOCUS, "body" if is_new else "main")):
            page.keyboard.down("Tab")  # held, as far as there may be something
        for _ in range(TABS_TOO_MANY):
            if not page.evaluate("window.unreached.size"):
                break
            page.keyboard.down("Tab")
        page.keyboard.up("Tab")
        unreached = page.evaluate("[...window.unreached].map((one) => one.outerHTML.slice(0, 160))")
        yield from (f"is not reached: {one}" for one in unreached)
        yield from (f"does not show the focus: {one}" for one in page.evaluate("window.unseen"))


def look(window: Window, sights: list[Sight], keyboard: Keyboard | None) -> Iterator[str]:
    """What is wrong with the page that is open: in the first of the sights all rules are asked."""
    rules = AXE
    for sight in sights:
        turn(window, sight)
        yield from (f"{sight}: {fault}" for fault in faults_of(window, rules))
        rules = LOOKS
    if keyboard is not None:
        turn(window, WIDE)
        yield from keyboard.walk(window.page)


def test_every_page_is_accessible_fits_stays_still_and_is_reached_by_the_keyboard(
    live_hub: LiveHub, whole: Whole
) -> None:
    """One walk, since most of its time is a page's load and axe: each is loaded in one sight, and then seen in the other.

    The same page for another thing is seen in one sight; `./hub soak pages` sees all in both.
    """
    keyboard = Keyboard()
    with open_window(width=1200, scheme="light") as window:
        visits = Visits(window, live_hub.url, whole.session)
        for number, address in enumerate(whole.looked_at()):
            sights = [WIDE, NARROW] if number % 2 else [NARROW, WIDE]
            if address.name[-1].isdigit() and address.name not in DOCS_LOOKED_AT and not EVERY_WAY:
                sights = sights[:1]
            for order in (sights, sights[::-1])[: 2 if EVERY_WAY else 1]:
                turn(window, order[0])
                for _, page in visits.walk([address]):
                    if (shifted := least_shift(page)) > SHIFT_MAX:
                        visits.note(address, f"moved by {shifted} while it was drawn")
                    hand = None if address.name == "api-reference" else keyboard
                    for fault in look(window, order, hand):
                        visits.note(address, fault)
    visits.require_none()
    assert len(keyboard.frames) < 20, "what is around a page is nearly always the same"


def test_a_page_that_does_all_of_it_wrong_is_seen(live_hub: LiveHub, whole: Whole) -> None:
    keyboard = Keyboard()
    with open_window(width=390, scheme="light") as window:
        visits = Visits(window, live_hub.url, whole.session)
        home = next(one for one in whole.addresses if one.name == "home")
        for _, page in visits.walk([home]):
            assert list(keyboard.walk(page)) == []
        for address, page in visits.walk([home]):
            page.evaluate("""async () => {
              const wrong = document.createElement("div");
              wrong.innerHTML = '<a href="/unseen" tabindex="-1">x</a><img src="/x.png"><b onclick="alert(1)">b</b><p>a</p>';
              wrong.style.width = "3000px";
              const link = document.createElement("a");
              link.href = "/never"; link.textContent = "never"; link.style.outline = "none";
              link.style.color = "#999"; link.style.background = "#bbb";
              const second = document.createElement("h1");
              document.querySelector("main").prepend(wrong, link, second);
              await new Promise((done) => setTimeout(done, 100));
              link.addEventListener("focus", () => wrong.remove());
            }""")
            assert page.evaluate("window.shifted") > SHIFT_MAX
            found = list(look(window, [NARROW, WIDE], keyboard))
            for fault in ("image-alt", "color-contrast", "2 headings", "is wider"):
                assert any(fault in one for one in found), fault
            assert any(one.startswith(f"{WIDE}: color-contrast") for one in found)
            assert [one for one in found if "does not show" in one and "/never" in one]
            assert len(keyboard.frames) == 1, "its links were gone through in <main> alone"
            visits.note(address, "seen")
        assert any("violation" in fault for fault in visits.found()["home"])
