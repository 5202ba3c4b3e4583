"""Each adapter against a fake of its service: the published suite, what is sent, and what is never sent."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from hypothesis import given
from hypothesis import strategies as st

from memoryhub import secrets
from providers import remote_records
from providers.adapters import ADAPTERS
from providers.adapters.letta import search_body
from providers.conformance import make_record, memory_suite
from providers.contract import BoundProvider, Err, MemoryHit, Ok, RecordRef, Result, Scope, bind_provider
from providers.models import RemoteRecord, RemoteScope
from providers.record_scopes import tenant_of
from tests.concurrency.clients import in_rounds
from tests.providers.memory_services import FAKES, KEY, FakeMem0, FakeService
from tests.providers.misbehaving import Endpoint
from tests.world import Tenant, make_tenant

NAMES = list(FAKES)
ROUNDS = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "60"))


class Adapted:
    """One adapter over the fake of its service, with the secret of the tenant's environment."""

    def __init__(self, name: str, tenant: Tenant, endpoint: Endpoint, **options: Any) -> None:
        self.fake = FAKES[name](endpoint)
        self.tenant = tenant
        self.name = name
        self.options = {**self.fake.options, **options}
        for one in (tenant.development, tenant.production):
            put_key(tenant, endpoint, one.wire_id)

    def make(self) -> Any:
        return ADAPTERS[self.name](self.name, self.options)

    @property
    def bound(self) -> BoundProvider:
        return bind_provider(self.name, self.make())

    def scope(self, user: str = "alice", *, agent: str = "support") -> Scope:
        return Scope(tenant_of(self.tenant.project.id, self.tenant.development.id), agent, f"api/{user}")

    def remember(
        self, text: str = "Alice drinks tea.", key: str = "k1", *, scope: Scope | None = None
    ) -> Result[RecordRef]:
        found: Result[RecordRef] = async_to_sync(self.make().remember)(
            scope or self.scope(), make_record(text, key), key
        )
        return found

    def save(self, text: str = "Alice drinks tea.", key: str = "k1", *, scope: Scope | None = None) -> str:
        result = self.remember(text, key, scope=scope)
        assert isinstance(result, Ok), result
        return result.value.id

    def recall(self, query: str = "tea", *, k: int = 5, scope: Scope | None = None) -> Any:
        return async_to_sync(self.make().recall)(scope or self.scope(), query, k=k)

    def find(self, query: str = "tea", *, k: int = 5, scope: Scope | None = None) -> list[MemoryHit]:
        result = self.recall(query, k=k, scope=scope)
        assert isinstance(result, Ok), result
        return list(result.value)

    def forget(self, record_id: str, key: str = "f1", *, scope: Scope | None = None) -> Any:
        return async_to_sync(self.make().forget)(scope or self.scope(), record_id, key)

    def lookup(self, key: str = "k1") -> Any:
        return async_to_sync(self.make().lookup)(self.scope(), key)


def put_key(tenant: Tenant, endpoint: Endpoint, environment: str) -> None:
    secrets.put_secret(
        environment=environment,
        name="SERVICE_KEY",
        agent_id="",
        value=KEY,
        allowed_origins=[endpoint.origin],
        actor=tenant.actor,
    )


type Adapt = Callable[..., Adapted]


@pytest.fixture
def adapt(committed: Tenant, endpoint: Endpoint) -> Adapt:
    return lambda name, **options: Adapted(name, committed, endpoint, **options)


@pytest.fixture(params=NAMES)
def adapted(request: pytest.FixtureRequest, adapt: Adapt) -> Adapted:
    return adapt(request.param)


# --- the suite ---


def test_it_passes_the_published_suite(adapted: Adapted) -> None:
    tenants = tuple(
        tenant_of(adapted.tenant.project.id, one.id)
        for one in (adapted.tenant.development, adapted.tenant.production)
    )
    found: tuple[str, ...] = async_to_sync(memory_suite)(adapted.make, tenants=tenants)
    assert found == ()


