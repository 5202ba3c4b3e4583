import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub import accounts, invitations, projects, throttles
from memoryhub.models import AuditEvent, BrowserSession, Membership, SignInLink
from tests.world import Caller, Tenant, unused_id

PASSWORD = "a long enough passphrase"


def owner_call(tenant: Tenant) -> Caller:
    return tenant.caller("admin", whole=True)


def invite(tenant: Tenant, email: str = "new@example.com", role: str = "viewer") -> dict[str, Any]:
    answer = owner_call(tenant)("POST", "/v1/invitations", {"email": email, "role": role})
    assert answer.status == 200, answer.body
    return dict(answer.body)


def token_of(invitation: dict[str, Any]) -> str:
    return str(invitation["url"].rpartition("/")[2])


def test_an_invitation_becomes_a_member_with_its_role(tenant: Tenant) -> None:
    invitation = invite(tenant, "New@Example.com", "reviewer")
    page = Client().post(f"/invitations/{token_of(invitation)}", {"name": "New", "password": PASSWORD})
    assert (page.status_code, page["Location"]) == (302, "/")
    listed = owner_call(tenant)("GET", "/v1/members").body["data"]
    assert [(member["email"], member["role"]) for member in listed][-1] == ("new@example.com", "reviewer")
    assert AuditEvent.objects.filter(project=tenant.project, action="member.joined").count() == 1


def test_an_invitation_works_once(tenant: Tenant) -> None:
    token = token_of(invite(tenant))
    assert Client().post(f"/invitations/{token}", {"name": "New", "password": PASSWORD}).status_code == 302
    assert Client().get(f"/invitations/{token}").status_code == 410


def test_a_revoked_invitation_is_gone(tenant: Tenant) -> None:
    invitation = invite(tenant)
    revoked = owner_call(tenant)("POST", f"/v1/invitations/{invitation['id']}/revoke")
    assert revoked.body["revoked_at"] is not None
    assert Client().get(f"/invitations/{token_of(invitation)}").status_code == 410
    assert owner_call(tenant)("POST", f"/v1/invitations/{unused_id('inv')}/revoke").status == 404


def test_a_weak_password_is_refused_beside_its_field(tenant: Tenant) -> None:
    page = Client().post(f"/invitations/{token_of(invite(tenant))}", {"name": "New", "password": "short"})
    assert page.status_code == 400 and "too short" in page.content.decode()
    assert Membership.objects.filter(project=tenant.project).count() == 1


def test_members_are_counted_when_they_join(tenant: Tenant, settings: Any) -> None:
    first, second = invite(tenant, "one@example.com"), invite(tenant, "two@example.com")
    settings.MEMBERS_MAX = 2
    invitations.accept_invitation(token_of(first), name="One", password=PASSWORD)
    full = Client().post(f"/invitations/{token_of(second)}", {"name": "Two", "password": PASSWORD})
    assert full.status_code == 400 and "remove one first" in full.content.decode()
    assert Membership.objects.filter(project=tenant.project).count() == 2


def test_a_member_who_accepts_again_keeps_their_role(tenant: Tenant) -> None:
    first, second = invite(tenant, role="reviewer"), invite(tenant, role="owner")
    for invitation in (first, second):
        invitations.accept_invitation(token_of(invitation), name="New", password=PASSWORD)
    assert [member.role for member in Membership.objects.filter(user__email="new@example.com")] == [
        "reviewer"
    ]
    assert AuditEvent.objects.filter(project=tenant.project, action="member.joined").count() == 1


def test_tries_of_a_password_count_together_wherever_they_are_made(tenant: Tenant) -> None:
    projects.create_operator(email="tried@example.com", name="Tried", password=PASSWORD)
    url = f"/invitations/{token_of(invite(tenant, 'tried@example.com'))}"
    pages = [Client().post(url, {"name": "x", "password": f"wrong guess {n}"}) for n in range(23)]
    # Also where the day ends in between: more than twice ten.
    assert any("Too many requests" in page.content.decode() for page in pages)
    # both in one minute, or the count began anew between them
    after = Client().post("/sign-in", {"email": "tried@example.com", "password": PASSWORD}).content.decode()
    assert "Too many requests" in after or after == ""


def test_somebody_with_an_account_joins_with_their_own_password(tenant: Tenant) -> None:
    projects.create_operator(email="known@example.com", name="Known", password=PASSWORD)
    token = token_of(invite(tenant, "known@example.com"))
    wrong = Client().post(f"/invitations/{token}", {"name": "Known", "password": PASSWORD + "!"})
    assert wrong.status_code == 400
    assert Client().post(f"/invitations/{token}", {"name": "Known", "password": PASSWORD}).status_code == 302


def test_a_member_cannot_be_invited_again(tenant: Tenant) -> None:
    answer = owner_call(tenant)("POST", "/v1/invitations", {"email": tenant.owner.email, "role": "viewer"})
    assert (answer.status, answer.error_code) == (409, "member_exists")


def test_the_last_owner_stays(tenant: Tenant) -> None:
    owner = owner_call(tenant)("GET", "/v1/members").body["data"][0]
    assert owner_call(tenant)("POST", f"/v1/members/{owner['id']}", {"role": "viewer"}).status == 400
    assert owner_call(tenant)("DELETE", f"/v1/members/{owner['id']}").status == 400


