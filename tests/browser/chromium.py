"""A real browser: Chromium from the PATH. It notes whatever a page does against its security policy."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
_NOTE_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error("violation " + event.violatedDirective + " " + event.blockedURI))"""


@dataclass
class Window:
    """`wrongs`: what the browser complained of, pages that answered an error aside."""

    page: Page
    wrongs: list[str] = field(default_factory=list)

    def is_too_wide(self) -> bool:
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return wide


def find_chromium() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, f"These tests need a Chromium on the PATH, by one of the names {', '.join(NAMES)}."
    return found


@contextmanager
def open_window(*, width: int, scheme: Literal["light", "dark"], script: bool = True) -> Iterator[Window]:
    """Inside, nothing may ask the database: the browser's loop runs in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script(_NOTE_VIOLATIONS)
        window = Window(context.new_page())
        window.page.on("pageerror", lambda error: window.wrongs.append(str(error)))
        window.page.on("dialog", lambda dialog: window.wrongs.append(f"dialog {dialog.message}"))
        window.page.on(
            "console",
            lambda said: window.wrongs.append(said.text) if "violation" in said.text.lower() else None,
        )
        yield window
        browser.close()
