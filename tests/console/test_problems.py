"""What a person sees when something goes wrong: a page of the console that says what to do, with every header."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client
from django.test.utils import override_settings

from memoryhub import pages
from tests.authorization.test_routes import CONSOLE_ROUTES, OPEN_ROUTES
from tests.console.site import Site, words_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def broken(*args: Any, **options: Any) -> Any:
    raise RuntimeError("a bug")


def database_gone(*args: Any, **options: Any) -> Any:
    raise OperationalError("gone")


def provoke(name: str, site: Site) -> Any:
    client = site.client
    client.raise_request_exception = False
    match name:
        case "404 below a project":
            return site.get("/nowhere")
        case "404 for anybody":
            return Client().get("/nowhere/at/all")
        case "403":
            return site.get("/keys")
        case "403 of a form":
            strict = Client(enforce_csrf_checks=True)
            return strict.post("/sign-in", {"email": "x"})
        case "405":
            return client.get("/sign-out")
        case "413":
            return client.post("/account", {"name": "n" * 1_100_000})
        case "400":
            return site.get("/stores", page="page_nonsense")
        case "400 of the host":
            return client.get("/", headers={"Host": "evil.example"})
        case "500":
            with patch.object(pages, "list_memberships", broken):
                return site.get()
        case "503":
            with patch("django.contrib.auth.middleware.get_user", database_gone):
                return site.get()
    raise AssertionError(name)


PROBLEMS = {
    "404 below a project": "There is no such page",
    "404 for anybody": "There is no such page",
    "403": "an owner of the project can",
    "403 of a form": "go back, reload the page and send it again",
    "405": "use the buttons of the page you came from",
    "413": "what you typed is still there",
    "400": "try it again from the page you came from",
    "400 of the host": "does not answer for",
    "500": "give the request id to whoever runs the hub",
    "503": "it is not known whether a change was saved",
}


@pytest.mark.parametrize(("name", "says"), PROBLEMS.items(), ids=PROBLEMS)
def test_a_problem_is_a_page_that_says_what_to_do(viewer: Site, name: str, says: str) -> None:
    answer = provoke(name, viewer)
    shown = answer.content.decode()
    assert answer.status_code == int(name[:3])
    assert shown.count("<h1") == 1
    assert says in " ".join(shown.split())
    assert answer["request-id"] in shown
    assert "evil.example" not in shown and "a bug" not in shown
    assert "gone" not in words_of(answer)
    assert {header: answer.get(header) for header in HEADERS} == HEADERS
    assert name != "405" or answer["Allow"] == "POST"


def test_the_page_of_a_failed_database_asks_it_nothing(viewer: Site) -> None:
    answer = provoke("503", viewer)
    assert "Not possible at the moment" in answer.content.decode()
    assert "Sign in" not in answer.content.decode(), "it is not known who asks"


def policy_of(answer: Any) -> str:
    """With the nonce of a page that has an editor left out."""
    parts = str(answer.get("Content-Security-Policy")).split(" 'nonce-")
    return parts[0] + (parts[1].partition("'")[2] if len(parts) == 2 else "")


@pytest.mark.parametrize("url", sorted(CONSOLE_ROUTES | OPEN_ROUTES.keys()))
def test_every_answer_has_the_headers(db: None, url: str) -> None:
    filled = url.replace("{name}", "settings").replace("{", "").replace("}", "")
    for method in ("get", "post"):
        answer = getattr(Client(enforce_csrf_checks=True), method)(filled)
        found = {header: answer.get(header) for header in HEADERS}
        assert found | {"Content-Security-Policy": policy_of(answer)} == HEADERS, (method, url)


@pytest.mark.parametrize("url", ["/v1/memory_stores", "/v1/nowhere", "/static/icon.svg", "/static/nowhere"])
def test_the_api_and_the_files_have_them_too(db: None, url: str) -> None:
    answer = Client().get(url)
    if answer.streaming:
        list(answer.streaming_content)  # which closes the file
    assert {header: answer.get(header) for header in HEADERS} == HEADERS


def test_behind_tls_a_browser_is_told_to_stay_there(db: None) -> None:
    with override_settings(SECURE_HSTS_SECONDS=31_536_000):
        assert Client().get("/sign-in", secure=True)["Strict-Transport-Security"] == "max-age=31536000"
