"""The queue of writes that nobody knows of, their decision by hand, and the list of hits that were dropped."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import ids
from memoryhub.actors import RecordScope
from memoryhub.rooms import WAITING_COUNTED_MAX
from providers.contract import Binding, MemoryHit
from providers.models import MemoryEffect, ScopeViolation
from tests.console.site import Site, add_person, form_of, sign_in
from tests.console.test_record_pages import main_of, text
from tests.providers.record_desk import ALICE, BOB, RecordDesk, Scripted, bind, remember, unavailable
from tests.world import Tenant


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


@pytest.fixture
def reviewer(tenant: Tenant) -> Site:
    return sign_in(add_person(tenant, "reviewer"), tenant.project)


def lose(desk: RecordDesk, key: str = "k1", *, of: RecordScope = ALICE, **fields: Any) -> MemoryEffect:
    """A write whose answer was lost, and that may not be sent again by itself."""
    remember(desk.memory(Scripted(unavailable()), of), key, **fields)
    return MemoryEffect.objects.get(scope=desk.row(of), key=key)


def use(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    for module in ("providers.provider_choice", "providers.records"):
        monkeypatch.setattr(f"{module}.find_provider", lambda name: bind(provider))
    return provider


def page_of(effect: MemoryEffect) -> str:
    return f"/records/effects/{effect.wire_id}"


def decide(site: Site, effect: MemoryEffect, decision: str, attempts: int | None = None) -> Any:
    form = {"decision": decision, "attempts": str(attempts or effect.attempts)}
    return site.post(f"{page_of(effect)}/resolve", form)


def told(site: Site, answer: Any) -> str:
    return text(site.client.get(answer["Location"]))


def test_an_empty_queue_says_what_comes_there(owner: Site) -> None:
    assert "Nothing waits for a decision" in main_of(owner.get("/records/effects"))
    assert "Nothing was dropped" in main_of(owner.get("/records/violations"))
    assert "waiting</span>" not in text(owner.get())


def test_what_waits_is_listed_oldest_first_and_counted_everywhere(owner: Site, desk: RecordDesk) -> None:
    first, second = lose(desk, "k1"), lose(desk, "k2", of=BOB)
    desk.save("Certain.")
    shown = main_of(owner.get("/records/effects"))
    assert shown.index(page_of(first)) < shown.index(page_of(second))
    assert shown.count("<tr data-row>") == 2
    assert "Unknown writes (2)" in shown
    overview = text(owner.get())
    assert '<span class="waits">2<span class="unseen"> waiting</span></span>' in overview
    assert "Nobody knows whether 2 writes of records were done: decide." in overview
    assert "<dt>to decide</dt><dd>2</dd>" in main_of(owner.get())
    for query, count in (
        ({"tool": "forget_memory"}, 0),
        ({"provider": "scripted"}, 2),
        ({"state": "done"}, 1),
        ({"state": ""}, 3),
    ):
        assert main_of(owner.get("/records/effects", **query)).count("<tr data-row>") == count, query
    for query in ({"state": "lost"}, {"tool": "other"}, {"provider": "x" * 65}):
        assert owner.get("/records/effects", **query).status_code == 400, query
    assert owner.get("/records/effects", provider="x" * 64).status_code == 200


def test_a_write_shows_what_it_says_how_often_it_was_sent_and_what_was_answered(
    owner: Site, desk: RecordDesk
) -> None:
    effect = lose(desk, text="Tea <b>at</b> four.", author="Alice")
    shown = main_of(owner.get(page_of(effect)))
    for said in (
        "Tea &lt;b&gt;at&lt;/b&gt; four.", "Said by <bdi>Alice</bdi>", "<code>unguarded</code>", "<code>k1</code>",
        "1 time,", "<code>unavailable</code>", "not configured any more",
    ):  # fmt: skip
        assert said in shown, said
    assert "send it again</button>" not in shown, "its provider is not configured"


def test_a_reviewer_takes_a_write_for_done(
    reviewer: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect, following = lose(desk, "k1"), lose(desk, "k2")
    provider = use(Scripted(), monkeypatch)
    shown = main_of(reviewer.get(page_of(effect)))
    assert "send it again</button>" in shown and page_of(following) in shown
    form = form_of(reviewer.get(page_of(effect)))
    answer = reviewer.post(f"{page_of(effect)}/resolve", form | {"decision": "done"})
    assert "taken for done. Nothing more is sent." in told(reviewer, answer)
    effect.refresh_from_db()
    assert (effect.state, effect.decision, effect.payload, provider.sent) == ("resolved", "done", None, [])
    after = main_of(reviewer.get(page_of(effect)))
    assert "Taken for done" in after and ">Reviewer</bdi>" in after and "It was done</button>" not in after


def test_a_write_is_sent_again_and_done(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = lose(desk)
    provider = use(Scripted(), monkeypatch)
    assert "It was sent again, and is done." in told(owner, decide(owner, effect, "not_done"))
    assert provider.sent == [("remember", "k1")]
    assert MemoryEffect.objects.get(id=effect.id).state == "resolved"


def test_a_write_that_is_refused_when_it_is_sent_again_says_so(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from providers.contract import refuse

    effect = lose(desk)
    use(Scripted(refuse("Full.")), monkeypatch)
    assert "the provider refused it" in told(owner, decide(owner, effect, "not_done"))


def test_a_write_that_is_lost_again_waits_again_and_is_not_decided_unseen(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = lose(desk)
    use(Scripted(unavailable()), monkeypatch)
    assert "again nobody knows" in told(owner, decide(owner, effect, "not_done"))
    effect.refresh_from_db()
    assert effect.state == "unknown"
    stale = decide(owner, effect, "done", effect.attempts - 1)
    assert "It was sent again meanwhile" in told(owner, stale)
    assert MemoryEffect.objects.get(id=effect.id).state == "unknown"
    decide(owner, effect, "done")
    assert MemoryEffect.objects.get(id=effect.id).state == "resolved"
    assert "The outcome of this effect is known." in told(owner, decide(owner, effect, "not_done"))


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"decision": "done"},
        {"decision": "maybe", "attempts": "1"},
        {"decision": "done", "attempts": "-1"},
    ],
)
def test_a_decision_that_is_not_whole_decides_nothing(
    owner: Site, desk: RecordDesk, form: dict[str, str]
) -> None:
    effect = lose(desk)
    assert owner.post(f"{page_of(effect)}/resolve", form).status_code == 400
    assert MemoryEffect.objects.get(id=effect.id).state == "unknown"


def test_what_was_erased_cannot_be_sent_again(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = lose(desk)
    MemoryEffect.objects.filter(id=effect.id).update(payload=None, key=None)
    use(Scripted(), monkeypatch)
    shown = main_of(owner.get(page_of(effect)))
    assert "was erased, so it cannot be sent again" in shown and "<dd>erased</dd>" in shown
    assert "was erased" in told(owner, decide(owner, effect, "not_done"))


def test_roles_decide_or_only_look(tenant: Tenant, desk: RecordDesk) -> None:
    effect = lose(desk)
    for role, may in {"viewer": False, "developer": False, "reviewer": True}.items():
        site = sign_in(add_person(tenant, role), tenant.project)
        assert ("It was done</button>" in main_of(site.get(page_of(effect)))) == may
        assert ("Needs a person" in text(site.get())) == may
        if not may:
            assert decide(site, effect, "done").status_code == 403
    assert MemoryEffect.objects.get(id=effect.id).state == "unknown"


def test_a_decision_stands_in_the_audit_trail_with_a_link(owner: Site, desk: RecordDesk) -> None:
    effect = lose(desk)
    decide(owner, effect, "done")
    assert f'href="{owner.base}{page_of(effect)}"' in text(owner.get("/audit"))


def test_the_count_ends_where_it_was_counted(owner: Site, desk: RecordDesk) -> None:
    one = lose(desk)
    fields = {field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields}
    MemoryEffect.objects.bulk_create(
        MemoryEffect(**fields | {"id": ids.new_id(), "key_sha256": f"{number:064}"})
        for number in range(WAITING_COUNTED_MAX - 2)
    )
    assert '<span class="waits">99<' in text(owner.get("/records"))
    MemoryEffect.objects.bulk_create([MemoryEffect(**fields | {"id": ids.new_id(), "key_sha256": "f" * 64})])
    shown = text(owner.get("/records"))
    assert '<span class="waits">99+<' in shown
    first = owner.get("/records/effects")
    following = text(first).partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    assert text(owner.client.get(following.replace("&amp;", "&"))).count("<tr data-row>") == 20


# --- dropped hits ---


def drop(
    desk: RecordDesk, binding: Binding, of: RecordScope = ALICE, hit_id: str = "theirs"
) -> ScopeViolation:
    provider = Scripted()
    remember(desk.memory(provider, of), "begun")
    provider.hits = lambda k: [MemoryHit(hit_id, "1", "Of <b>another</b>.", 1.0, "user", binding)]
    desk.memory(provider, of).recall("anything")
    return ScopeViolation.objects.filter(scope=desk.row(of)).latest("id")


def test_a_dropped_hit_names_the_scope_that_it_belongs_to(owner: Site, desk: RecordDesk) -> None:
    other = Scripted()
    remember(desk.memory(other, BOB), "of-bob")
    mixed = drop(desk, other.records[0].binding, hit_id="<b>theirs</b>")
    shown = main_of(owner.get(f"/records/violations/{mixed.wire_id}"))
    assert "The provider mixed two scopes up" in shown
    assert f"/records/scopes/{desk.row(BOB).wire_id}" in shown
    assert "&lt;b&gt;theirs&lt;/b&gt;" in shown and "another</b>" not in shown and "Of &lt;b&gt;" not in shown
    forged = drop(desk, Binding(desk.row(BOB).namespace, "rec_forged"))
    assert "that the hub never issued there" in main_of(owner.get(f"/records/violations/{forged.wire_id}"))
    unknown = drop(desk, Binding("ns_unknown", "rec_unknown"))
    assert "never issued what the hit is bound to" in main_of(
        owner.get(f"/records/violations/{unknown.wire_id}")
    )


def test_a_scope_of_another_environment_is_not_named(owner: Site, stranger: Tenant, desk: RecordDesk) -> None:
    foreign, provider = RecordDesk(stranger), Scripted()
    remember(foreign.memory(provider), "k")
    violation = drop(desk, provider.records[0].binding)
    shown = main_of(owner.get(f"/records/violations/{violation.wire_id}"))
    assert "never issued what the hit is bound to" in shown
    assert foreign.row().wire_id not in shown


def test_dropped_hits_are_listed_filtered_and_told_on_the_overview(owner: Site, desk: RecordDesk) -> None:
    violations = [drop(desk, Binding("ns_x", "rec_x"), of=of) for of in (ALICE, BOB)]
    shown = main_of(owner.get("/records/violations"))
    assert shown.index(violations[1].wire_id) < shown.index(violations[0].wire_id)
    for query, count in (
        ({"provider": "scripted"}, 2),
        ({"provider": "team"}, 0),
        ({"name": "BOB"}, 1),
        ({"name": "api/alice"}, 1),
    ):
        assert main_of(owner.get("/records/violations", **query)).count("<td><a href=") == count, query
    for query in ({"provider": "x" * 65}, {"name": "x" * 257}):
        assert owner.get("/records/violations", **query).status_code == 400
    need = "The provider scripted gave records of another scope; they were dropped."
    assert need in text(owner.get())
    old = ids.first_id(1_600_000_000)
    ScopeViolation.objects.filter(scope=desk.row(BOB)).delete()
    ScopeViolation.objects.filter(id=violations[0].id).update(id=old)
    assert need not in text(owner.get()), "of the last day alone"


def test_what_stands_in_another_environment_is_not_there(
    tenant: Tenant, stranger: Tenant, desk: RecordDesk
) -> None:
    effect, violation = lose(desk), drop(desk, Binding("ns_x", "rec_x"))
    paths = [page_of(effect), f"/records/violations/{violation.wire_id}"]
    for site in (
        sign_in(tenant.owner, tenant.project, "production"),
        sign_in(stranger.owner, stranger.project),
    ):
        assert [site.get(path).status_code for path in paths] == [404, 404]
        assert decide(site, effect, "done").status_code == 404
        assert "Nothing waits" in main_of(site.get("/records/effects"))
        assert "Nothing was dropped" in main_of(site.get("/records/violations"))
    assert MemoryEffect.objects.get(id=effect.id).state == "unknown"


def test_lists_cost_as_much_over_many(owner: Site, desk: RecordDesk) -> None:
    def count(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get(path).status_code == 200
        return len(queries)

    effect, violation = lose(desk, "first"), drop(desk, Binding("ns_x", "rec_x"))
    pages = (
        "/records/effects",
        "/records/violations",
        page_of(effect),
        f"/records/violations/{violation.wire_id}",
        "",
    )
    lose(desk, "second")
    [count(path) for path in pages]  # the first page of a session writes it
    few = [count(path) for path in pages]
    for number in range(25):
        lose(desk, f"more-{number}")
        drop(desk, Binding("ns_x", "rec_x"))
    assert [count(path) for path in pages] == few
