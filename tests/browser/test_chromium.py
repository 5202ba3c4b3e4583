"""What is read after a click is read of the whole page that it led to."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.chromium import open_window


class Slow(BaseHTTPRequestHandler):
    """A link on `/`; behind it a page whose end comes late."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if self.path == "/":
            self.wfile.write(b"<!doctype html><title>First</title><a href=/late>Late</a>")
            return
        self.wfile.write(b"<!doctype html><title>Late</title><h1>Begun</h1>")
        self.wfile.flush()
        time.sleep(0.7)
        self.wfile.write(b"<p class=end>The end.</p>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("by_keyboard", [False, True])
def test_who_follows_a_link_has_the_whole_page(origin: str, by_keyboard: bool) -> None:
    with open_window(width=800, scheme="light") as window:
        window.page.goto(origin)
        link = window.page.get_by_role("link", name="Late")
        link.press("Enter") if by_keyboard else link.click()
        assert window.page.locator(".end").all_inner_texts() == ["The end."]
