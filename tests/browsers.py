"""A person's browser on a real hub: it keeps cookies and sends forms with their token. Imports nothing of Django."""

import re
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from tests.answers import Answer
from tests.live import ANSWER_SECONDS_MAX

SESSION_COOKIE = "memoryhub_session"
_FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Browser:
    """A connection for each request, so that several threads may use one browser; redirects are not followed."""

    def __init__(self, port: int, cookies: dict[str, str] | None = None) -> None:
        self.port = port
        self.cookies = cookies or {}

    def get(self, path: str) -> Answer:
        return self._send("GET", path, None)

    def post(self, path: str, form: dict[str, str] | None = None, *, page: str | None = None) -> Answer:
        """Send the form that the page at `path` shows, or at `page`."""
        token = _FORM_TOKEN.search(self.get(page or path).content.decode())
        assert token is not None, f"{page or path} shows no form"
        return self._send("POST", path, {**(form or {}), "csrfmiddlewaretoken": token[1]})

    def sign_in_by_link(self, token: str) -> None:
        assert self.post(f"/sign-in/{token}").status == 302

    def is_signed_in(self) -> bool:
        return self.get("/").status == 200

    def copy(self) -> "Browser":
        """Another with the same cookies: what one of them is told, the other does not hear."""
        return Browser(self.port, dict(self.cookies))

    def _send(self, method: str, path: str, form: dict[str, str] | None) -> Answer:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request(method, path, urlencode(form or {}), headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        for line in response.headers.get_all("set-cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return Answer(
            response.status, {name.lower(): value for name, value in response.getheaders()}, content
        )
