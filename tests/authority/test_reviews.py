"""Decisions: who may make them, what they leave, and what a nomination's state says afterwards."""

import threading
from typing import Any

import pytest
from django.db import connection

from authority import host_calls, host_runs, review_queue, reviews
from authority.failures import ValidationTypeError
from authority.models import HostCall, Nomination
from authority.review_queue import QueueFilters
from authority.reviews import NOTE_LENGTH_MAX, REJECTED_AT_ONCE_MAX, Choice
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.models import AuditEvent
from memoryhub.pagination import ListRequest
from tests.authority.desk import Reviewed, make_reviewed, write
from tests.authority.doubles import entity
from tests.world import Tenant, make_tenant

WORK = (entity("note:a", "A"), entity("note:b", "B"), entity("seed", "Other"))


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    return make_reviewed(tenant, work=WORK)


def state_of(reviewed: Reviewed, sha256: str) -> str:
    state: str = Nomination.objects.get(authority=reviewed.authority, nomination_sha256=sha256).state
    return state


def decide(reviewed: Reviewed, sha256: str, decision: str = "adopt", **more: Any) -> reviews.Decision:
    value: dict[str, Any] = {"decision": decision, **more}
    if decision == "adopt":
        value.setdefault("expectedCanonicalHead", reviewed.pin.as_wire())
    return reviews.decide(reviewed.authority.wire_id, sha256, value, actor=reviewed.actor)


