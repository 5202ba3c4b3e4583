"""A visit of one page after the other, and what each did wrong."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Error, Page

from tests.browser.chromium import Window
from tests.browser.entering import enter
from tests.browser.everywhere import Address

_NOTE_SHIFTS = """window.shifted = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value; })
  .observe({ type: "layout-shift", buffered: true });"""
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Visits:
    """`faults`: by the name of the page. Pages for guests are opened without the session."""

    window: Window
    url: str
    session: str
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.window.page.context.add_init_script(_NOTE_SHIFTS)
        self.window.page.on(
            "console", lambda said: self.window.wrongs.append(said.text) if said.type == "error" else None
        )

    def walk(self, addresses: list[Address]) -> Iterator[tuple[Address, Page]]:
        """Those that are pages. A fault that the browser noted is the page's that was open."""
        page = self.window.page
        for address in sorted(addresses, key=lambda address: not address.is_for_guests):
            if not address.is_for_guests:
                enter(page, self.url, self.session)
            if self._open(address):
                page.evaluate(_PAINTED)
                yield address, page
                self.faults[address.name] += self.window.wrongs
            self.window.wrongs.clear()

    def _open(self, address: Address) -> bool:
        try:
            answer = self.window.page.goto(self.url + address.path)
        except Error as error:
            if "Download is starting" in error.message:
                return False
            raise
        assert answer is not None
        if answer.status == 405:  # answers to a form alone
            return False
        if answer.status != 200:
            self.faults[address.name].append(f"answered {answer.status} at {address.path}")
        elif address.sends and not self._send(address):
            return False
        return answer.headers.get("content-type", "").startswith("text/html")

    def _send(self, address: Address) -> bool:
        page = self.window.page
        if not page.locator(f"main [name={address.sends[0][0]}]").count():
            self.note(address, f"has no form to send at {page.url}: {page.title()}")
            return False
        for name, value in address.sends:
            page.locator(f"main [name={name}]").fill(value)
        with page.expect_navigation():
            page.locator("main form button[type=submit]").last.click()
        if address.presses is not None:
            with page.expect_navigation():
                page.get_by_role("button", name=address.presses).click()
        return True

    def note(self, address: Address, fault: str) -> None:
        self.faults[address.name].append(fault)

    def found(self) -> dict[str, list[str]]:
        return {name: faults for name, faults in self.faults.items() if faults}

    def require_none(self) -> None:
        """Raises: AssertionError with each fault on a line."""
        lines = [f"{name}: {fault}" for name, faults in self.found().items() for fault in faults]
        if lines:
            raise AssertionError("\n".join(lines))
