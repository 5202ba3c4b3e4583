"""The own account: name, password, and the browsers that are signed in."""

import re
from datetime import timedelta
from unittest.mock import patch

import pytest
import time_machine
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.utils import timezone

from memoryhub.browsers import describe_browser
from memoryhub.models import AuditEvent, BrowserSession
from memoryhub.passwords import PASSWORD_TRIES_PER_MINUTE_MAX
from memoryhub.session_store import stored_key
from tests.console.site import add_person
from tests.world import Tenant

PASSWORD = "correct horse battery"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile/15E148 Safari/604.1"
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


def sign_in(tenant: Tenant, user_agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    answer = client.post("/sign-in", {"email": tenant.owner.email, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def key_of(client: Client) -> str:
    return stored_key(client.cookies["memoryhub_session"].value)


def test_the_account_shows_who_one_is_and_where(tenant: Tenant) -> None:
    shown = sign_in(tenant).get("/account").content.decode()
    for text in (tenant.owner.email, tenant.project.name, "Owner", "Firefox on Linux", "This one"):
        assert text in shown
    assert "Sign out everywhere else" not in shown


def test_the_name_is_changed_and_noted_without_the_name(tenant: Tenant) -> None:
    client = sign_in(tenant)
    assert client.post("/account", {"name": "Ann <b>"})["Location"] == "/account"
    tenant.owner.refresh_from_db()
    assert tenant.owner.name == "Ann <b>"
    assert b"<b>" not in client.get("/account").content
    event = AuditEvent.objects.get(action="user.renamed", project=tenant.project)
    assert (event.subject_id, event.details) == (tenant.owner.wire_id, {})
    client.post("/account", {"name": "Ann <b>"})
    assert AuditEvent.objects.filter(action="user.renamed").count() == 1


@pytest.mark.parametrize(("name", "status"), [("", 400), ("  ", 400), ("n" * 255, 302), ("n" * 256, 400)])
def test_a_name_has_1_to_255_letters(tenant: Tenant, name: str, status: int) -> None:
    answer = sign_in(tenant).post("/account", {"name": name})
    assert answer.status_code == status
    assert status == 302 or 'id="id_name_error"' in answer.content.decode()


def test_one_session_is_ended_and_the_others_stay(tenant: Tenant) -> None:
    here, phone, office = sign_in(tenant), sign_in(tenant, PHONE), sign_in(tenant, CHROME)
    shown = here.get("/account").content.decode()
    assert "Safari on an iPhone" in shown
    assert "Chrome on Windows" in shown
    assert f"/account/sessions/{key_of(here)}/end" not in shown
    assert here.post(f"/account/sessions/{key_of(phone)}/end")["Location"] == "/account"
    assert [client.get("/").status_code for client in (here, phone, office)] == [200, 302, 200]


def test_every_other_session_is_ended_at_once(tenant: Tenant) -> None:
    here, *others = [sign_in(tenant) for _ in range(3)]
    answer = here.post("/account/sessions/end-others", follow=True)
    assert "Signed out of 2 other browsers." in answer.content.decode()
    assert [client.get("/").status_code for client in (here, *others)] == [200, 302, 302]


def test_nobody_ends_anothers_session(tenant: Tenant) -> None:
    mine = sign_in(tenant)
    other = Client()
    other.force_login(add_person(tenant, "owner"))
    other.post(f"/account/sessions/{key_of(mine)}/end")
    other.post("/account/sessions/end-others")
    assert mine.get("/").status_code == 200
    assert other.get("/").status_code == 200
    assert key_of(mine) not in other.get("/account").content.decode()


def test_a_session_notes_its_last_use_at_most_each_minute_and_keeps_no_address(
    tenant: Tenant, ids_come_back: None
) -> None:
    client = sign_in(tenant)
    row = BrowserSession.objects.get(user=tenant.owner)
    assert row.browser == "Firefox on Linux"
    assert row.signed_in_at is not None
    columns = {field.name for field in BrowserSession._meta.fields}
    assert columns == {
        "session_key", "session_data", "expire_date", "user", "browser", "signed_in_at", "last_used_at",
    }  # fmt: skip
    for seconds, is_noted in ((59, False), (61, True)):
        with time_machine.travel(row.last_used_at + timedelta(seconds=seconds), tick=False):
            client.get("/account")
            noted = BrowserSession.objects.get(user=tenant.owner).last_used_at
            assert (noted == timezone.now()) == is_noted


def test_a_changed_password_ends_the_others_and_begins_this_one_anew(tenant: Tenant) -> None:
    here, other = sign_in(tenant), sign_in(tenant)
    before = key_of(here)
    form = {"current": PASSWORD, "new": "another horse battery"}
    assert here.post("/account/password", form)["Location"] == "/account"
    assert list(BrowserSession.objects.filter(user=tenant.owner).values_list("session_key", flat=True)) == [
        key_of(here)
    ]
    assert key_of(here) != before
    assert "Firefox on Linux" in here.get("/account").content.decode()
    assert other.get("/").status_code == 302


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Safari on an iPhone"),
        (CHROME, "Chrome on Windows"),
        (CHROME + " Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140 Mobile Safari/537", "Chrome on Android"),
        ("curl/8.0", "A browser"),
        ("<script>alert(1)</script>", "A browser"),
        ("", "A browser"),
    ],
)
def test_a_browser_is_said_in_words(user_agent: str, words: str) -> None:
    assert describe_browser(user_agent) == words


def test_after_ten_wrong_passwords_even_the_right_one_waits(tenant: Tenant, ids_come_back: None) -> None:
    moment = timezone.now().replace(second=1, microsecond=500_000)
    with time_machine.travel(moment, tick=False) as clock:

        def answer(password: str) -> str:
            return str(Client().post("/sign-in", {"email": tenant.owner.email, "password": password}).content)

        wrong = [answer("not the password") for _ in range(PASSWORD_TRIES_PER_MINUTE_MAX)]
        assert all("do not belong together" in page for page in wrong)
        assert PASSWORD_TRIES_PER_MINUTE_MAX == 10
        waits = answer(PASSWORD)
        seconds = re.search(r"try again in (\d+) s", waits)
        assert seconds
        assert int(seconds[1]) == 59
        clock.shift(58)
        assert "try again in 1 s" in answer(PASSWORD)
        clock.shift(1)
        assert sign_in(tenant).get("/").status_code == 200


def test_an_unknown_address_costs_as_much_as_a_wrong_password(tenant: Tenant) -> None:
    """Counted in the work that takes the time, the hashing of passwords: measured times tell more of the machine."""

    def hashed(email: str) -> int:
        with patch.object(
            MD5PasswordHasher, "encode", autospec=True, side_effect=MD5PasswordHasher.encode
        ) as encode:
            Client().post("/sign-in", {"email": email, "password": "not the password"})
        return int(encode.call_count)

    inactive = add_person(tenant, "viewer")
    inactive.is_active = False
    inactive.save(update_fields=["is_active"])
    no_password = add_person(tenant, "reviewer")
    no_password.set_unusable_password()
    no_password.save(update_fields=["password"])
    addresses = [tenant.owner.email, "nobody@example.com", inactive.email, no_password.email]
    assert [hashed(address) for address in addresses] == [1, 1, 1, 1]