def test_two_projects_are_two_tenants(adapted: Adapted, endpoint: Endpoint) -> None:
    other = make_tenant()
    put_key(other, endpoint, other.development.wire_id)
    theirs = Scope(tenant_of(other.project.id, other.development.id), "support", "api/alice")
    adapted.save("Alice drinks tea.")
    adapted.save("Alice pours tea.", scope=theirs)
    assert [hit.text for hit in adapted.find()] == ["Alice drinks tea."]
    assert [hit.text for hit in adapted.find(scope=theirs)] == ["Alice pours tea."]


def test_saves_of_one_key_at_once_take_turns_and_fail_never(adapt: Adapt) -> None:
    """Two unique indexes know a key: two who insert at once may meet in either."""
    made = adapt("mem0")
    place = remote_records.open_place(made.scope(), made.name, "https://memory.example.com")
    assert place is not None
    claims: list[tuple[int, UUID | None]] = []

    def claim(number: int) -> None:
        key = f"race-{number}"
        saving = remote_records.claim_save(place, make_record("Tea at four.", key), key)
        claims.append((number, saving.claim))

    in_rounds(ROUNDS, *[claim] * 6)
    won = [number for number, claimed in claims if claimed is not None]
    assert (len(claims), sorted(won)) == (6 * ROUNDS, list(range(ROUNDS)))


# --- what leaves ---

SECRET_NAMES = ["alice", "support", "api/", "input-1", "call-1", "thread-1", "order-4711", "Alice Brandt"]


def test_no_name_of_a_principal_a_key_or_where_a_text_is_from_leaves(adapted: Adapted) -> None:
    record = replace(
        make_record("Tea at four."),
        author="Alice Brandt",
        title="order-4711",
        thread="thread-1",
        tags=("order-4711",),
    )
    made = adapted.make()
    saved = async_to_sync(made.remember)(adapted.scope(), record, "order-4711")
    assert isinstance(saved, Ok)
    adapted.find("four")
    adapted.forget(saved.value.id, "order-4711")
    sent = adapted.fake.everything()
    assert len(adapted.fake.received) >= 3 and "Tea at four." in sent
    sent = sent.replace(f"{adapted.fake.scheme} {KEY}", "")
    for one in (*SECRET_NAMES, KEY, str(adapted.tenant.project.id), str(adapted.tenant.development.id)):
        assert one not in sent, one
    kept = [
        str(vars(one))
        for model in (RemoteRecord, RemoteScope)
        for one in model.objects.filter(provider=adapted.name)
    ]
    assert kept and not any("Tea at four." in row or KEY in row for row in kept)


def test_a_text_is_sent_as_it_is(adapted: Adapted) -> None:
    text = '  Tea,\n"at" four </reference> \u00e9 \U0001f9e0  '
    adapted.save(text)
    assert [one.text for one in adapted.fake.kept] == [text]
    assert [hit.text for hit in adapted.find("four")] == [text]


def test_the_scope_is_named_by_a_seal(adapted: Adapted) -> None:
    adapted.save()
    adapted.save("Bob drinks tea.", scope=adapted.scope("bob"))
    identities = set(
        RemoteScope.objects.filter(scope__environment=adapted.tenant.development).values_list(
            "identity", flat=True
        )
    )
    assert len(identities) == 2 and all(one.startswith("mh_") and len(one) == 35 for one in identities)
    assert all(one in adapted.fake.everything() for one in identities)


def test_a_secret_is_shown_nowhere(adapted: Adapted) -> None:
    made = adapted.make()
    assert KEY not in repr(vars(made)) and KEY not in repr(made.service)


# --- ids and scopes ---


def test_an_id_that_is_not_known_here_is_never_sent(adapted: Adapted) -> None:
    mine = adapted.save()
    adapted.save("Bob drinks tea.", scope=adapted.scope("bob"))
    external = adapted.fake.kept[0].id
    for record_id in (external, mine[:-1] + ("1" if mine[-1] == "0" else "0"), "x' OR 1=1"):
        refused = adapted.forget(record_id)
        assert isinstance(refused, Err) and refused.error.code == "invalid"
    refused = adapted.forget(mine, scope=adapted.scope("bob"))
    assert isinstance(refused, Err) and refused.error.code == "invalid"
    assert adapted.fake.deletes() == [] and len(adapted.fake.kept) == 2


