"""The page of the writes that wait: what it shows, what its buttons do, who sees them, and the declaration of records in the browser."""

import html

import pytest

from providers import record_writes
from providers.limits import WRITES_REJECTED_MAX
from providers.models import MemoryRecord, Resource
from tests.console.site import Site, add_person, sign_in
from tests.providers.record_sessions import RecordSessions
from tests.providers.test_record_writes import in_state, park
from tests.providers.test_session_records import Runner
from tests.world import Tenant


@pytest.fixture
def notes(tenant: Tenant) -> RecordSessions:
    return RecordSessions(tenant, "ask")


@pytest.fixture
def reviewer(tenant: Tenant) -> Site:
    return sign_in(add_person(tenant, "reviewer"), tenant.project, "development")


def shown(site: Site, query: str = "") -> str:
    return html.unescape(site.get(f"/writes{query}").content.decode())


def test_a_write_is_approved_where_its_text_stands(notes: RecordSessions, reviewer: Site) -> None:
    write_id = park(notes)
    page = shown(reviewer)
    assert "Likes tea." in page and "idp/alice" in page and "on the user's own words" in page
    answer = reviewer.client.post(f"{reviewer.base}/writes/{write_id}/approve")
    assert (answer.status_code, answer["Location"].endswith("/writes")) == (302, True)
    assert "It is approved and remembered." in shown(reviewer)
    assert MemoryRecord.objects.get(scope__project=notes.tenant.project).text == "Likes tea."
    assert "Approved" in shown(reviewer, "?state=approved")
    reviewer.client.post(f"{reviewer.base}/writes/{write_id}/approve")
    assert MemoryRecord.objects.filter(scope__project=notes.tenant.project).count() == 1


def test_what_a_token_gives_beside_a_text_is_shown_to_who_decides(
    notes: RecordSessions, reviewer: Site
) -> None:
    runner = Runner(notes)
    saved = runner.save("Likes tea.", title="<b>Tea</b>", tags=["drinks"], occurred_at="2026-01-02T03:04:05Z")
    assert saved.status == 202
    page = reviewer.get("/writes").content.decode()
    assert "By a token" in reviewer.get(f"/sessions/{runner.session}").content.decode()
    assert "titled <bdi>&lt;b&gt;Tea&lt;/b&gt;</bdi>" in page and "drinks" in page and "2026-01-02" in page


def test_what_cannot_be_approved_any_more_says_why(notes: RecordSessions, reviewer: Site) -> None:
    write_id = park(notes)
    record_writes.reject_write(write_id, actor=notes.actor)
    reviewer.client.post(f"{reviewer.base}/writes/{write_id}/approve")
    assert "This write was decided on: it is rejected." in shown(reviewer)


def test_several_are_rejected_after_a_question(notes: RecordSessions, reviewer: Site) -> None:
    one, other, kept = park(notes), park(notes), park(notes)
    record_writes.approve_write(other, actor=notes.actor)
    url = f"{reviewer.base}/writes/reject"
    asked = reviewer.client.post(url, {"write": [one, other]})
    assert "Reject 2 writes?" in asked.content.decode()
    in_state(notes, one, "waiting")  # nothing is done before the question is answered
    done = reviewer.client.post(url, {"write": [one, other], "confirmed": "yes"}).content.decode()
    assert "Left as it was" in done and "it is approved" in done
    in_state(notes, one, "rejected")
    in_state(notes, kept, "waiting")
    assert reviewer.client.post(url).status_code == 400
    many = [f"rwrite_{number:032x}" for number in range(WRITES_REJECTED_MAX + 1)]
    assert reviewer.client.post(url, {"write": many}).status_code == 400
    assert reviewer.client.post(url, {"write": many[1:]}).status_code == 200


def test_who_only_reads_sees_what_waits_and_no_buttons(notes: RecordSessions, tenant: Tenant) -> None:
    write_id = park(notes)
    viewer = sign_in(add_person(tenant, "viewer"), tenant.project, "development")
    page = shown(viewer)
    assert "Likes tea." in page and "formaction" not in page and "Reject the chosen" not in page
    assert viewer.client.post(f"{viewer.base}/writes/{write_id}/approve").status_code == 403
    in_state(notes, write_id, "waiting")
    assert viewer.get("/writes?state=open").status_code == 400


def test_the_navigation_and_the_overview_say_that_something_waits(
    notes: RecordSessions, reviewer: Site
) -> None:
    assert "write of a record waits" not in html.unescape(reviewer.get("").content.decode())
    park(notes)
    assert "A write of a record waits for a decision." in html.unescape(reviewer.get("").content.decode())
    park(notes)
    assert "2 writes of records wait for a decision." in html.unescape(reviewer.get("").content.decode())


def test_records_are_declared_and_changed_in_the_browser(tenant: Tenant) -> None:
    owner = sign_in(tenant.owner, tenant.project, "development")
    form = {
        "kind": "records",
        "id": "notes",
        "description": "Notes.",
        "bytes_max": "8192",
        "memory_write": "deny",
    }
    assert owner.client.post(f"{owner.base}/declare", form).status_code == 302
    held = Resource.objects.get(project=tenant.project, resource_id="notes")
    assert (held.kind, held.provider) == ("records", {"kind": "records", "memoryWrite": "deny"})
    page = html.unescape(owner.get("/resources/notes").content.decode())
    assert "are refused" in page and "Records" in page
    change = owner.get("/resources/notes/declaration")
    assert change.status_code == 200 and "Bytes at most" not in change.content.decode()
    again = owner.client.post(f"{owner.base}/declare", form | {"id": "more"})
    assert again.status_code == 400 and "at most" in html.unescape(again.content.decode())
