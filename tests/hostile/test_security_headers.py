"""X2: every answer carries the security headers, whoever asks for what and however it ends."""

import re
from typing import Any

import pytest
from django.test import Client

from memoryhub import middleware
from tests.authorization.test_routes import routes
from tests.hostile.test_headers import BAD_REQUESTS, request
from tests.hostile.test_sizes import exchange
from tests.live import LiveHub
from tests.world import Tenant

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
WANTED = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_NONCE = re.compile(r" 'nonce-[A-Za-z0-9_-]{22}'")


def missing(answer: Any) -> dict[str, str]:
    """What differs from what is wanted. A page with the editor has a nonce for styles, a download is in a sandbox."""
    found = {name: _NONCE.sub("", answer.headers.get(name, "none")) for name in WANTED}
    if answer.headers.get("Content-Disposition", "").startswith("attachment"):
        assert found.pop("Content-Security-Policy") == "sandbox"
    return {name: value for name, value in found.items() if value != WANTED[name]}


@pytest.mark.parametrize("who", ["a stranger", "a person", "a key"])
def test_every_route_and_method_answers_with_them(tenant: Tenant, who: str) -> None:
    client = Client(raise_request_exception=False)
    if who == "a person":
        client.force_login(tenant.owner)
    headers = {"Authorization": f"Bearer {tenant.key}"} if who == "a key" else {}
    wrong: dict[str, dict[str, str]] = {}
    statuses: set[int] = set()
    for url, _ in routes():
        path = re.sub(
            r"\{\w+\}",
            "x",
            url.replace("{project_id}/{environment}", f"{tenant.project.wire_id}/development"),
        )
        for method in METHODS:
            answer = client.generic(method, path, headers=headers)
            statuses.add(answer.status_code)
            if lacking := missing(answer):
                wrong[f"{method} {url}"] = lacking
    assert wrong == {}
    assert {200, 404, 405} <= statuses


def test_what_no_route_answers_has_them_too(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.force_login(tenant.owner)
    style = re.findall(r'href="(/static/css/tokens[^"]+)"', client.get("/").content.decode())[0]
    answers = {
        "a static file": (client.get(style), 200),
        "no such static file": (client.get("/static/none.css"), 404),
        "no such page": (client.get("/none"), 404),
        "no such document": (client.get("/docs/none"), 404),
        "an unknown host": (client.get("/", headers={"host": "evil.example"}), 400),
        "a form without a token": (client.post("/sign-out"), 403),
        "a body that is too large": (client.post("/v1/memory_stores", "x" * 1_100_000, content_type="text/plain", headers={"Authorization": f"Bearer {tenant.key}"}), 413),
        "a way to sign in": (Client().get("/"), 302),
    }  # fmt: skip
    monkeypatch.setattr(middleware.HostMiddleware, "__call__", _break)
    answers["a bug"] = (Client(raise_request_exception=False).get("/"), 500)
    for answer, _ in answers.values():
        answer.close()
    assert {name: answer.status_code for name, (answer, _) in answers.items()} == {
        name: status for name, (_, status) in answers.items()
    }
    assert {name: lacking for name, (answer, _) in answers.items() if (lacking := missing(answer))} == {}


def _break(self: object, request: object) -> None:
    raise RuntimeError("a bug")


def test_what_cannot_be_read_as_a_request_has_them_too(live: LiveHub, live_tenant: Tenant) -> None:
    for name in (
        "a NUL in a value",
        "2,000 headers",
        "two lengths",
        "a line without a colon",
        "an unknown transfer encoding",
    ):
        parts = dict(BAD_REQUESTS[name])
        body = parts.pop("body", b"")
        received = exchange(live, request(live_tenant, *parts.pop("more", []), **parts), body)  # type: ignore[arg-type, misc]
        head = received.partition(b"\r\n\r\n")[0].decode()
        assert all(f"{header}: {value}" in head for header, value in WANTED.items()), (name, head)


def test_over_tls_browsers_are_told_to_stay_there(settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    assert Client().get("/sign-in", secure=True)["Strict-Transport-Security"] == "max-age=31536000"
