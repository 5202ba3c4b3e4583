"""Records as proposals: what is remembered of one, whose it may be, and how it becomes reviewed memory."""

from typing import Any

import pytest
from django.db import connections

from authority import memory_nominations, reviews
from authority.codecs import parse_memory
from authority.failures import ValidationTypeError
from authority.models import Nomination, Operation, RecordVersion
from memoryhub import keys
from memoryhub.actors import Actor, RecordScope
from memoryhub.digests import sha256_hex
from memoryhub.errors import Conflict, NotFound, PermissionRefused
from providers.models import RemoteRecord
from tests.authority.desk import Reviewed, make_reviewed
from tests.concurrency.holding import Asked
from tests.console.site import sign_in
from tests.providers.record_desk import ALICE, BOB, RecordDesk
from tests.world import Tenant, make_tenant

TEXT = "  The office closes at five.\r\n"
SCOPE = {"agent": "support", "principal": {"issuer": "api", "subject": "alice"}}


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    return make_reviewed(tenant)


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


def nominate(
    reviewed: Reviewed,
    record_id: str,
    of: RecordScope | None = ALICE,
    route: str = "review",
    actor: Actor | None = None,
) -> Nomination:
    return memory_nominations.nominate_record(
        reviewed.authority.wire_id, of=of, record_id=record_id, route=route, actor=actor or reviewed.actor
    )


def test_a_record_becomes_reviewed_memory_and_names_where_it_comes_from(
    reviewed: Reviewed, desk: RecordDesk
) -> None:
    record_id = desk.save(TEXT)
    made = nominate(reviewed, record_id)
    record = RecordVersion.objects.get(space=reviewed.working)
    assert record.key == f"memory:{record_id.replace('_', ':')}"
    assert (record.kind, record.value) == (
        "memory",
        {
            "agent": "support",
            "content": TEXT,
            "origin": "host",
            "recordId": record_id,
            "scope": "api/alice",
            "sha256": sha256_hex(TEXT),
            "version": "1",
        },
    )
    owner = sign_in(desk.tenant.owner, desk.tenant.project)
    page = f"/review/{reviewed.authority.wire_id}/{made.nomination_sha256}"
    for shown in (owner.get(page), owner.get(f"{page}/record?key={record.key}")):
        assert shown.status_code == 200
        said = " ".join(shown.content.decode().split())
        assert f"Record <code>{record_id}</code>, which the agent <bdi>support</bdi> has of" in said
        assert "<bdi>api/alice</bdi>; origin: host" in said
    reviews.adopt_nomination(
        reviewed.authority.wire_id,
        made.nomination_sha256,
        expected_head=reviewed.pin.as_wire(),
        replacements=[],
        note=None,
        actor=reviewed.actor,
    )
    reviewed.run_next()
    adopted = RecordVersion.objects.get(space=reviewed.canonical, key=record.key)
    assert adopted.record_sha256 == record.record_sha256


def test_the_same_record_is_the_same_nomination(reviewed: Reviewed, desk: RecordDesk) -> None:
    record_id = desk.save(TEXT)
    assert nominate(reviewed, record_id).id == nominate(reviewed, record_id).id
    assert Operation.objects.filter(space=reviewed.working).count() == 1
    assert nominate(reviewed, desk.save("Another.")).state == "pending"


def test_what_is_not_in_the_scope_or_forgotten_cannot_be_nominated(
    reviewed: Reviewed, desk: RecordDesk
) -> None:
    record_id, forgotten = desk.save(TEXT), desk.save("Forgotten.")
    desk.forget(forgotten)
    foreign = RecordDesk(make_tenant()).save(TEXT)
    for wanted, of in ((forgotten, ALICE), (foreign, ALICE), (record_id, BOB), ("mrec_x", ALICE)):
        with pytest.raises(NotFound, match="The record was not found"):
            nominate(reviewed, wanted, of)
    with pytest.raises(ValidationTypeError):
        nominate(reviewed, record_id, route="other")
    assert not Operation.objects.filter(space=reviewed.working).exists()