def test_an_adoption_is_a_host_call_that_names_its_nomination(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("note:a")
    call = decide(reviewed, sha256, note="Good.").call
    assert call is not None
    assert (state_of(reviewed, sha256), call.nomination_sha256) == ("adopting", sha256)
    reviewed.run_next()
    kept = Nomination.objects.get(authority=reviewed.authority)
    assert (kept.state, kept.note, kept.decided_by_id) == ("adopted", "Good.", reviewed.actor.actor_id)
    assert reviewed.pin == reviewed.head
    event = AuditEvent.objects.get(subject_id=kept.wire_id, action="nomination.decided")
    assert (event.details, event.parent_id) == ({"decision": "adopt"}, reviewed.authority.wire_id)
    assert "Good." not in str(event.details)


def test_a_replacement_needs_the_claim_that_was_shown(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("seed")
    decide(reviewed, sha256)
    reviewed.run_next()
    assert state_of(reviewed, sha256) == "conflict"
    claim = {"expectedPriorRecordSha256": entity("seed").sha256, "key": "seed", "v": 1}
    decide(reviewed, sha256, replacements=[claim])
    reviewed.run_next()
    assert state_of(reviewed, sha256) == "adopted"


def test_a_stale_head_meets_a_conflict(reviewed: Reviewed) -> None:
    sha256, seen = reviewed.propose("note:a"), reviewed.pin
    write(reviewed.tenant, reviewed.canonical, entity("other"))
    reviewed.submit_advance(reviewed.head)
    reviewed.run_next()
    decide(reviewed, sha256, expectedCanonicalHead=seen.as_wire())
    reviewed.run_next()
    call = HostCall.objects.filter(authority=reviewed.authority).latest("ordinal")
    assert call.error is not None
    assert call.error["conflict"]["expectedHead"] == seen.as_wire()
    assert (state_of(reviewed, sha256), reviewed.pin) == ("conflict", reviewed.head)


def test_a_rejection_writes_nothing_and_can_be_thought_over(reviewed: Reviewed) -> None:
    sha256, head = reviewed.propose("note:a"), reviewed.head
    assert decide(reviewed, sha256, "reject", note="Not true.").call is None
    decide(reviewed, sha256, "reject")  # once more changes nothing
    kept = Nomination.objects.get(authority=reviewed.authority)
    assert (kept.state, kept.note, reviewed.head) == ("rejected", "Not true.", head)
    assert AuditEvent.objects.filter(subject_id=kept.wire_id, action="nomination.decided").count() == 1
    assert reviewed.propose("note:a") == sha256
    assert state_of(reviewed, sha256) == "rejected"
    decide(reviewed, sha256)
    reviewed.run_next()
    assert state_of(reviewed, sha256) == "adopted"


def test_what_was_decided_is_decided(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("note:a")
    decide(reviewed, sha256)
    for decision in ("adopt", "reject"):
        with pytest.raises(Conflict) as refused:
            decide(reviewed, sha256, decision)
        assert refused.value.error_code == "nomination_adopting"
    reviewed.run_next()
    for decision in ("adopt", "reject"):
        with pytest.raises(Conflict) as refused:
            decide(reviewed, sha256, decision)
        assert refused.value.error_code == "nomination_decided"


def test_a_later_nomination_of_the_same_takes_the_place(reviewed: Reviewed) -> None:
    first, other = reviewed.propose("note:a"), reviewed.propose("note:b")
    write(reviewed.tenant, reviewed.working, entity("note:a", "Better"))
    second = reviewed.propose("note:a")
    assert [state_of(reviewed, one) for one in (first, other, second)] == ["superseded", "pending", "pending"]
    with pytest.raises(Conflict) as refused:
        decide(reviewed, first)
    assert refused.value.error_code == "nomination_superseded"


def test_a_host_may_adopt_what_was_rejected_and_the_state_says_so(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("note:a")
    decide(reviewed, sha256, "reject")
    reviewed.submit_adoption(reviewed.nominate("note:a"))
    reviewed.run_next()
    assert state_of(reviewed, sha256) == "adopted"


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"decision": "maybe"},
        {"decision": "reject", "replacements": []},
        {"decision": "adopt"},
        {"decision": "adopt", "expectedCanonicalHead": {}, "note": None},
        {"decision": "adopt", "expectedCanonicalHead": {}, "v": 1},
    ],
)
def test_a_decision_of_another_form_is_refused(reviewed: Reviewed, value: Any) -> None:
    sha256 = reviewed.propose("note:a")
    with pytest.raises(ValidationTypeError):
        reviews.decide(reviewed.authority.wire_id, sha256, value, actor=reviewed.actor)
    assert state_of(reviewed, sha256) == "pending"


@pytest.mark.parametrize("note", [1, "x" * (NOTE_LENGTH_MAX + 1), "a\0b"])
def test_a_note_that_is_no_text_or_too_long_is_refused(reviewed: Reviewed, note: Any) -> None:
    sha256 = reviewed.propose("note:a")
    with pytest.raises(InvalidRequest):
        decide(reviewed, sha256, "reject", note=note)
    decide(reviewed, sha256, "reject", note="x" * NOTE_LENGTH_MAX)


def test_several_are_rejected_each_on_its_own(reviewed: Reviewed) -> None:
    first, second = reviewed.propose("note:a"), reviewed.propose("note:b")
    decide(reviewed, second)
    choices = [Choice(reviewed.authority.wire_id, sha256) for sha256 in (first, second, "f" * 64)]
    results = reviews.reject_all(choices, note="No.", actor=reviewed.actor)
    assert [one.problem is None for one in results] == [True, False, False]
    assert [state_of(reviewed, one) for one in (first, second)] == ["rejected", "adopting"]
    with pytest.raises(InvalidRequest):
        reviews.reject_all([choices[0]] * (REJECTED_AT_ONCE_MAX + 1), note="", actor=reviewed.actor)
    assert len(reviews.reject_all([choices[0]] * REJECTED_AT_ONCE_MAX, note="", actor=reviewed.actor)) == 100


def test_a_call_whose_outcome_is_unknown_is_sent_again(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("note:a")
    call = decide(reviewed, sha256).call
    assert call is not None
    HostCall.objects.filter(id=call.id).update(state="running")
    host_runs._end(
        HostCall.objects.select_related("authority").get(id=call.id), state="failed", error=host_runs.UNKNOWN
    )
    assert state_of(reviewed, sha256) == "pending"
    assert [one.id for one in review_queue.list_unknown_calls(reviewed.actor, 5)] == [call.id]
    again = host_calls.resend_call(reviewed.authority.wire_id, call.wire_id, actor=reviewed.actor)
    assert (again.request_sha256, again.ordinal) == (call.request_sha256, call.ordinal + 1)
    assert (state_of(reviewed, sha256), review_queue.list_unknown_calls(reviewed.actor, 5)) == (
        "adopting",
        [],
    )
    reviewed.run_next()
    assert state_of(reviewed, sha256) == "adopted"
    with pytest.raises(Conflict):
        host_calls.resend_call(reviewed.authority.wire_id, again.wire_id, actor=reviewed.actor)


def test_a_nomination_with_two_calls_stays_with_the_second(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("note:a")
    first = reviewed.submit_adoption(reviewed.nominate("note:a"))
    reviewed.submit_adoption(reviewed.nominate("note:a"))
    host_calls.withdraw_call(reviewed.authority.wire_id, first.wire_id, actor=reviewed.actor)
    assert state_of(reviewed, sha256) == "adopting"


def test_the_plan_and_the_decision_over_the_wire(reviewed: Reviewed) -> None:
    reviewer, agent = reviewed.tenant.caller("review"), reviewed.tenant.caller("agent")
    sha256 = reviewed.propose("seed")
    url = f"/v1/authorities/{reviewed.authority.wire_id}/nominations/{sha256}"
    plan = reviewer("GET", f"{url}/review-plan").body
    assert agent("GET", f"{url}/review-plan").status == 403
    body = {
        "decision": "adopt",
        "expectedCanonicalHead": plan["pin"],
        "replacements": plan["replacements"],
        "note": "Seen.",
    }
    assert agent("POST", f"{url}/decision", body).status == 403
    answer = reviewer("POST", f"{url}/decision", body)
    assert answer.status == 202
    assert answer.headers["location"].endswith(f"/host/calls/{answer.body['callId']}")
    reviewed.run_next()
    shown = reviewer("GET", url).body
    assert (shown["state"], shown["note"], shown["decidedBy"]["type"]) == ("adopted", "Seen.", "api_actor")
    rejected = reviewer("POST", f"{url}/decision", {"decision": "reject"})
    assert (rejected.status, rejected.body["error"]["details"]["error_code"]) == (409, "nomination_decided")


def queue(reviewed: Reviewed, limit: int = 20, page: str | None = None, **filters: str) -> Any:
    wanted = QueueFilters(**filters)
    request = ListRequest("review", wanted.as_dict(), limit, page)
    return review_queue.list_queue(request, wanted, actor=reviewed.actor)


def test_the_queue_is_of_all_authorities_and_the_oldest_first(reviewed: Reviewed) -> None:
    other = make_reviewed(reviewed.tenant, work=WORK)
    made = [reviewed.propose("note:a"), other.propose("note:a"), reviewed.propose("note:b")]
    first = queue(reviewed, limit=2)
    second = queue(reviewed, limit=2, page=first.next_page)
    assert [one.nomination_sha256 for one in [*first.rows, *second.rows]] == made
    assert review_queue.count_waiting(reviewed.actor) == 3
    assert [one.nomination_sha256 for one in queue(reviewed, authority=other.authority.wire_id).rows] == [
        made[1]
    ]
    assert queue(reviewed, agent="user_nobody").rows == queue(reviewed, route="other").rows == []
    decide(reviewed, made[0], "reject")
    assert [one.nomination_sha256 for one in queue(reviewed, state="rejected").rows] == made[:1]
    assert len(queue(reviewed, state="").rows) == 3
    choices = review_queue.list_choices(actor=reviewed.actor)
    assert (len(choices.authorities), choices.routes) == (2, ["review"])
    assert choices.agents == [reviewed.actor.actor_id]
    last = Nomination.objects.get(nomination_sha256=made[2], authority=reviewed.authority)
    following = review_queue.find_next(last, actor=reviewed.actor)
    assert following is not None
    assert following.nomination_sha256 == made[1]


def test_two_reviewers_decide_at_once_and_one_is_told(committed: Tenant) -> None:
    reviewed = make_reviewed(committed, work=WORK)
    sha256 = reviewed.propose("note:a")
    barrier, outcomes = threading.Barrier(2), []

    def work() -> None:
        barrier.wait()
        try:
            decide(reviewed, sha256)
            outcomes.append("sent")
        except Conflict as error:
            outcomes.append(error.error_code or "")
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["nomination_adopting", "sent"]
    assert HostCall.objects.filter(authority=reviewed.authority).count() == 1


def test_a_stranger_decides_nothing(reviewed: Reviewed) -> None:
    stranger = make_tenant()
    sha256 = reviewed.propose("note:a")
    url = f"/v1/authorities/{reviewed.authority.wire_id}/nominations/{sha256}"
    assert stranger.call()("GET", f"{url}/review-plan").status == 404
    assert stranger.call()("POST", f"{url}/decision", {"decision": "reject"}).status == 404
    assert review_queue.count_waiting(stranger.actor) == 0
