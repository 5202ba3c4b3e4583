"""Each role on each page: what the table of rights says, and no link or form to what would be refused."""

from collections import defaultdict
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

import pytest
from django.urls import Resolver404, resolve

from memoryhub.operations import ROLES, Operation
from tests.authorization.snapshots import snapshot_project, undone
from tests.authorization.test_routes import CONSOLE_ROUTES, ENVIRONMENT, STORE
from tests.console.ground import Ground, is_allowed, page_routes
from tests.console.site import Site

SAMPLES_MAX = 3  # of links that differ in ids and values only
PAGES_MAX = 400
CRAWLED = ("/p/", "/account")
ANSWERED = {200, 302, 400, 405, 409}  # 400 and 409 for what a page needs and a link brings along


def open_page(site: Site, url: str) -> Any:
    answer = site.client.get(url)
    if answer.streaming:
        list(answer.streaming_content)  # which closes the file
    return answer


def test_every_page_of_an_environment_names_its_operation() -> None:
    assert page_routes().keys() == {url for url in CONSOLE_ROUTES if url.startswith(ENVIRONMENT)}


# Reached by a form alone, which the crawl does not send.
BEHIND_FORMS = {
    f"{ENVIRONMENT}/redactions/new": "from what a search in the history found",
    f"{STORE}/redact": "from what a search in the history of a store found",
}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_opens_the_pages_that_the_table_allows(ground: Ground, role: str) -> None:
    site, wrong = ground.sign_in(role), {}
    for route, operation in page_routes().items():
        status = open_page(site, ground.url(route)).status_code
        if status not in (ANSWERED if is_allowed(role, operation) else {403}):
            wrong[route] = status
    assert wrong == {}


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
def test_what_a_role_may_not_do_is_refused_and_changes_nothing(ground: Ground, role: str) -> None:
    site = ground.sign_in(role)
    before, wrong = snapshot_project(ground.plot.tenant.project), {}
    for route, operation in page_routes().items():
        if not is_allowed(role, operation):
            status = site.client.post(ground.url(route), {"name": "x"}).status_code
            if status != 403:
                wrong[route] = status
    assert wrong == {}
    assert snapshot_project(ground.plot.tenant.project) == before


def test_a_page_that_forgets_its_right_is_found(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.pages.require_right", lambda place, operation: None)
    site = ground.sign_in("viewer")
    with undone():
        statuses = {
            open_page(site, ground.url(route)).status_code
            for route, operation in page_routes().items()
            if not is_allowed("viewer", operation)
        }
    assert 403 not in statuses


@dataclass
class Found(HTMLParser):
    """The links of a page, and its forms: [(method, action)]."""

    links: list[str] = field(default_factory=list)
    forms: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag == "form":
            self.forms.append((str(given.get("method", "get")).lower(), str(given.get("action", ""))))
        if tag == "button" and given.get("formaction"):
            self.forms.append(("post", str(given["formaction"])))


def read(answer: Any, url: str) -> Found:
    found = Found()
    if answer["Content-Type"].startswith("text/html"):
        found.feed(answer.content.decode())
    found.links = [urldefrag(urljoin(url, link)).url for link in found.links]  # a place on a page is no page
    found.forms = [(method, urljoin(url, action) if action else url) for method, action in found.forms]
    return found


def operation_of(url: str) -> Operation | None:
    """None: a page that asks for none. Raises: Resolver404."""
    operation: Operation | None = getattr(resolve(urlsplit(url).path).func, "hub_page", None)
    return operation


def crawl(site: Site, role: str) -> tuple[set[str], list[str]]:
    """From the overview along every link: (the kinds of pages seen, what would be refused)."""
    waiting, seen, sampled, wrong = [site.base, "/account"], set(), defaultdict(int), []
    while waiting and len(seen) < PAGES_MAX:
        url = waiting.pop()
        path = urlsplit(url).path
        try:
            kind = (resolve(path).route, tuple(sorted(name for name, _ in parse_qsl(urlsplit(url).query))))
        except Resolver404:
            wrong.append(f"{url} leads nowhere")
            continue
        if url in seen or sampled[kind] >= SAMPLES_MAX:
            continue
        seen.add(url)
        sampled[kind] += 1
        answer = open_page(site, url)
        if answer.status_code not in (200, 302):
            wrong.append(f"{url}: {answer.status_code}")
        if answer.status_code != 200 or answer.streaming:
            continue
        found = read(answer, url)
        waiting += [link for link in found.links if urlsplit(link).path.startswith(CRAWLED)]
        for _, action in found.forms:
            sampled[(resolve(urlsplit(action).path).route, ("form",))] += 1
            operation = operation_of(action)
            if operation is not None and not is_allowed(role, operation):
                wrong.append(f"{url} has a form to {action}")
    assert not waiting or len(seen) < PAGES_MAX, "raise PAGES_MAX"
    return {route for route, _ in sampled}, wrong


@pytest.mark.parametrize("role", ROLES)
def test_no_page_leads_to_what_would_be_refused_and_links_lead_to_every_other(
    ground: Ground, role: str
) -> None:
    site = ground.sign_in(role)
    kinds, wrong = crawl(site, role)
    assert wrong == []
    reached = {"/" + kind.replace("<str:", "{").replace(">", "}") for kind in kinds}
    allowed = {route for route, operation in page_routes().items() if is_allowed(role, operation)}
    unreached = {
        route for route in allowed - reached if open_page(site, ground.url(route)).status_code == 200
    }
    assert unreached <= BEHIND_FORMS.keys(), "nobody finds these"


def test_a_link_that_would_be_refused_is_found(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryhub.pages.Place.may", lambda place, operation: True)
    _, wrong = crawl(ground.sign_in("viewer"), "viewer")
    assert any("/stores/new: 403" in one for one in wrong)
    assert any("has a form to" in one for one in wrong)
