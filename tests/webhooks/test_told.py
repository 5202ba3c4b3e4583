"""What is told of reviewed memory and of memory services: each once, in the change's own transaction, without a text."""

from typing import Any

import pytest
from django.db.transaction import atomic

from authority import host_runs, memory_nominations, reviews
from authority.models import HostCall
from memoryhub import notices
from memoryhub.digests import exact_json
from memoryhub.erasure import Sought, TextErasure, erase_text
from memoryhub.notice_models import Notice
from memoryhub.notice_types import list_notice_types
from memoryhub.notices import body_of
from providers.record_models import MemoryEffect
from stores import memories, memory_stores
from tests.authority.desk import Reviewed, ended, make_reviewed, write
from tests.authority.doubles import entity
from tests.providers import misbehaving
from tests.providers.conftest import endpoint, workers  # noqa: F401 - fixtures
from tests.providers.misbehaving import Endpoint
from tests.providers.record_desk import RecordDesk, Scripted, remember, unavailable
from tests.providers.record_sessions import RecordSessions
from tests.providers.services import Service
from tests.webhooks.receivers import Desk, attempts, deliveries, notices_of
from tests.world import Tenant

CANARY = "canary-5b1f"
WORK = (entity("note:a", CANARY), entity("note:b", CANARY, "note:a"))


@pytest.fixture
def reviewed(desk: Desk) -> Reviewed:
    desk.add()
    return make_reviewed(desk.tenant, work=WORK)


def told(tenant: Tenant) -> list[tuple[str, str]]:
    """(type, subject) in their order."""
    return [(one.type, one.subject_id) for one in notices_of(tenant)]


def test_a_nomination_is_told_once_however_often_it_is_made(reviewed: Reviewed, desk: Desk) -> None:
    nomination_sha256 = reviewed.propose("note:b")
    reviewed.propose("note:b")
    [notice] = notices_of(desk.tenant)
    assert notice.type == "nomination.waiting"
    assert notice.facts == {
        "authority_id": reviewed.authority.wire_id,
        "nomination_sha256": nomination_sha256,
        "records": 2,
    }


def test_a_decision_and_the_end_of_its_adoption_are_told(reviewed: Reviewed, desk: Desk) -> None:
    nomination_sha256 = reviewed.propose("note:b")
    decision = {"decision": "adopt", "expectedCanonicalHead": reviewed.pin.as_wire()}
    made = reviews.decide(reviewed.authority.wire_id, nomination_sha256, decision, actor=desk.actor)
    assert made.call is not None
    reviewed.drain()
    assert [kind for kind, _ in told(desk.tenant)] == [
        "nomination.waiting",
        "nomination.decided",
        "adoption.finished",
    ]
    _, decided, finished = notices_of(desk.tenant)
    assert decided.facts["decision"] == "adopt"
    assert finished.subject_id == made.call.wire_id
    assert finished.facts["status"] == "adopted"
    assert finished.facts["receipt_sha256"] == ended(made.call).receipt_sha256


def test_a_rejection_is_told_once(reviewed: Reviewed, desk: Desk) -> None:
    nomination_sha256 = reviewed.propose("note:b")
    for _ in range(2):
        reviews.reject_nomination(
            reviewed.authority.wire_id, nomination_sha256, note=CANARY, actor=desk.actor
        )
    assert [kind for kind, _ in told(desk.tenant)] == ["nomination.waiting", "nomination.decided"]
    assert notices_of(desk.tenant)[1].facts["decision"] == "reject"


def test_a_conflict_needs_a_person(reviewed: Reviewed, desk: Desk) -> None:
    nomination_sha256 = reviewed.propose("note:b")
    reviewed.submit_advance(write(desk.tenant, reviewed.canonical, entity("note:a", "otherwise")).head)
    reviewed.drain()
    decision = {"decision": "adopt", "expectedCanonicalHead": reviewed.pin.as_wire()}
    reviews.decide(reviewed.authority.wire_id, nomination_sha256, decision, actor=desk.actor)
    reviewed.drain()
    assert told(desk.tenant)[-1][0] == "adoption.conflict"


def test_a_call_of_a_dead_worker_needs_a_person(reviewed: Reviewed, desk: Desk) -> None:
    call = reviewed.submit_adoption(reviewed.nominate("note:b"))
    HostCall.objects.filter(id=call.id).update(state="running")
    reviewed.drain()
    assert told(desk.tenant)[-1] == ("host_call.unknown", call.wire_id)
    assert notices_of(desk.tenant)[-1].facts["method"] == "adoptNomination"


