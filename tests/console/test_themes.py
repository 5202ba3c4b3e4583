"""The theme is the person's, kept in a cookie and written into the page by the hub."""

import pytest
from django.test import Client

from memoryhub.themes import THEME_COOKIE
from tests.console.site import Site


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chosen_theme_is_in_the_next_page(owner: Site, theme: str) -> None:
    answer = owner.client.post("/account/theme", {"theme": theme})
    assert answer.status_code == 302
    cookie = answer.cookies[THEME_COOKIE]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    shown = owner.get().content.decode()
    assert f'<html lang="en" data-theme="{theme}">' in shown
    assert f'<meta name="color-scheme" content="{theme}">' in shown
    assert f'value="{theme}" class="quiet" aria-pressed="true"' in shown


@pytest.mark.parametrize("theme", ["system", "", "purple", '"><script>'])
def test_what_is_no_choice_leaves_it_to_the_system(owner: Site, theme: str) -> None:
    owner.client.post("/account/theme", {"theme": "dark"})
    owner.client.post("/account/theme", {"theme": theme})
    assert b'data-theme="system"' in owner.get().content


def test_a_cookie_that_was_written_by_hand_is_not_believed(owner: Site) -> None:
    owner.client.cookies[THEME_COOKIE] = '"><script>alert(1)</script>'
    shown = owner.get().content
    assert b'data-theme="system"' in shown
    assert b"<script>alert" not in shown


WHERE_FROM = {
    "http://testserver/docs?page=2": "/docs?page=2",
    "http://evil.example/docs": "/",
    "http://testserver//evil.example/": "/",
    "http://testserver/\\evil.example": "/",
    "javascript:alert(1)": "/",
    "http://[": "/",
    "": "/",
}


@pytest.mark.parametrize(("referer", "leads"), WHERE_FROM.items())
def test_the_choice_leads_back_to_a_page_of_this_hub(owner: Site, referer: str, leads: str) -> None:
    answer = owner.client.post("/account/theme", {"theme": "dark"}, headers={"referer": referer})
    assert answer["Location"] == leads


def test_a_choice_without_the_forms_token_is_refused(owner: Site) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = owner.client.cookies
    answer = client.post("/account/theme", {"theme": "dark"})
    assert answer.status_code == 403
    assert THEME_COOKIE not in answer.cookies
