"""A session that ended, a person who was removed: no page that is asked for after the answer is shown."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from memoryhub import accounts, invitations, members
from memoryhub.models import Membership, User
from tests.browsers import SESSION_COOKIE, Browser
from tests.live import LiveHub
from tests.world import Tenant

READERS = 4
PAGES_BEFORE = 5
PAGES_AFTER = 10
PASSWORD, NEW_PASSWORD = "a long enough passphrase", "another long passphrase"


@pytest.fixture
def member(live_tenant: Tenant) -> User:
    issued = invitations.create_invitation(
        email=f"member-{live_tenant.project.name}@example.com", role="developer", actor=live_tenant.actor
    )
    user = invitations.accept_invitation(issued.token, name="Member", password=PASSWORD)
    user.password = Argon2PasswordHasher().encode(PASSWORD, "a salt of the test")  # what the hub reads
    user.save(update_fields=["password"])
    return user


@pytest.fixture
def browser(live: LiveHub, member: User) -> Browser:
    browser = Browser(live.port)
    browser.sign_in_by_link(accounts.create_sign_in_link(member.id))
    return browser


@contextmanager
def reading(browser: Browser, is_shown: Callable[[Browser], bool]) -> Iterator[None]:
    """Several ask for pages while the body runs. What began after its end must not be shown; what began before was."""
    ended, under_way = threading.Event(), threading.Semaphore(0)
    seen: list[tuple[bool, bool]] = []  # (began after, was shown)

    def read() -> None:
        mine, after = browser.copy(), 0
        while after < PAGES_AFTER:
            is_after = ended.is_set()
            seen.append((is_after, is_shown(mine)))
            after += is_after
            under_way.release()

    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(read) for _ in range(READERS)]
        for _ in range(READERS * PAGES_BEFORE):
            assert under_way.acquire(timeout=30)
        try:
            yield
        finally:
            ended.set()
        for reader in readers:
            reader.result(60)
    assert sum(shown for is_after, shown in seen if not is_after) >= READERS * PAGES_BEFORE
    assert [shown for is_after, shown in seen if is_after] == [False] * (READERS * PAGES_AFTER)


def test_a_removed_member_sees_the_project_no_more(
    live: LiveHub, live_tenant: Tenant, member: User, browser: Browser
) -> None:
    membership = Membership.objects.get(user=member)
    owner = live.caller(live_tenant.new_key("admin", whole=True))
    with reading(browser, lambda mine: live_tenant.project.wire_id.encode() in mine.get("/").content):
        assert owner("DELETE", f"/v1/members/{membership.wire_id}").status == 200
    assert browser.is_signed_in()  # the account stays


def test_a_changed_role_is_the_role_from_the_answer_on(
    live_tenant: Tenant, member: User, browser: Browser
) -> None:
    membership = Membership.objects.get(user=member)
    with reading(browser, lambda mine: b"You are a developer here." in mine.get("/").content):
        members.change_role(membership.wire_id, role="viewer", actor=live_tenant.actor)
    assert b"You are a viewer here." in browser.get("/").content


def test_signing_out_ends_the_session_for_whoever_has_its_cookie(browser: Browser) -> None:
    with reading(browser, Browser.is_signed_in):
        assert browser.copy().post("/sign-out", page="/").status == 302


def test_a_changed_password_ends_every_other_session(browser: Browser, member: User, live: LiveHub) -> None:
    here = Browser(live.port)
    here.sign_in_by_link(accounts.create_sign_in_link(member.id))
    before = here.cookies[SESSION_COOKIE]
    with reading(browser, Browser.is_signed_in):
        form = {"current": PASSWORD, "new": NEW_PASSWORD}
        assert here.post("/account/password", form).status == 302
    assert here.is_signed_in()
    assert not Browser(live.port, {SESSION_COOKIE: before}).is_signed_in()
