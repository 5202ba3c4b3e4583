"""A real browser: Chromium. It notes whatever a page does against its security policy."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL_SECONDS_MAX = 240
# No sandbox where the tests run as root, and no calls home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What holds of every page, of each in every way: takes several times as long. `./hub soak pages` does it.
EVERY_WAY = os.environ.get("MEMORYHUB_TEST_PAGES") == "all"
_NOTE_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error("violation " + event.violatedDirective + " " + event.blockedURI))"""


def _until_loaded[**P](act: Callable[P, None]) -> Callable[P, None]:
    """Playwright waits until the page that an act leads to begins to come; what is read after it would be read of half a page."""

    @wraps(act)
    def act_and_wait(*args: P.args, **kwargs: P.kwargs) -> None:
        act(*args, **kwargs)
        locator = args[0]
        assert isinstance(locator, Locator)
        locator.page.wait_for_load_state()

    return act_and_wait


for _name in ("click", "press"):
    setattr(Locator, _name, _until_loaded(getattr(Locator, _name)))

type Sight = tuple[int, Literal["light", "dark"]]  # a window's width, and the scheme of colours


@dataclass
class Window:
    """`wrongs`: what the browser complained of, pages that answered an error aside."""

    page: Page
    wrongs: list[str] = field(default_factory=list)

    def is_too_wide(self) -> bool:
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return wide


def in_ways(first: Sight, second: Sight) -> pytest.MarkDecorator:
    """Walk (width, scheme, script): in one sight with scripts and in the other without, or in both with and without."""
    ways = [(*first, True), (*second, False)]
    if EVERY_WAY:
        ways += [(*first, False), (*second, True)]
    return pytest.mark.parametrize(("width", "scheme", "script"), ways)


@cache
def find_chromium() -> str:
    """The path in MEMORYHUB_CHROMIUM, one from the PATH, or Debian's, installed where that may be done."""
    found = os.environ.get("MEMORYHUB_CHROMIUM") or _on_path()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        found = _on_path()
    assert found, (
        f"These tests need a Chromium: install one, or name it by MEMORYHUB_CHROMIUM ({', '.join(NAMES)})."
    )
    return found


def _on_path() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _install() -> None:
    """One worker of a run installs, the others wait for it."""
    with (Path(tempfile.gettempdir()) / "memoryhub-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _on_path() is None:
            quiet: dict[str, Any] = {
                "stdout": subprocess.DEVNULL,
                "timeout": INSTALL_SECONDS_MAX,
                "check": False,
            }
            subprocess.run(["apt-get", "update", "-qq"], **quiet)
            subprocess.run(
                ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], **quiet
            )


@contextmanager
def open_window(*, width: int, scheme: Literal["light", "dark"], script: bool = True) -> Iterator[Window]:
    """Inside, nothing may ask the database: the browser's loop runs in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
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
