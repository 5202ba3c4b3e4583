"""The pages of reviewed memory: what their forms carry, what they refuse, and what they show of each state."""

import json
from typing import Any

import pytest

from authority import host_calls, host_runs, spaces
from authority.graph import make_record
from authority.models import Authority, HostCall, Nomination, Space
from authority.review_pages import BLOCKER_WORDS
from authority.reviews import REJECTED_AT_ONCE_MAX
from memoryhub import ids
from memoryhub.rooms import WAITING_COUNTED_MAX
from tests.browser.example_reviews import REVIEWED, Desk
from tests.console.site import Site, add_person, form_of, sign_in
from tests.world import Tenant


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs beside these tests."""
    monkeypatch.setattr("authority.review_pages.WAIT_SECONDS", 0)


@pytest.fixture
def desk(tenant: Tenant) -> Desk:
    made = Desk("pages", tenant.actor)
    made.note(("fact:opening-hours", "8 to 18"), ("fact:gate", "Gate 3"))
    return made


@pytest.fixture
def reviewer(tenant: Tenant) -> Site:
    return sign_in(add_person(tenant, "reviewer"), tenant.project, "production")


def url_of(desk: Desk, sha256: str) -> str:
    return f"/review/{desk.authority.wire_id}/{sha256}"


def state_of(desk: Desk, sha256: str) -> str:
    state: str = Nomination.objects.get(authority_id=desk.authority.id, nomination_sha256=sha256).state
    return state


def adopt(site: Site, desk: Desk, sha256: str, **more: Any) -> Any:
    form = form_of(site.get(url_of(desk, sha256)))
    return site.client.post(site.base + url_of(desk, sha256) + "/adopt", {"head": form["head"], **more})


def tick() -> str:
    text = {"text": REVIEWED["fact:opening-hours"]}
    return f"fact:opening-hours {make_record('fact:opening-hours', 'fact', text, []).sha256}"


def test_the_form_carries_the_head_and_the_digest_that_were_shown(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:opening-hours")
    shown = reviewer.get(url_of(desk, sha256)).content.decode()
    assert f'value="{tick()}"' in shown
    answer = adopt(reviewer, desk, sha256, replace=tick(), note="Seen.\r\nTwice.")
    assert (answer.status_code, answer["Location"].endswith(url_of(desk, sha256))) == (302, True)
    call = HostCall.objects.get(authority_id=desk.authority.id)
    request = json.loads(call.request)
    assert request["expectedCanonicalHead"] == desk.pin
    assert [one["key"] for one in request["replacements"]] == ["fact:opening-hours"]
    waiting = reviewer.get(url_of(desk, sha256)).content.decode()
    assert "Host call 1 waits in line" in waiting
    assert "Adopt the nomination" not in waiting
    progress = f"/authorities/{desk.authority.wire_id}/calls/{call.wire_id}/progress"
    assert (
        "hx-get"
        in reviewer.client.get(reviewer.base + progress, headers={"HX-Request": "true"}).content.decode()
    )
    desk.run(call)
    assert (
        reviewer.client.get(reviewer.base + progress, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    )
    assert "Receipt of call 1" in reviewer.get(url_of(desk, sha256)).content.decode()
    assert Nomination.objects.get(authority_id=desk.authority.id).note == "Seen.\nTwice."


def test_a_replacement_that_is_not_ticked_is_not_sent(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:opening-hours")
    answer = adopt(reviewer, desk, sha256)
    assert answer.status_code == 400
    assert "Tick every record that would be replaced" in answer.content.decode()
    assert not HostCall.objects.filter(authority_id=desk.authority.id).exists()


def test_a_stale_head_is_sent_as_it_was_shown_and_meets_a_conflict(reviewer: Site, desk: Desk) -> None:
    sha256, seen = desk.nominate("fact:opening-hours"), json.dumps(desk.pin)
    desk.adopt(desk.nominate("fact:gate"))
    url = reviewer.base + url_of(desk, sha256) + "/adopt"
    assert reviewer.client.post(url, {"head": seen, "replace": tick()}).status_code == 302
    desk.run(HostCall.objects.get(authority_id=desk.authority.id, state="queued"))
    shown = reviewer.get(url_of(desk, sha256)).content.decode()
    assert "The last adoption met a conflict" in shown
    assert "compute it once more" in shown


@pytest.mark.parametrize("form", [{}, {"head": "{"}, {"head": "{}"}, {"head": "-0"}])
def test_a_form_without_a_head_is_refused(reviewer: Site, desk: Desk, form: dict[str, str]) -> None:
    sha256 = desk.nominate("fact:gate")
    assert reviewer.post(url_of(desk, sha256) + "/adopt", form).status_code == 400
    assert reviewer.post(f"/authorities/{desk.authority.wire_id}/advance", form).status_code == 400
    assert state_of(desk, sha256) == "pending"


@pytest.mark.parametrize("ticked", ["x", "fact:gate", "fact:gate ffff", " " + "f" * 64])
def test_a_tick_of_another_form_is_refused(reviewer: Site, desk: Desk, ticked: str) -> None:
    sha256 = desk.nominate("fact:gate")
    assert adopt(reviewer, desk, sha256, replace=ticked).status_code == 400


def test_what_was_decided_meanwhile_is_told(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:gate")
    head = form_of(reviewer.get(url_of(desk, sha256)))["head"]
    desk.adopt(sha256)
    answer = reviewer.client.post(
        reviewer.base + url_of(desk, sha256) + "/adopt", {"head": head}, follow=True
    )
    # The pin went on with the adoption, so the form's head is an old one; the state is what refuses.
    assert "It was decided before: adopted." in answer.content.decode()
    told = reviewer.client.post(reviewer.base + url_of(desk, sha256) + "/reject", {"note": ""}, follow=True)
    assert "It was decided before: adopted." in told.content.decode()


def test_what_blocks_is_said_in_words(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:gate")
    spaces.purge_space(desk.working.wire_id, expected_sequence=1, actor=desk.actor)
    shown = reviewer.get(url_of(desk, sha256)).content.decode()
    assert BLOCKER_WORDS["space_purged"] in shown
    assert "Adopt the nomination" not in shown


def test_the_pin_is_advanced_from_the_nomination(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:gate")
    desk.commit(("fact:crane", "6 tons"))
    shown = reviewer.get(url_of(desk, sha256))
    assert "Advance to 2" in shown.content.decode()
    form = form_of(shown)
    answer = reviewer.post(f"/authorities/{desk.authority.wire_id}/advance", form)
    assert answer["Location"].endswith(url_of(desk, sha256))
    desk.run(HostCall.objects.get(authority_id=desk.authority.id))
    assert desk.pin == Space.objects.get(id=desk.canonical.id).head.as_wire()


def test_an_unknown_outcome_is_sent_again(reviewer: Site, desk: Desk) -> None:
    sha256 = desk.nominate("fact:gate")
    adopt(reviewer, desk, sha256)
    call = HostCall.objects.select_related("authority").get(authority_id=desk.authority.id)
    HostCall.objects.filter(id=call.id).update(state="running")
    host_runs._end(call, state="failed", error=host_runs.UNKNOWN)
    assert "send its request again" in reviewer.get().content.decode()
    assert "The outcome is unknown" in reviewer.get(url_of(desk, sha256)).content.decode()
    base = f"/authorities/{desk.authority.wire_id}/calls/{call.wire_id}"
    assert "The outcome is unknown" in reviewer.get(base).content.decode()
    answer = reviewer.post(f"{base}/resend", {"nomination": "yes"})
    assert answer["Location"].endswith(url_of(desk, sha256))
    desk.run(HostCall.objects.get(authority_id=desk.authority.id, ordinal=2))
    assert state_of(desk, sha256) == "adopted"
    assert "send its request again" not in reviewer.get().content.decode()


def test_several_are_rejected_with_a_result_for_each(reviewer: Site, desk: Desk) -> None:
    first, second = desk.nominate("fact:gate"), desk.nominate("fact:opening-hours")
    chosen = [f"{desk.authority.wire_id} {sha256}" for sha256 in (first, second)]
    url = f"{reviewer.base}/review/reject"
    asked = reviewer.client.post(url, {"nomination": chosen})
    assert "Reject 2 nominations?" in asked.content.decode()
    assert state_of(desk, first) == "pending"
    desk.adopt(first)
    told = reviewer.client.post(
        url, {"nomination": chosen, "confirmed": "yes", "note": "No."}
    ).content.decode()
    assert (told.count("Left as it was"), told.count(">Rejected</span>")) == (1, 1)
    assert [state_of(desk, one) for one in (first, second)] == ["adopted", "rejected"]


@pytest.mark.parametrize(
    ("count", "status"), [(0, 400), (REJECTED_AT_ONCE_MAX, 200), (REJECTED_AT_ONCE_MAX + 1, 400)]
)
def test_as_many_are_rejected_at_once_as_may(reviewer: Site, desk: Desk, count: int, status: int) -> None:
    chosen = [f"{desk.authority.wire_id} {number:064x}" for number in range(count)]
    sent = {"nomination": chosen, "confirmed": "yes", "note": ""}
    assert reviewer.client.post(f"{reviewer.base}/review/reject", sent).status_code == status


@pytest.mark.parametrize(
    "query", [{"state": "maybe"}, {"authority": "x"}, {"route": "a\0"}, {"page": "page_x"}]
)
def test_a_filter_that_there_is_not_is_refused(reviewer: Site, query: dict[str, str]) -> None:
    assert reviewer.get("/review", **query).status_code == 400


def test_the_count_in_the_navigation_ends_at_99(reviewer: Site, desk: Desk) -> None:
    assert "waits" not in sign_in_elsewhere(reviewer)
    desk.nominate("fact:gate")
    assert '<span class="waits">1<' in reviewer.get().content.decode()
    row = Nomination.objects.get(authority_id=desk.authority.id)
    for number in range(1, WAITING_COUNTED_MAX):
        row.pk, row.nomination_sha256 = None, f"{number:064x}"
        row.id = ids.new_id()
        row.save(force_insert=True)
        if number == WAITING_COUNTED_MAX - 2:
            assert '<span class="waits">99<' in reviewer.get().content.decode()
    assert '<span class="waits">99+<' in reviewer.get().content.decode()


def sign_in_elsewhere(site: Site) -> str:
    """The overview of the other environment, where nothing waits."""
    answer = site.client.get(site.base.replace("/production", "/development"))
    shown: str = answer.content.decode()
    return shown


def test_a_space_and_an_authority_are_made_by_forms(tenant: Tenant) -> None:
    owner = sign_in(tenant.owner, tenant.project, "production")
    assert "Make them first" in owner.get("/create-authority").content.decode()
    for kind in ("canonical", "working"):
        form = {
            "space_id": f"acme.{kind}",
            "realm_id": "tenant:acme",
            "profile_kind": kind,
            "authority_id": f"acme.{kind}",
        }
        assert owner.post("/create-space", form).status_code == 302
    again = owner.post("/create-space", form)
    assert again.status_code == 400
    assert "bound to a different realm or profile" in again.content.decode()
    chosen = {one.profile_kind: one.wire_id for one in Space.objects.filter(project=tenant.project)}
    options = {**chosen, "actor_id": "agent", "adoption_actor_id": "reviewer", "routes": "review kb.review"}
    for wrong in (
        {"routes": "review"},
        {"routes": "Review kb.review"},
        {"actor_id": "No code"},
        {"canonical": ""},
    ):
        assert owner.post("/create-authority", options | wrong).status_code == 400, wrong
    answer = owner.post("/create-authority", options)
    made = Authority.objects.get(project=tenant.project)
    assert answer["Location"].endswith(f"/authorities/{made.wire_id}")
    assert "Nothing was reviewed yet." in owner.get(f"/authorities/{made.wire_id}").content.decode()


def test_a_call_that_waits_is_withdrawn(tenant: Tenant, desk: Desk) -> None:
    owner = sign_in(tenant.owner, tenant.project, "production")
    value = {"expectedHead": desk.pin, "nextHead": desk.pin, "v": 1}
    call = host_calls.submit_advance(desk.authority.wire_id, value, actor=tenant.actor)
    url = f"/authorities/{desk.authority.wire_id}/calls/{call.wire_id}"
    assert f'action="{owner.base}{url}/withdraw"' in owner.get(url).content.decode()
    assert owner.post(f"{url}/withdraw").status_code == 302
    assert "Withdrawn" in owner.get(url).content.decode()
    assert owner.post(f"{url}/withdraw").status_code == 409


def test_a_receipt_is_downloaded_as_it_was_sealed(reviewer: Site, desk: Desk) -> None:
    call = desk.adopt(desk.nominate("fact:gate"))
    receipt = host_calls.find_receipt(call)
    assert receipt is not None
    url = f"/authorities/{desk.authority.wire_id}/receipts/{receipt.receipt_sha256}"
    answer = reviewer.get(f"{url}/file")
    assert (answer.content.decode(), answer["Content-Type"]) == (receipt.body, "application/json")
    assert answer["Content-Disposition"].endswith(f'receipt-{receipt.receipt_sha256[:12]}.json"')
    assert "The hub made the digest anew" in reviewer.get(url).content.decode()
