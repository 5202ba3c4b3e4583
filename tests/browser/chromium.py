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
SLOW = os.environ.get("MEMORYHUB_TEST_PAGES_SLOW") == "1"
SLOW_TIMES = 10
SLOW_MILLISECONDS = 800
_NOTE_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error("violation " + event.violatedDirective + " " + event.blockedURI))"""


def _until_loaded[**P](act: Callable[P, None]) -> Callable[P, None]:
    """Playwright waits until the page that an act leads to begins to come, or the first part of it that is waited for.

    What is read after it would be read of half a page, and a key be pressed that no script listens to yet.
    """

    @wraps(act)
    def act_and_wait(*args: P.args, **kwargs: P.kwargs) -> None:
        act(*args, **kwargs)
        locator = args[0]
        assert isinstance(locator, Locator)
        locator.page.wait_for_load_state()

    return act_and_wait


for _name in ("click", "press", "wait_for"):
    setattr(Locator, _name, _until_loaded(getattr(Locator, _name)))

type Sight = tuple[int, Literal["light", "dark"]]  # a window's width, and the scheme of colours


def _slow_down(page: Page) -> None:
    """As on a busy machine far from the hub: a script comes late, and runs for long."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOW_TIMES})
    devtools.send("Network.enable")
    devtools.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": SLOW_MILLISECONDS, "downloadThroughput": -1, "uploadThroughput": -1},
    )


@dataclass
class Window:
    """`wrongs`: what the browser complained of, pages that answered an error aside."""

    page: Page
    wrongs: list[str] = field(default_factory=list)

    def is_too_wide(self) -> bool:
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return wide


def copied(shown: Locator, act: Callable[[], object]) -> str:
    """What an act put on the clipboard. The page says so, in place of what is shown, and takes the word back soon."""
    shown.evaluate(
        """shown => new MutationObserver(() => { window.saidCopied ||= shown.textContent === "Copied"; })
          .observe(shown, { childList: true })"""
    )
    act()
    shown.page.wait_for_function("() => window.saidCopied")
    return str(shown.page.evaluate("navigator.clipboard.readText()"))


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
        if SLOW:
            _slow_down(window.page)
        window.page.on("pageerror", lambda error: window.wrongs.append(str(error)))
        window.page.on("dialog", lambda dialog: window.wrongs.append(f"dialog {dialog.message}"))
        window.page.on(
            "console",
            lambda said: window.wrongs.append(said.text) if "violation" in said.text.lower() else None,
        )
        yield window
        browser.close()