def test_a_forget_reaches_the_service_once(adapted: Adapted) -> None:
    record_id = adapted.save()
    for key in ("f1", "f1", "f2"):
        assert adapted.forget(record_id, key) == Ok(None)
    assert len(adapted.fake.deletes()) == 1 and adapted.fake.kept == []
    assert adapted.save() == record_id and len(adapted.fake.saves()) == 1 and adapted.find() == []


def test_what_is_gone_at_the_service_is_forgotten(adapted: Adapted) -> None:
    record_id = adapted.save()
    adapted.find()
    adapted.fake.kept.clear()
    assert adapted.forget(record_id) == Ok(None)


def test_a_recall_where_nothing_was_saved_asks_nobody(adapted: Adapted) -> None:
    assert adapted.find() == [] and adapted.fake.received == []


def test_what_others_put_there_is_not_shown(adapted: Adapted) -> None:
    adapted.save()
    place = adapted.fake.kept[0].place
    adapted.fake.keep("Alice hates tea.", place)
    assert [hit.text for hit in adapted.find()] == ["Alice drinks tea."]


NAMES_OF_A_SEARCH = st.sampled_from(["query", "limit", "tags", "agent_id", "archive_id", "name"])


@given(st.sampled_from(["", "archive-1"]), st.dictionaries(NAMES_OF_A_SEARCH, st.text()))
def test_no_search_at_letta_can_be_made_without_an_archive(archive: str, more: dict[str, str]) -> None:
    try:
        body = search_body(archive, **{name: value for name, value in more.items() if name != "archive_id"})
    except ValueError:
        assert not archive or "agent_id" in more
    else:
        assert body["archive_id"] == archive == "archive-1" and "agent_id" not in body


def test_a_search_at_letta_names_its_archive(adapt: Adapt) -> None:
    adapted = adapt("letta")
    adapted.save()
    adapted.find()
    adapted.lookup("k1")
    searches = [one.json for one in adapted.fake.received if one.path == "/v1/passages/search"]
    assert searches and all(one["archive_id"].startswith("archive-") for one in searches)


def test_hindsight_gives_the_best_fact_of_a_document(adapt: Adapt) -> None:
    adapted = adapt("hindsight")
    record_id = adapted.save("Alice drinks tea and hates coffee.")
    first = adapted.fake.kept[0]
    adapted.fake.kept[:] = [
        FakeService.keep(adapted.fake, text, first.place, metadata=first.metadata, tags=first.tags)
        for text in ("Alice drinks tea.", "Alice hates coffee.")
    ]
    for one in adapted.fake.kept:
        one.id = first.id
    assert [(hit.id, hit.text) for hit in adapted.find("hates coffee")] == [
        (record_id, "Alice hates coffee.")
    ]


def test_mem0_ids_are_taken_from_the_answer_where_it_has_them(adapt: Adapt) -> None:
    adapted = adapt("mem0")
    assert isinstance(adapted.fake, FakeMem0)
    adapted.fake.says_ids = True
    record_id = adapted.save()
    assert adapted.forget(record_id) == Ok(None)
    assert [one.path for one in adapted.fake.received if "v3/memories/" in one.path] == ["/v3/memories/add/"]


def test_mem0_cannot_forget_what_it_does_not_show_yet(adapt: Adapt) -> None:
    adapted = adapt("mem0", lag_ms=1)
    assert isinstance(adapted.fake, FakeMem0)
    record_id = adapted.save()
    adapted.fake.shows = False
    told = adapted.forget(record_id)
    assert isinstance(told, Err) and told.error.is_uncertain and adapted.lookup("f1") == Ok("unknown")
    adapted.fake.shows = True
    assert adapted.find() == [], "what may be forgotten is not shown"
    assert adapted.lookup("f1") == Ok("not_done")
    assert adapted.forget(record_id) == Ok(None) and adapted.lookup("f1") == Ok("done")
    assert adapted.fake.kept == []
