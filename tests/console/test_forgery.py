"""No other site can act with a person's session: every changing request to the console needs the token of a form."""

import re
from typing import Any

from django.test import Client

from memoryhub import ids
from memoryhub.models import User
from tests.authorization.snapshots import snapshot_everything, undone
from tests.authorization.test_routes import CONSOLE_ROUTES, OPEN_ROUTES, routes
from tests.console.ground import Ground, page_routes
from tests.world import unused_id

METHODS = ("POST", "PUT", "PATCH", "DELETE")
PROBED = {"/healthz", "/readyz", "/metrics", "/openapi.yaml"}  # they take no cookie and change nothing
APIS = ("/v1/", "/oc-memory/")
ELSEWHERE = {
    "session_key": "0" * 40,
    "token": "unknown",
    "name": "settings",
    "member_id": unused_id(ids.MEMBERSHIP),
}
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
REFUSED = b"The form is no longer valid"


def signed_in(user: User) -> tuple[Client, str]:
    """A browser with the token of a form that it was shown."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    token = _TOKEN.search(client.get("/account").content.decode())
    assert token
    return client, token[1]


def urls(ground: Ground) -> list[str]:
    """Every URL of the console, from the list of its URLs."""
    listed = {url for url in CONSOLE_ROUTES | OPEN_ROUTES.keys() if not url.startswith(APIS)} - PROBED
    others = listed - page_routes().keys()
    return [ground.url(route) for route in page_routes()] + [route.format(**ELSEWHERE) for route in others]


def attack(client: Client, method: str, url: str, **sent: Any) -> Any:
    form = {"name": "Mine", "role": "owner", **sent.pop("form", {})}
    if method == "POST":
        return client.post(url, form, **sent)
    return client.generic(method, url, "name=Mine", "application/x-www-form-urlencoded", **sent)


def test_without_a_token_with_a_foreign_one_or_from_another_site_nothing_is_done(ground: Ground) -> None:
    owner = ground.plot.tenant.owner
    client, own = signed_in(owner)
    _, foreign = signed_in(owner)  # the same person, in another browser
    attempts: dict[str, dict[str, Any]] = {
        "no token": {},
        "a foreign token": {"form": {"csrfmiddlewaretoken": foreign}, "headers": {"X-CSRFToken": foreign}},
        "another site": {
            "form": {"csrfmiddlewaretoken": own},
            "headers": {"X-CSRFToken": own, "Origin": "https://evil.example"},
        },
    }
    before, let_in = snapshot_everything(), []
    for url in urls(ground):
        tries = [*(("POST", sent) for sent in attempts.values()), ("DELETE", {})]
        for method, sent in tries:
            answer = attack(client, method, url, **sent)
            if answer.status_code != 403 or REFUSED not in answer.content:
                let_in.append((method, url, sent, answer.status_code))
    assert let_in == []
    assert snapshot_everything() == before


def test_a_page_without_an_origin_of_its_own_is_another_site(ground: Ground) -> None:
    client, own = signed_in(ground.plot.tenant.owner)
    answer = attack(client, "POST", "/account", headers={"X-CSRFToken": own, "Origin": "null"})
    assert answer.status_code == 403


def test_the_same_requests_with_their_own_token_are_not_refused_for_it(ground: Ground) -> None:
    client, own = signed_in(ground.plot.tenant.owner)
    for url in urls(ground):
        if url != "/sign-out":
            with undone():
                answer = attack(
                    client, "POST", url, headers={"X-CSRFToken": own, "Origin": "http://testserver"}
                )
            assert REFUSED not in answer.content, url


def test_the_api_takes_no_session(ground: Ground) -> None:
    client, own = signed_in(ground.plot.tenant.owner)
    before = snapshot_everything()
    for url, _ in routes():
        if url.startswith(APIS):
            filled = re.sub(r"{\w+}", "x", url)
            for method in ("GET", *METHODS):
                answer = client.generic(
                    method, filled, "{}", "application/json", headers={"X-CSRFToken": own}
                )
                refused = {401} if url.startswith("/v1/") or method == "POST" else {401, 405}
                assert answer.status_code in refused, (method, url)
    assert snapshot_everything() == before
