"""The pages of the people: roles change for who is looked at as shown; an invitation's link is shown once."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memoryhub import invitations, members
from memoryhub.models import Invitation, Membership
from tests.console.site import Site, add_person, sign_in
from tests.console.test_keys import promise_on
from tests.world import Tenant, unused_id

_LINK = re.compile(r"/invitations/[A-Za-z0-9_-]{43}")


@pytest.fixture
def colleague(tenant: Tenant) -> Membership:
    return Membership.objects.get(user=add_person(tenant, "viewer"))


def send(owner: Site, **typed: Any) -> Any:
    promise = promise_on(owner, "/people/invitations/new")
    form = {"promise": promise, "email": "new@example.com", "role": "viewer", **typed}
    return owner.post("/people/invitations/new", form)


def test_members_are_listed_with_role_and_the_only_owner_cannot_go(
    owner: Site, tenant: Tenant, colleague: Membership
) -> None:
    shown = owner.get("/people").content.decode()
    assert "Viewer</td>" in shown
    assert "The only owner" in shown
    mine = Membership.objects.get(user=tenant.owner).wire_id
    assert f"/people/{mine}/" not in shown
    assert f"/people/{colleague.wire_id}/role" in shown
    members.change_role(colleague.wire_id, role="owner", actor=tenant.actor)
    assert f"/people/{mine}/role" in owner.get("/people").content.decode()


def test_a_role_is_changed(owner: Site, colleague: Membership) -> None:
    url = f"/people/{colleague.wire_id}/role"
    answer = owner.post(url, {"role": "developer", "expected_role": "viewer"})
    assert answer["Location"] == f"{owner.base}/people"
    colleague.refresh_from_db()
    assert colleague.role == "developer"


def test_a_role_that_was_changed_meanwhile_is_not_overwritten_unseen(
    owner: Site, tenant: Tenant, colleague: Membership
) -> None:
    url = f"/people/{colleague.wire_id}/role"
    members.change_role(colleague.wire_id, role="reviewer", actor=tenant.actor)
    answer = owner.post(url, {"role": "developer", "expected_role": "viewer"})
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert "Somebody made this member reviewer meanwhile." in shown
    assert re.search(r'value="developer"[^>]*checked', shown), "what was chosen is kept"
    assert 'name="expected_role" value="reviewer"' in shown
    colleague.refresh_from_db()
    assert colleague.role == "reviewer"
    assert owner.post(url, {"role": "developer", "expected_role": "reviewer"}).status_code == 302


def test_the_api_takes_the_expected_role_too(tenant: Tenant, colleague: Membership) -> None:
    call = tenant.caller("admin", whole=True)
    url = f"/v1/members/{colleague.wire_id}"
    stale = call("POST", url, {"role": "developer", "expected_role": "reviewer"})
    assert (stale.status, stale.error_code) == (409, "role_changed")
    assert call("POST", url, {"role": "viewer", "expected_role": "reviewer"}).status == 200, "as wanted"
    assert call("POST", url, {"role": "developer", "expected_role": "viewer"}).body["role"] == "developer"


@pytest.mark.parametrize("role", ["", "admin"])
def test_a_role_that_does_not_exist_is_refused(owner: Site, colleague: Membership, role: str) -> None:
    answer = owner.post(f"/people/{colleague.wire_id}/role", {"role": role, "expected_role": "viewer"})
    assert answer.status_code == 400
    assert 'id="id_role_error"' in answer.content.decode()


def test_the_last_owner_is_neither_lowered_nor_removed(owner: Site, tenant: Tenant) -> None:
    mine = Membership.objects.get(user=tenant.owner)
    lowered = owner.post(f"/people/{mine.wire_id}/role", {"role": "viewer", "expected_role": "owner"})
    removed = owner.post(f"/people/{mine.wire_id}/remove")
    for answer in (lowered, removed):
        assert answer.status_code == 400
        assert "The project would have no owner left" in answer.content.decode()
    mine.refresh_from_db()
    assert mine.role == "owner"


def test_an_owner_who_lowers_their_own_role_is_led_to_what_they_may_see(
    owner: Site, tenant: Tenant, colleague: Membership
) -> None:
    members.change_role(colleague.wire_id, role="owner", actor=tenant.actor)
    mine = Membership.objects.get(user=tenant.owner).wire_id
    answer = owner.post(f"/people/{mine}/role", {"role": "developer", "expected_role": "owner"})
    assert answer["Location"] == owner.base
    assert owner.get("/people").status_code == 403


def test_removing_asks_by_name_and_ends_what_the_person_sees(
    owner: Site, tenant: Tenant, colleague: Membership
) -> None:
    theirs = sign_in(colleague.user, tenant.project)
    assert theirs.get("/stores").status_code == 200
    url = f"/people/{colleague.wire_id}/remove"
    assert "Remove <bdi>Viewer</bdi>?" in owner.get(url).content.decode()
    assert owner.post(url)["Location"] == f"{owner.base}/people"
    assert theirs.get("/stores").status_code == 404
    assert owner.post(url).status_code == 404


def test_an_owner_who_leaves_goes_home(owner: Site, tenant: Tenant, colleague: Membership) -> None:
    members.change_role(colleague.wire_id, role="owner", actor=tenant.actor)
    answer = owner.post(f"/people/{Membership.objects.get(user=tenant.owner).wire_id}/remove")
    assert answer["Location"] == "/"


def test_one_who_is_deactivated_is_signed_out(tenant: Tenant, colleague: Membership) -> None:
    theirs = sign_in(colleague.user, tenant.project)
    colleague.user.is_active = False
    colleague.user.save(update_fields=["is_active"])
    assert theirs.get("/stores")["Location"].startswith("/sign-in")


def test_an_invitation_shows_its_link_once_and_the_link_works(owner: Site, tenant: Tenant) -> None:
    answer = send(owner, email="New@Example.com", role="developer")
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    link = _LINK.findall(answer.content.decode())[0]
    assert link.encode() not in owner.get("/people/invitations").content
    assert "Open</span>" in owner.get("/people/invitations").content.decode()
    joined = Client().post(link, {"name": "New", "password": "a long enough passphrase"})
    assert joined.status_code == 302
    assert Membership.objects.get(user__email="new@example.com").role == "developer"
    shown = owner.get("/people/invitations").content.decode()
    assert "Accepted</span>" in shown
    assert "/revoke" not in shown


def test_an_invitation_that_is_sent_twice_is_made_once(owner: Site) -> None:
    form = {
        "promise": promise_on(owner, "/people/invitations/new"),
        "email": "new@example.com",
        "role": "viewer",
    }
    assert owner.post("/people/invitations/new", form).status_code == 200
    again = owner.post("/people/invitations/new", form)
    assert again.status_code == 409
    assert not _LINK.search(again.content.decode())
    assert Invitation.objects.filter(email="new@example.com").count() == 1


REFUSED = {
    "no address": ({"email": ""}, "id_email_error"),
    "no address at all": ({"email": "somebody"}, "id_email_error"),
    "one past the address": ({"email": "a" * 243 + "@example.com"}, "id_email_error"),
    "no role": ({"role": ""}, "id_role_error"),
    "an unknown role": ({"role": "admin"}, "id_role_error"),
}


@pytest.mark.parametrize(("typed", "beside"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_stands_beside_its_field(
    owner: Site, tenant: Tenant, typed: dict[str, str], beside: str
) -> None:
    answer = send(owner, **typed)
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert re.findall(r'class="problem" id="(\w+)"', shown) == [beside]
    assert f'value="{typed.get("email", "new@example.com")}"' in shown or typed.get("email") == ""
    assert not Invitation.objects.filter(project=tenant.project).exists()


def test_a_member_is_not_invited_again_and_a_full_project_says_so(
    owner: Site, tenant: Tenant, settings: Any
) -> None:
    member = send(owner, email=tenant.owner.email)
    assert member.status_code == 400
    assert "change their role instead" in member.content.decode()
    settings.MEMBERS_MAX = 1
    assert "remove one first" in send(owner).content.decode()
    settings.MEMBERS_MAX = 2
    assert send(owner).status_code == 200


def test_a_revoked_invitation_lets_nobody_join(owner: Site, tenant: Tenant) -> None:
    issued = invitations.create_invitation(email="new@example.com", role="viewer", actor=tenant.actor)
    url = f"/people/invitations/{issued.invitation.wire_id}/revoke"
    assert "Revoke the invitation of <bdi>new@example.com</bdi>?" in owner.get(url).content.decode()
    assert owner.post(url)["Location"] == f"{owner.base}/people/invitations"
    assert Client().get(f"/invitations/{issued.token}").status_code == 410
    assert owner.post(f"/people/invitations/{unused_id('inv')}/revoke").status_code == 404


def test_the_list_makes_as_many_queries_for_20_people_as_for_2(owner: Site, tenant: Tenant) -> None:
    def counts() -> list[int]:
        found = []
        for path in ("/people", "/people/invitations"):
            with CaptureQueriesContext(connection) as queries:
                assert owner.get(path).status_code == 200
            found.append(len(queries))
        return found

    def join(numbers: range) -> None:
        for number in numbers:
            issued = invitations.create_invitation(
                email=f"p{number}@example.com", role="viewer", actor=tenant.actor
            )
            invitations.accept_invitation(issued.token, name=f"P{number}", password="correct horse battery")

    join(range(1))
    few = counts()
    join(range(1, 25))
    assert counts() == few
    assert max(few) < 12