def test_a_record_is_forgotten_before_it_is_nominated_or_after(
    committed: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever forgets it while its text is on the way into the working memory is answered when that stands there."""
    reviewed, desk = make_reviewed(committed), RecordDesk(committed)
    record_id, order = desk.save(TEXT), []
    propose = memory_nominations._propose
    waiting = Asked(lambda: None)  # type: ignore[arg-type, return-value]

    def forget() -> None:
        desk.forget(record_id)
        order.append("forgotten")
        connections.close_all()

    def forget_meanwhile(*given: Any) -> Nomination:
        nonlocal waiting
        waiting = Asked(forget)  # type: ignore[arg-type, return-value]
        waiting.wait(0.3)
        order.append("read")
        return propose(*given)

    monkeypatch.setattr(memory_nominations, "_propose", forget_meanwhile)
    nominate(reviewed, record_id)
    waiting.wait(10)
    assert order == ["read", "forgotten"]
    with pytest.raises(NotFound):
        nominate(reviewed, record_id)


def test_a_record_of_another_service_cannot_be_nominated(reviewed: Reviewed, desk: RecordDesk) -> None:
    desk.save("x")
    held = desk.row()
    RemoteRecord.objects.create(
        project_id=held.project_id,
        scope=held,
        provider="team",
        record_id="mrec_there",
        name="k_1",
        digest=b"1",
        namespace=held.namespace,
        binding_id="rec_1",
        origin="host",
        version="1",
        text_seal="1",
    )
    with pytest.raises(Conflict) as refused:
        nominate(reviewed, "mrec_there")
    assert refused.value.error_code == "records_elsewhere"


def test_a_person_nominates_a_record_from_its_page(
    reviewed: Reviewed, desk: RecordDesk, stranger: Tenant
) -> None:
    record_id = desk.save(TEXT)
    owner = sign_in(desk.tenant.owner, desk.tenant.project)
    scope_id = desk.row().wire_id
    page = f"/nominate/records/{scope_id}/{record_id}"
    assert (
        f'href="{owner.base}{page}"'
        in owner.get(f"/records/scopes/{scope_id}/records/{record_id}").content.decode()
    )
    assert "The office closes at five." in owner.get(page).content.decode()
    assert owner.post(page, {"route": "none"}).status_code == 400
    answer = owner.post(page, {"route": f"{reviewed.authority.wire_id} review"})
    made = Nomination.objects.get(authority=reviewed.authority)
    assert answer["Location"] == f"{owner.base}/review/{reviewed.authority.wire_id}/{made.nomination_sha256}"
    other = sign_in(stranger.owner, stranger.project)
    assert other.get(page).status_code == 404
    desk.forget(record_id)
    assert owner.get(page).status_code == 404
    shown = owner.get(f"/records/scopes/{scope_id}/records/{record_id}").content.decode()
    assert page not in shown


def test_an_agent_nominates_a_record_of_its_scope_and_of_no_other(
    reviewed: Reviewed, desk: RecordDesk
) -> None:
    mine, other = desk.save(TEXT), desk.save(TEXT, of=BOB)
    agent = keys.authenticate_key(desk.tenant.new_key("agent", record_scope=ALICE))
    made = nominate(reviewed, mine, None, actor=agent)
    assert (made.created_by_type, made.created_by_id) == ("api_actor", agent.actor_id)
    with pytest.raises(NotFound):
        nominate(reviewed, other, None, actor=agent)
    nobodys = keys.authenticate_key(desk.tenant.new_key("agent"))
    for actor, of in ((agent, BOB), (nobodys, None)):
        with pytest.raises(PermissionRefused) as refused:
            nominate(reviewed, other, of, actor=actor)
        assert refused.value.error_code == "scope_violation"


def test_the_application_says_whose_record_it_is(reviewed: Reviewed, desk: RecordDesk) -> None:
    record_id = desk.save(TEXT)
    url = f"/v1/authorities/{reviewed.authority.wire_id}/record-nominations"
    body = {"nominationId": "review", "recordId": record_id}
    host = desk.tenant.caller("host")
    assert host("POST", url, body).status == 400
    assert host("POST", url, body | {"scope": SCOPE}).status == 200
    for scope in ("review", "read", "agent"):
        assert desk.tenant.caller(scope)("POST", url, body | {"scope": SCOPE}).status == 403


@pytest.mark.parametrize(
    "change",
    [{"sha256": "0" * 64}, {"version": 1}, {"more": "x"}, {"storeId": "memstore_x"}],
)
def test_the_codec_takes_a_record_exactly(change: dict[str, object]) -> None:
    value: dict[str, object] = {
        "agent": "a",
        "content": "x",
        "origin": "host",
        "recordId": "mrec_1",
        "scope": "api/alice",
        "sha256": sha256_hex("x"),
        "version": "1",
    }
    assert parse_memory(value) == value
    assert parse_memory(value | change) is None
