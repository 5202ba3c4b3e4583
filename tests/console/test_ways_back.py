"""Every page says where it stands and leads back from there; a list of nothing says what it is for."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.browser.everywhere import Address, list_addresses
from tests.browser.example import Example, make_example
from tests.console.site import sign_in
from tests.world import Tenant

_CRUMBS = re.compile(r'<nav class="breadcrumbs"[^>]*>(.*?)</nav>', re.DOTALL)
_NAVIGATION = re.compile(r'<nav class="side"[^>]*>(.*?)</nav>', re.DOTALL)
_CRUMB = re.compile(r"<li[^>]*>(.*?)</li>", re.DOTALL)
_LINK = re.compile(r'<a href="([^"]+)"')
_CANCEL = re.compile(r'<a class="button quiet" href="([^"]+)"')
_EMPTY_LIST = re.compile(r"<tbody>\s*</tbody>|<ol class=\"timeline\">\s*</ol>")


@pytest.fixture
def example(db: None) -> Example:
    return make_example("-ways")


def ask(client: Client, path: str) -> Any:
    answer: Any = client.get(path)
    if answer.streaming:
        b"".join(answer.streaming_content)  # which closes its file
    return answer


def pages_of_the_environment(example: Example, client: Client) -> dict[Address, str]:
    found = {}
    for address in list_addresses(example):
        if address.path.startswith(example.base) and not address.sends:
            answer = ask(client, address.path)
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                found[address] = answer.content.decode()
    assert len(found) > 20
    return found


def test_the_navigation_marks_where_every_page_stands(example: Example) -> None:
    client = Client()
    client.force_login(example.owner)
    marks = {
        address.name: _NAVIGATION.findall(shown)[0].partition("</details>")[2].count("aria-current=")
        for address, shown in pages_of_the_environment(example, client).items()
    }
    assert {name: count for name, count in marks.items() if count != 1} == {}


def test_breadcrumbs_and_cancels_lead_to_pages_above(example: Example) -> None:
    client = Client()
    client.force_login(example.owner)
    wrong: list[str] = []
    known: dict[str, int] = {}
    for address, shown in pages_of_the_environment(example, client).items():
        crumbs = _CRUMB.findall(_CRUMBS.findall(shown)[0])
        links = [link for crumb in crumbs for link in _LINK.findall(crumb)]
        if not links or links[0] != example.base:
            wrong.append(f"{address.name} does not begin at the environment")
        if 'aria-current="page"' not in _CRUMBS.findall(shown)[0]:
            wrong.append(f"{address.name} does not say where it stands")
        for link in {*links, *_CANCEL.findall(shown)}:
            path = link.replace("&amp;", "&")
            if path not in known:
                known[path] = ask(client, path).status_code if path.startswith("/") else 200
            if known[path] != 200 and not path.endswith("/raw"):
                wrong.append(f"{address.name} leads to {path}: {known[path]}")
    assert wrong == []


def test_a_list_of_nothing_says_what_it_is_for(tenant: Tenant) -> None:
    site = sign_in(tenant.owner, tenant.project)
    for path in ("/stores", "/redactions"):
        shown = site.get(path).content.decode()
        assert 'class="empty"' in shown, path
    for room in re.findall(r'<li><a href="([^"]+)"', site.get().content.decode()):
        if room.startswith(site.base):
            shown = site.client.get(room).content.decode()
            assert not _EMPTY_LIST.search(shown), room