def test_what_is_told_commits_with_the_change_or_not_at_all(
    reviewed: Reviewed, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("refused")

    call = reviewed.submit_adoption(reviewed.nominate("note:b"))
    with monkeypatch.context() as broken:
        broken.setattr(host_runs, "reach", lambda point: refuse() if point == "before_publish" else None)
        reviewed.drain()
    assert ended(call).state == "failed"
    assert [kind for kind, _ in told(desk.tenant)] == ["adoption.failed"]
    assert notices_of(desk.tenant)[0].facts["code"] == "bug"


def test_no_notice_holds_a_text_of_memory_so_an_erasure_has_nothing_to_do_there(
    reviewed: Reviewed, desk: Desk
) -> None:
    store = memory_stores.create_store(
        environment="development", name=CANARY, description=CANARY, metadata={}, actor=desk.actor
    )
    memory = memories.create_memory(store.wire_id, path=f"/{CANARY}.md", content=CANARY, actor=desk.actor)
    made = memory_nominations.nominate_memory(
        reviewed.authority.wire_id,
        store_id=store.wire_id,
        memory_id=memory.wire_id,
        route="review",
        actor=desk.actor,
    )
    reviewed.propose("note:b")
    decision = {"decision": "adopt", "expectedCanonicalHead": reviewed.pin.as_wire(), "note": CANARY}
    reviews.decide(reviewed.authority.wire_id, made.nomination_sha256, decision, actor=desk.actor)
    reviewed.drain()
    told_of = notices_of(desk.tenant)
    assert len(told_of) >= 4
    for notice in told_of:
        assert CANARY not in body_of(notice).decode()
        assert CANARY not in exact_json(notice.facts).decode()


def test_a_write_that_nobody_knows_of_is_told_and_one_that_is_known_is_not(
    committed: Tenant,
    endpoint: Endpoint,  # noqa: F811
    workers: list[Any],  # noqa: F811
) -> None:
    Desk(committed, endpoint).add()
    endpoint.always = misbehaving.normal
    service = Service(committed, endpoint)
    service.use("remember", fact=CANARY)
    assert notices_of(committed) == []
    endpoint.script = [misbehaving.drop]
    call = service.use("remember", fact=CANARY)
    assert call.output == {"status": "uncertain"}
    [notice] = notices_of(committed)
    assert (notice.type, notice.subject_id) == ("http_operation.uncertain", service.operations()[0].wire_id)
    assert notice.facts["tool_call_id"] == call.wire_id
    assert CANARY not in body_of(notice).decode()


def test_a_write_of_records_that_a_person_must_decide_on_is_told_once(desk: Desk) -> None:
    desk.add()
    records = RecordDesk(desk.tenant)
    provider = Scripted(unavailable())
    for _ in range(2):
        assert remember(records.memory(provider), text=CANARY, key=f"k-{CANARY}").is_uncertain
    [effect] = MemoryEffect.objects.filter(scope=records.row())
    [notice] = notices_of(desk.tenant)
    assert (notice.type, notice.subject_id) == ("record_effect.unknown", effect.wire_id)
    assert notice.facts == {"tool": "save_memory", "attempts": 1}
    assert CANARY not in body_of(notice).decode()


def test_a_write_of_a_session_that_waits_for_approval_is_told_once(desk: Desk) -> None:
    desk.add()
    notes = RecordSessions(desk.tenant, "ask")
    session = notes.open()
    request = notes.begin(session)
    for _ in range(2):
        output = notes.save(session, request, CANARY, call_id="c")
    [notice] = notices_of(desk.tenant)
    assert (notice.type, notice.subject_id) == ("record_write.waiting", output["id"])
    assert notice.facts == {"session_id": session, "tool": "save_memory"}
    assert CANARY not in body_of(notice).decode()


def test_every_type_says_what_it_is_and_what_it_holds() -> None:
    types = {one.name: one for one in list_notice_types()}
    assert len(types) >= 9
    for kind in types.values():
        assert kind.sentence.endswith(".") and kind.counted and all(kind.facts.values())


def test_recording_outside_a_transaction_is_a_bug(desk: Desk) -> None:
    facts = {"webhook_id": "a", "reason": "gone"}
    place = {"project_id": desk.environment.project_id, "environment_id": desk.environment.id}
    with pytest.raises(AssertionError, match="commits with"):
        notices.record("webhook.disabled", "a", **place, facts=facts)
    with atomic():
        notices.record("webhook.disabled", "a", **place, facts=facts)
    assert not Notice.objects.filter(project=desk.tenant.project).exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_erasure_blanks_what_a_receiver_answered_with_the_text(desk: Desk, dry_run: bool) -> None:
    issued = desk.add()
    for answer in (f"I have read {CANARY}.", "Thank you."):
        desk.tell()
        desk.receiver.script = [misbehaving.raw(misbehaving.answer(200, answer.encode()))]
        desk.send(issued.webhook)
    with atomic():
        found = erase_text(TextErasure(desk.environment.id, Sought(contains=CANARY), dry_run, False))
    assert found.copies == {"webhook_answers": 1}
    kept = [attempts(one)[0].answer_start for one in deliveries(issued.webhook)]
    assert kept == [f"I have read {CANARY}." if dry_run else "", "Thank you."]
