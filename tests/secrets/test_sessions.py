"""A session ends when it should, although the database does not know its cookie."""

from datetime import timedelta

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.test import Client
from django.utils import timezone

from memoryhub import accounts
from memoryhub.models import BrowserSession
from memoryhub.session_store import SessionStore, stored_key
from tests.browsers import SESSION_COOKIE
from tests.world import Tenant

PASSWORD = "correct horse battery"


def sign_in(tenant: Tenant) -> Client:
    client = Client()
    answer = client.post("/sign-in", {"email": tenant.owner.email, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def cookie_of(client: Client) -> str:
    return str(client.cookies[SESSION_COOKIE].value)


def is_let_in(cookie: str) -> bool:
    client = Client()
    client.cookies[SESSION_COOKIE] = cookie
    return bool(client.get("/").status_code == 200)


def test_a_cookie_that_was_there_before_signing_in_is_worth_nothing_after(tenant: Tenant) -> None:
    store = SessionStore()
    store["seen"] = 1
    store.create()
    client = Client()
    client.cookies[SESSION_COOKIE] = str(store.session_key)
    client.post("/sign-in", {"email": tenant.owner.email, "password": PASSWORD})
    assert cookie_of(client) != store.session_key
    assert is_let_in(cookie_of(client)) and not is_let_in(str(store.session_key))
    assert list(BrowserSession.objects.values_list("session_key", flat=True)) == [
        stored_key(cookie_of(client))
    ]


def test_a_changed_password_gives_a_new_cookie_and_ends_every_other(tenant: Tenant) -> None:
    here, elsewhere = sign_in(tenant), sign_in(tenant)
    old, other = cookie_of(here), cookie_of(elsewhere)
    form = {"current": PASSWORD, "new": "another horse battery"}
    assert here.post("/account/password", form).status_code == 302
    assert cookie_of(here) != old
    assert [is_let_in(cookie) for cookie in (cookie_of(here), old, other)] == [True, False, False]


def test_an_expired_session_is_over_and_is_cleared_alone(tenant: Tenant) -> None:
    expired, lasting = sign_in(tenant), sign_in(tenant)
    of_expired = BrowserSession.objects.filter(session_key=stored_key(cookie_of(expired)))
    assert of_expired.update(expire_date=timezone.now() - timedelta(seconds=1)) == 1
    assert not is_let_in(cookie_of(expired)) and is_let_in(cookie_of(lasting))
    accounts.clear_expired()
    assert list(BrowserSession.objects.values_list("session_key", flat=True)) == [
        stored_key(cookie_of(lasting))
    ]


def test_a_page_that_was_under_way_does_not_bring_an_ended_session_back(tenant: Tenant) -> None:
    client = sign_in(tenant)
    under_way = SessionStore(cookie_of(client))
    assert under_way["_auth_user_id"] == str(tenant.owner.id)
    client.post("/sign-out")
    under_way["message"] = "late"
    with pytest.raises(UpdateError):
        under_way.save()
    assert not is_let_in(str(under_way.session_key)) and BrowserSession.objects.count() == 0


def test_a_cookie_of_the_visitors_own_making_becomes_no_session(tenant: Tenant) -> None:
    client = Client()
    client.cookies[SESSION_COOKIE] = "a" * 32
    client.post("/sign-in", {"email": tenant.owner.email, "password": PASSWORD})
    assert cookie_of(client) != "a" * 32 and not is_let_in("a" * 32)
