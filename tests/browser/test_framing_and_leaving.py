"""X5: another site can neither frame the hub nor make its links lead away."""

import http.server
import threading
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from django.test import Client

from tests.browser.chromium import open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.world import Tenant


class _Framer(http.server.BaseHTTPRequestHandler):
    """A page of another site that shows the hub in a frame: the path names the page."""

    def do_GET(self) -> None:
        body = f'<!doctype html><title>frame</title><iframe src="{self.path[1:]}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def framer() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Framer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_framed_page_is_blank(live: LiveHub, live_tenant: Tenant, framer: str) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        for path in ("/", "/sign-in", f"/p/{live_tenant.project.wire_id}/development", "/docs", "/none"):
            page.goto(f"{framer}/{live.url}{path}")
            framed = page.frames[1]
            assert live.url not in framed.url, path
            assert "MemoryHub" not in framed.content(), path


LEADING_AWAY = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example", "https://evil.example/",
    "http:///evil.example", "javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "/\t/evil.example", "\t//evil.example",
    "/\n/evil.example", "//evil.example@127.0.0.1", "http://127.0.0.1@evil.example", "%2f%2fevil.example", "/%0a/evil.example", "evil.example",
    "/sign-in?next=//evil.example", "//", "/..//evil.example",
]  # fmt: skip


@pytest.mark.parametrize("wanted", LEADING_AWAY)
def test_signing_in_leads_to_a_page_of_the_hub(tenant: Tenant, wanted: str) -> None:
    form = {"email": tenant.owner.email, "password": "correct horse battery", "next": wanted}
    answers = [
        Client().post("/sign-in", form),
        Client().post(f"/sign-in?next={quote(wanted)}", {name: form[name] for name in ("email", "password")}),
    ]
    signed_in = Client()
    signed_in.force_login(tenant.owner)
    answers.append(signed_in.get("/sign-in", {"next": wanted}))
    for answer in answers:
        leads = answer["Location"]
        assert answer.status_code == 302
        assert leads.startswith("/") and not leads.startswith(("//", "/\\")), leads
        assert (urlsplit(leads).scheme, urlsplit(leads).netloc) == ("", "")
        assert not any(letter in leads for letter in "\t\r\n\\")


def test_a_browser_that_is_led_stays_on_the_hub(live: LiveHub, live_tenant: Tenant) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        for wanted in LEADING_AWAY:
            page.goto(f"{live.url}/sign-in?next={quote(wanted)}")
            assert page.url.startswith(f"{live.url}/"), wanted