def test_roles_change_and_members_leave(tenant: Tenant) -> None:
    invitations.accept_invitation(token_of(invite(tenant)), name="New", password=PASSWORD)
    member = owner_call(tenant)("GET", "/v1/members").body["data"][-1]
    changed = owner_call(tenant)("POST", f"/v1/members/{member['id']}", {"role": "owner"})
    assert changed.body["role"] == "owner"
    assert owner_call(tenant)("DELETE", f"/v1/members/{member['id']}").body["type"] == "member_removed"
    assert owner_call(tenant)("DELETE", f"/v1/members/{member['id']}").status == 404


def test_people_are_managed_with_a_key_of_the_whole_project(tenant: Tenant) -> None:
    refused = tenant.call()("GET", "/v1/members")
    assert (refused.status, refused.error_code) == (403, "environment_credential")


def test_signing_in_gives_the_session_a_new_key_and_leads_back(tenant: Tenant) -> None:
    client = Client()
    client.get("/sign-in")
    body = {"email": tenant.owner.email, "password": "correct horse battery", "next": "/account/password"}
    page = client.post("/sign-in", body)
    assert (page.status_code, page["Location"]) == (302, "/account/password")
    cookie = page.cookies["memoryhub_session"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax"
    assert client.get("/").status_code == 200


def test_a_wrong_password_and_an_unknown_address_answer_alike(tenant: Tenant) -> None:
    def page(email: str) -> str:
        answer = Client().post("/sign-in", {"email": email, "password": "not the password"})
        assert answer.status_code == 400
        text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", answer.content.decode())
        return text.replace(email, "")

    known = page(tenant.owner.email)
    assert "do not belong together" in known and known == page("nobody@example.com")


def test_sign_in_is_throttled_per_address(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttles, "WINDOW_SECONDS", 86_400)  # no minute ends in between
    body = {"email": "throttled@example.com", "password": "not the password"}
    pages = [Client().post("/sign-in", body) for _ in range(23)]
    # Also where the day ends in between: more than twice ten.
    assert any("Too many requests" in page.content.decode() for page in pages)


def test_next_never_leads_away() -> None:
    for wanted in (
        "//evil.example",
        "/\\evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "https://evil.example",
    ):
        shown = Client().get("/sign-in", {"next": wanted}).content.decode()
        assert "evil.example" not in shown and "javascript:" not in shown


def test_a_changed_password_ends_the_other_sessions(tenant: Tenant) -> None:
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        client.post("/sign-in", {"email": tenant.owner.email, "password": "correct horse battery"})
    wrong = here.post("/account/password", {"current": "nope", "new": PASSWORD})
    assert wrong.status_code == 400 and "not your password" in wrong.content.decode()
    assert (
        here.post("/account/password", {"current": "correct horse battery", "new": PASSWORD}).status_code
        == 302
    )
    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302
    assert AuditEvent.objects.filter(project=tenant.project, action="user.password_changed").count() == 1


def test_signing_out_ends_the_session(tenant: Tenant) -> None:
    client = Client()
    client.post("/sign-in", {"email": tenant.owner.email, "password": "correct horse battery"})
    old_cookie = client.cookies["memoryhub_session"].value
    assert client.post("/sign-out").status_code == 302
    client.cookies["memoryhub_session"] = old_cookie
    assert client.get("/").status_code == 302


def test_a_sign_in_link_works_once_and_looking_does_not_use_it(tenant: Tenant) -> None:
    token = accounts.create_sign_in_link(tenant.owner.id)
    assert token not in str(SignInLink.objects.values())
    client = Client()
    assert client.get(f"/sign-in/{token}").status_code == 200
    assert client.get(f"/sign-in/{token}").status_code == 200
    assert client.post(f"/sign-in/{token}").status_code == 302
    assert client.get("/").status_code == 200
    assert Client().post(f"/sign-in/{token}").status_code == 410


def test_what_lets_nobody_in_any_more_is_cleared(tenant: Tenant) -> None:
    client = Client()
    client.post(f"/sign-in/{accounts.create_sign_in_link(tenant.owner.id)}")
    accounts.create_sign_in_link(tenant.owner.id)
    SignInLink.objects.filter(used_at__isnull=False).update(expires_at=timezone.now() - timedelta(seconds=1))
    accounts.clear_expired()
    assert SignInLink.objects.filter(user=tenant.owner).count() == 1
    assert client.get("/").status_code == 200
    BrowserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert accounts.clear_expired() >= 1
    assert BrowserSession.objects.count() == 0


def test_a_sign_in_link_lets_one_choose_a_forgotten_password_once(tenant: Tenant) -> None:
    client = Client()
    client.post(f"/sign-in/{accounts.create_sign_in_link(tenant.owner.id)}")
    assert "Current password" not in client.get("/account/password").content.decode()
    assert client.post("/account/password", {"new": PASSWORD}).status_code == 302
    assert "Current password" in client.get("/account/password").content.decode()
    assert client.post("/account/password", {"new": PASSWORD + "!"}).status_code == 400
    signed_in = Client().post("/sign-in", {"email": tenant.owner.email, "password": PASSWORD})
    assert signed_in.status_code == 302


def test_forms_need_their_token(tenant: Tenant) -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.post("/sign-in", {"email": tenant.owner.email, "password": "correct horse battery"})
    assert page.status_code == 403
    assert "memoryhub_session" not in page.cookies


def test_the_api_reads_no_cookie(tenant: Tenant) -> None:
    client = Client()
    client.post("/sign-in", {"email": tenant.owner.email, "password": "correct horse battery"})
    assert client.get("/v1/memory_stores").status_code == 401
