"""An endpoint whose records a memory provider keeps: in the scope of a partition, through the guard, and each operation once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.models import AuditEvent
from providers import (
    endpoint_calls,
    endpoint_declarations,
    endpoint_erasures,
    endpoint_records,
    endpoints,
    external_partitions,
    provider_choice,
    record_effects,
    records,
)
from providers.contract import Binding, MemoryHit, Ok, RecordRef, refuse
from providers.endpoint_declarations import declaration_of
from providers.guard import ScopedMemory
from providers.limits import BODY_BYTES_MAX
from providers.models import MemoryEffect, MemoryRecord, RecordScope, ScopeViolation
from tests.answers import Answer
from tests.providers.memory_services import FAKES
from tests.providers.misbehaving import Endpoint
from tests.providers.record_desk import LookingUp, Scripted, bind, hits_of, unavailable
from tests.providers.test_adapters import put_key
from tests.providers.test_endpoint_wire import Host, at, code, operations, partitions
from tests.providers.test_text_erasure import redact
from tests.world import Caller, Tenant

FACT = "The deploy window is on Tuesday."
WINDOW_MS = 600_000


@pytest.fixture
def host(tenant: Tenant) -> Host:
    """Over `local_memory`."""
    return Host(tenant, backing="provider")


@pytest.fixture
def remote(committed: Tenant) -> Host:
    """For a provider elsewhere, which is asked between transactions."""
    return Host(committed, backing="provider")


def use(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """As the provider of every environment."""
    for module in (endpoint_records, endpoint_declarations):
        monkeypatch.setattr(module, "provider_of", lambda environment_id: bind(provider))
    for module in (provider_choice, records):
        monkeypatch.setattr(module, "find_provider", lambda name: bind(provider))
    return provider


def texts(host: Host) -> list[str | None]:
    """Of all records of the project's hub, forgotten ones as None."""
    rows = MemoryRecord.objects.filter(project_id=host.actor.project_id).order_by("id")
    return list(rows.values_list("text", flat=True))


def effects(host: Host) -> list[tuple[str, str]]:
    rows = MemoryEffect.objects.filter(project_id=host.actor.project_id).order_by("id")
    return list(rows.values_list("tool", "state"))


# --- what it is ---


def tools(host: Host) -> dict[str, bool]:
    offered = declaration_of(host.endpoint)["resource"]["provider"]["tools"]
    return {tool["name"]: tool["idempotent"] for tool in offered}


@pytest.mark.parametrize(
    ("provider", "repeats"),
    [
        (Scripted(effect="idempotent", window_ms=10_000), True),
        (Scripted(effect="idempotent", window_ms=9_999), False),
        (LookingUp(), False),
        (Scripted(), False),
    ],
)
def test_the_declaration_promises_what_the_provider_does(
    host: Host, provider: Scripted, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tools(host) == {"search": False, "remember": True, "forget": True}  # local_memory
    use(provider, monkeypatch)
    assert tools(host) == {"search": False, "remember": repeats, "forget": repeats}


def test_a_provider_replaces_nothing_and_gives_no_cursor(host: Host) -> None:
    record_id = host.remember(FACT)
    recalled = host.recall("deploy").body
    assert recalled == {"text": FACT, "sources": [{"id": record_id, "revision": "1"}]}
    assert code(host.tool("replace", id=record_id, fact="x", cursor="c1.")) == (404, "unknown_tool")
    assert code(host.tool("forget", id=record_id, cursor="c1.")) == (400, "invalid_cursor")
    assert code(host.tool("remember", fact="x", access="read")) == (403, "read_only")
    assert code(host.tool("remember", fact="x" * 2_001)) == (400, "invalid_arguments")
    assert texts(host) == [FACT]


def test_what_a_host_writes_is_a_record_of_the_partitions_scope(host: Host) -> None:
    record_id = host.remember(FACT, operationId="op/1")
    scope = RecordScope.objects.get(project_id=host.actor.project_id)
    assert (scope.agent, scope.issuer, scope.subject) == ("http", "oc", f"{host.id}/p1")
    assert scope.scope == f"oc/{host.id}%2Fp1"
    record = MemoryRecord.objects.get(scope=scope)
    assert (record.record_id, record.text, record.origin) == (record_id, FACT, "model")
    effect = MemoryEffect.objects.get(scope=scope)
    assert (effect.key, effect.tool, effect.state) == ("p1:op/1", "save_memory", "done")
    assert (effect.created_by_type, effect.created_by_id) == (
        "service_account_actor",
        host.credential.wire_id,
    )
    noted = AuditEvent.objects.get(project_id=host.actor.project_id, action=AuditAction.RECORD_SAVED)
    assert (noted.actor_id, noted.subject_id) == (host.credential.wire_id, record_id)
    assert host.tool("forget", id=record_id).body == {"result": {"status": "stored"}}
    assert texts(host) == [None]
    assert AuditEvent.objects.filter(subject_id=record_id, action=AuditAction.RECORD_FORGOTTEN).count() == 1


def test_search_and_recall_are_bounded(host: Host) -> None:
    for number in range(22):
        host.remember(f"cat {number} " + "\x01" * 700)
    found = host.tool("search", query="cat", limit=20)
    assert found.status == 200 and len(found.content) <= BODY_BYTES_MAX
    hits = found.body["result"]["hits"]
    assert hits[0].keys() == {"id", "text", "score"}
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert len(host.tool("search", query="cat", limit=2).body["result"]["hits"]) == 2
    recalled = host.recall("cat", maxBytes=1_500).body
    assert 0 < len(recalled["text"].encode()) <= 1_500 and len(recalled["sources"]) == 2
    assert len(host.recall("cat").content) <= BODY_BYTES_MAX
    assert host.recall("cat " * 1_000).body["sources"] != []
    assert host.recall(None).body == host.recall("").body == {"text": "", "sources": []}


def test_partitions_and_endpoints_do_not_see_each_other(host: Host, tenant: Tenant) -> None:
    """Though they are of one environment, and the partitions and operations have the same names."""
    others = Host(tenant, "others", backing="provider")
    own = Host(tenant, "own")
    ids = [
        host.remember("Mine.", operationId="same"),
        host.remember("Second.", operationId="same", partition="p2"),
        others.remember("Harbour.", operationId="same"),
    ]
    assert len(set(ids)) == 3
    assert host.recall("Mine Second Harbour").body["text"] == "Mine."
    assert host.recall("Mine Second Harbour", partition="p2").body["text"] == "Second."
    assert others.recall("Mine Second Harbour").body["text"] == "Harbour."
    assert own.recall("Mine Second Harbour").body["text"] == ""
    missing = host.tool("forget", id="mrec_" + "0" * 24)
    assert code(missing) == (404, "not_found")
    for foreign in ids[1:]:
        assert host.tool("forget", id=foreign).content == missing.content
    assert texts(host) == ["Mine.", "Second.", "Harbour."]


def test_a_recall_of_nothing_stores_nothing(host: Host) -> None:
    assert host.recall("Anything?").body == {"text": "", "sources": []}
    assert host.tool("search", query="Anything?").body == {"result": {"hits": []}}
    assert (
        partitions(host).count() == RecordScope.objects.filter(project_id=host.actor.project_id).count() == 0
    )


def test_a_partition_holds_so_many_records(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_records, "PARTITION_RECORDS_MAX", 1)
    record_id = host.remember(FACT, operationId="first")
    assert code(host.tool("remember", fact="Two.", operationId="second")) == (400, "partition_full")
    assert host.remember(FACT, operationId="first") == record_id
    assert host.tool("forget", id=record_id).status == 200
    host.remember("Two.", operationId="second")
    assert texts(host) == [None, "Two."]


# --- once ---


def test_the_same_operation_is_the_same_record(host: Host) -> None:
    first = host.tool("remember", fact=FACT, operationId="same")
    again = host.tool("remember", fact=FACT, operationId="same")
    assert (again.status, again.content) == (200, first.content)
    for change in ({"fact": "Other."}, {"fact": FACT, "cursor": "c1.x"}):
        assert code(host.tool("remember", operationId="same", **change)) == (422, "operation_mismatch")
    assert code(host.tool("forget", id="x", operationId="same")) == (422, "operation_mismatch")
    assert texts(host) == [FACT]
    operations(host).update(created_at=ClockTimestamp() - timedelta(hours=25))
    endpoint_calls.clear_expired()
    assert operations(host).count() == 0
    assert code(host.tool("remember", fact="Other.", operationId="same")) == (422, "operation_mismatch")
    assert (
        host.tool("remember", fact=FACT, operationId="same").content == first.content
    )  # its key is kept for ever
    assert texts(host) == [FACT]


def test_an_operation_id_may_be_as_long_as_the_protocol_has_it(host: Host) -> None:
    longest = ["x" * 511 + "1", "x" * 511 + "2"]
    ids = [host.remember(FACT, operationId=one, partition="p" * 200) for one in (*longest, *longest)]
    assert ids[:2] == ids[2:] and ids[0] != ids[1]
    assert len(texts(host)) == 2


def test_after_its_record_is_forgotten_an_operation_is_erased(host: Host, tenant: Tenant) -> None:
    ids = [host.remember(f"{FACT} {number}", operationId=f"op{number}") for number in range(2)]
    host.tool("forget", id=ids[0])
    redact(tenant, contains=f"{FACT} 1", heads="delete")
    assert texts(host) == [None, None]
    for number in range(2):
        answer = host.tool("remember", fact=f"{FACT} {number}", operationId=f"op{number}")
        assert code(answer) == (410, "erased")
    assert host.tool("forget", id=ids[0]).status == 200  # gone already: the same
    assert texts(host) == [None, None]


def at_once(host: Host, request: dict[str, Any], count: int) -> list[Answer]:
    def send(_: int) -> Answer:
        try:
            return host.post(request)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(send, range(count)))


def test_twenty_at_once_are_one_record(remote: Host) -> None:
    request = remote.request(tool="remember", arguments={"fact": FACT})
    answers = at_once(remote, request, 20)
    assert {(one.status, one.content) for one in answers} == {(200, answers[0].content)}
    assert texts(remote) == [FACT]
    assert effects(remote) == [("save_memory", "done")]


# --- a provider elsewhere ---


def test_a_lost_answer_is_asked_for_again_and_nothing_is_sent_twice(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = use(Scripted(effect="idempotent", window_ms=WINDOW_MS), monkeypatch)
    first = remote.tool("remember", fact=FACT, operationId="same")
    assert first.body == {"result": {"status": "accepted", "id": "r1"}}
    operations(remote).update(status=0, body=b"")  # the hub stopped before it kept the answer
    assert remote.tool("remember", fact=FACT, operationId="same").content == first.content
    assert remote.tool("remember", fact=FACT, operationId="same").content == first.content
    assert provider.sent == [("remember", "p1:same")]


def test_who_asks_while_it_is_sent_waits_for_it(remote: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def answer() -> Any:
        asked.set()
        assert go_on.wait(5)
        return Ok(RecordRef("r1", "1"))

    provider = use(Scripted(answer, effect="idempotent", window_ms=WINDOW_MS), monkeypatch)
    monkeypatch.setattr(endpoint_records.time, "sleep", lambda seconds: go_on.set())
    request = remote.request(tool="remember", arguments={"fact": FACT})

    def send() -> Answer:
        try:
            return remote.post(request)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(send)
        assert asked.wait(5)
        second = remote.post(request)
    assert (second.status, second.content) == (200, first.result().content)
    assert len(provider.sent) == 1


def test_an_uncertain_write_is_under_way_until_the_ledger_settles_it(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.ledger.SENDS_MAX", 1)
    provider = use(Scripted(unavailable(), effect="idempotent", window_ms=WINDOW_MS), monkeypatch)
    request = remote.request(tool="remember", arguments={"fact": FACT}, operationId="same")
    for _ in range(2):
        answer = remote.post(request)
        assert code(answer) == (503, "in_progress") and answer.headers["retry-after"] == "1"
    assert len(provider.sent) == 1
    assert code(remote.tool("remember", fact="Other.", operationId="same")) == (422, "operation_mismatch")
    MemoryEffect.objects.filter(project_id=remote.actor.project_id).update(claimed_until=ClockTimestamp())
    record_effects.sweep_effects()
    assert remote.post(request).body == {"result": {"status": "accepted", "id": "r1"}}
    assert provider.sent == [("remember", "p1:same")] * 2


def test_what_nobody_knows_is_uncertain_until_a_person_decides(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = use(Scripted(unavailable()), monkeypatch)
    request = remote.request(tool="remember", arguments={"fact": FACT})
    for _ in range(2):
        answer = remote.post(request)
        assert code(answer) == (503, "uncertain")
        assert answer.body["error"]["details"] == {"mayHaveCommitted": True}
    [effect] = MemoryEffect.objects.filter(project_id=remote.actor.project_id)
    record_effects.resolve_effect(effect.wire_id, decision="done", actor=remote.actor)
    assert remote.post(request).body == {"result": {"status": "accepted"}}
    assert len(provider.sent) == 1


def test_what_was_certainly_not_sent_is_done_when_it_is_asked_again(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Scripted(unavailable(sent=False)), monkeypatch)
    request = remote.request(tool="remember", arguments={"fact": FACT})
    assert code(remote.post(request)) == (503, "unavailable")
    assert operations(remote).count() == 0
    assert remote.post(request).status == 200


def test_what_a_provider_refuses_is_replayed(remote: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = use(Scripted(refuse("Too long for me."), refuse("Who?")), monkeypatch)
    for tool, arguments, refusal in (
        ("remember", {"fact": FACT}, (422, "invalid")),
        ("forget", {"id": "r9"}, (404, "not_found")),
    ):
        request = remote.request(tool=tool, arguments=arguments)
        first = remote.post(request)
        assert code(first) == refusal
        assert remote.post(request).content == first.content
    assert len(provider.sent) == 2


def test_a_hit_of_another_scope_is_dropped_and_noted(remote: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = use(Scripted(), monkeypatch)
    remote.remember(FACT)
    scope = endpoint_records.scope_of_partition(remote.endpoint, "p1")
    own = hits_of(ScopedMemory(bind(provider), scope, remote.actor), provider, "Mine.")
    foreign = MemoryHit("h9", "1", "Foreign.", 9.0, "user", Binding("ns_x", "rec_x"))
    provider.hits = lambda k: [foreign, *own]
    assert remote.recall("anything").body == {"text": "Mine.", "sources": [{"id": "h0", "revision": "1"}]}
    assert ScopeViolation.objects.get(project_id=remote.actor.project_id).hit_id == "h9"


def test_a_provider_that_is_away_fails_a_read(remote: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = use(Scripted(), monkeypatch)
    remote.remember(FACT)
    provider.answers = [unavailable(), refuse("Never."), lambda: threading.Event().wait(0.6)]
    assert code(remote.recall("x")) == (503, "unavailable")
    assert code(remote.tool("search", query="x")) == (500, "provider_error")
    late = remote.recall("x", deadlineAt=at(0.3))  # no longer than the caller waits
    assert code(late) == (503, "unavailable")


# --- over the wire of a service ---


@pytest.mark.parametrize(("name", "status"), [("hindsight", "stored"), ("zep", "accepted")])
def test_a_service_that_loses_a_reply_keeps_one_record(
    committed: Tenant, endpoint: Endpoint, settings: Any, name: str, status: str
) -> None:
    """By a real adapter and a real socket, in the scope that alone the hub can tell of whom it is."""
    fake = FAKES[name](endpoint)
    put_key(committed, endpoint, committed.development.wire_id)
    options = fake.options | ({"dedup_window_ms": WINDOW_MS} if name == "zep" else {})
    declared = {"providers": {"team": {"adapter": name, "options": options}}, "default": "team"}
    settings.MEMORY_PROVIDERS = json.dumps(declared)
    host = Host(committed, backing="provider")
    fake.replies_lost = 1
    same = {"operationId": "same", "partition": "team-alpha"}  # no names that could stand in a digest
    first = host.tool("remember", fact=FACT, **same)
    again = host.tool("remember", fact=FACT, **same)
    assert (first.status, again.content) == (200, first.content)
    result = first.body["result"]
    assert result["status"] == status
    assert [one.text for one in fake.kept] == [FACT]
    assert host.id not in fake.everything() and "team-alpha" not in fake.everything()
    assert host.recall("deploy", partition="team-alpha").body["text"] == FACT
    assert host.recall("deploy", partition="team-beta").body["text"] == ""
    assert code(host.tool("forget", id=result["id"], partition="team-beta")) == (404, "not_found")
    external_partitions.delete_partition(host.id, partition_id(host, "team-alpha"), actor=host.actor)
    endpoint_erasures.sweep_erasures()
    assert fake.kept == []
    assert [one.partition for one in partitions(host)] == ["team-beta"]
    assert code(host.tool("remember", fact=FACT, **same)) == (410, "erased")


# --- the owner ---


def partition_id(host: Host, name: str = "p1") -> str:
    return partitions(host).get(partition=name).wire_id


def test_a_frozen_partition_is_read_and_not_written(remote: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.ledger.SENDS_MAX", 1)
    provider = use(Scripted(effect="idempotent", window_ms=WINDOW_MS), monkeypatch)
    remote.remember(FACT, operationId="first")
    provider.answers = [unavailable()]
    begun = remote.request(tool="remember", arguments={"fact": "Begun."})
    assert code(remote.post(begun)) == (503, "in_progress")
    provider.answers = [unavailable(sent=False)]
    unsent = remote.request(tool="remember", arguments={"fact": "Unsent."})
    assert code(remote.post(unsent)) == (503, "unavailable")
    external_partitions.freeze_partition(remote.id, partition_id(remote), actor=remote.actor)
    new = remote.request(tool="remember", arguments={"fact": "New."})
    for request in (new, unsent):
        assert code(remote.post(request)) == (403, "frozen")
    assert remote.tool("remember", fact=FACT, operationId="first").status == 200  # it was done before
    assert code(remote.post(begun)) == (503, "in_progress")  # it may have been
    assert remote.recall("x").status == 200
    external_partitions.unfreeze_partition(remote.id, partition_id(remote), actor=remote.actor)
    assert remote.post(new).status == remote.post(unsent).status == 200


def test_a_deleted_partition_is_forgotten_to_its_last_record(
    host: Host, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_erasures, "FORGOTTEN_MAX", 2)
    for number in range(5):
        host.remember(f"{FACT} {number}", operationId=f"op{number}")
    host.remember("Kept.", partition="p2")
    endpoint_calls.ingest(host.endpoint, "p1", [("user", "Hello.")])
    partition = partitions(host).get(partition="p1")
    url = f"/v1/endpoints/{host.id}/partitions/{partition.wire_id}"
    gone = {"id": partition.wire_id, "type": "external_partition_deleted"}
    assert call("DELETE", url).body == call("DELETE", url).body == gone
    assert partition.items.count() == 0
    shown = {one["partition"]: one for one in call("GET", url.rpartition("/")[0]).body["data"]}
    assert shown["p1"]["erasing_at"] is not None and shown["p2"]["erasing_at"] is None
    assert host.recall("deploy").body["text"] == ""  # though nothing is forgotten yet
    assert host.tool("search", query="deploy").body["result"]["hits"] == []
    assert code(host.tool("remember", fact="New.")) == (403, "frozen")
    assert call("POST", f"{url}/unfreeze").error_code == "partition_erasing"
    for left in (3, 1):
        endpoint_erasures.sweep_erasures()
        assert texts(host)[:5].count(None) == 5 - left
        assert partitions(host).count() == 2
    endpoint_erasures.sweep_erasures()
    assert texts(host) == [None] * 5 + ["Kept."]
    assert [one.partition for one in partitions(host)] == ["p2"]
    assert call("DELETE", url).status == 404
    assert code(host.tool("remember", fact=f"{FACT} 0", operationId="op0")) == (410, "erased")
    host.remember("Anew.")
    assert host.recall("Anew deploy").body["text"] == "Anew."


def test_what_hosts_write_while_a_partition_is_deleted_is_forgotten_or_refused(remote: Host) -> None:
    remote.remember(FACT)
    start = threading.Barrier(5)

    def write(number: int) -> Answer:
        """Until it is refused."""
        try:
            start.wait(5)
            written = (
                remote.tool("remember", fact="One more.", operationId=f"{number} {count}")
                for count in range(1_000)
            )
            return next(answer for answer in written if answer.status != 200)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number) for number in range(4)]
        start.wait(5)
        external_partitions.delete_partition(remote.id, partition_id(remote), actor=remote.actor)
        assert {code(writer.result()) for writer in writers} == {(403, "frozen")}
    while set(texts(remote)) != {None}:
        endpoint_erasures.sweep_erasures()
    endpoint_erasures.sweep_erasures()
    assert set(texts(remote)) == {None}
    assert partitions(remote).count() == 0


def test_a_deletion_waits_for_a_provider_that_is_away_with_one_doubt(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = use(Scripted(), monkeypatch)
    for number in range(3):
        provider.answers = [Ok(RecordRef(f"r{number}", "1"))]
        remote.remember(f"{FACT} {number}")
    external_partitions.delete_partition(remote.id, partition_id(remote), actor=remote.actor)
    provider.answers = [unavailable(sent=False)]  # it could not even be asked
    endpoint_erasures.sweep_erasures()
    provider.answers = [unavailable()]
    for _ in range(3):
        endpoint_erasures.sweep_erasures()
    assert effects(remote)[3:] == [("forget_memory", "unknown")]
    assert len(provider.sent) == 3 + 2
    doubt = MemoryEffect.objects.get(project_id=remote.actor.project_id, state="unknown")
    record_effects.resolve_effect(doubt.wire_id, decision="done", actor=remote.actor)
    provider.answers = [Ok(None), refuse("There is none.")]
    endpoint_erasures.sweep_erasures()
    assert partitions(remote).count() == 0
    assert len(provider.sent) == 3 + 4, "each of the others once"


def test_a_deletion_waits_for_a_save_that_is_on_its_way(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.ledger.SENDS_MAX", 1)
    provider = use(Scripted(unavailable(), effect="idempotent", window_ms=WINDOW_MS), monkeypatch)
    remote.tool("remember", fact=FACT)
    external_partitions.delete_partition(remote.id, partition_id(remote), actor=remote.actor)
    endpoint_erasures.sweep_erasures()
    assert partitions(remote).count() == 1
    MemoryEffect.objects.filter(project_id=remote.actor.project_id).update(claimed_until=ClockTimestamp())
    record_effects.sweep_effects()
    endpoint_erasures.sweep_erasures()
    assert partitions(remote).count() == 0
    assert [method for method, _ in provider.sent] == ["remember", "remember", "forget"]


def test_a_doubt_of_a_host_keeps_no_other_record_from_being_forgotten(
    remote: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = use(Scripted(), monkeypatch)
    remote.remember(FACT)
    provider.answers = [unavailable()]
    assert code(remote.tool("remember", fact="In doubt.")) == (503, "uncertain")
    external_partitions.delete_partition(remote.id, partition_id(remote), actor=remote.actor)
    endpoint_erasures.sweep_erasures()
    assert [method for method, _ in provider.sent] == ["remember", "remember", "forget"]
    assert partitions(remote).count() == 1
    [doubt] = MemoryEffect.objects.filter(project_id=remote.actor.project_id, state="unknown")
    provider.answers = [refuse("It was not kept.")]
    record_effects.resolve_effect(doubt.wire_id, decision="not_done", actor=remote.actor)
    endpoint_erasures.sweep_erasures()
    assert partitions(remote).count() == 0


def test_an_endpoint_goes_after_its_partitions(host: Host, call: Caller) -> None:
    host.remember(FACT)
    url = f"/v1/endpoints/{host.id}"
    refused = call("DELETE", url, query={"expected_name": "facts"})
    assert (refused.status, refused.error_code) == (409, "endpoint_holds_partitions")
    assert call("DELETE", f"{url}/partitions/{partition_id(host)}").status == 200
    endpoint_erasures.sweep_erasures()
    assert call("DELETE", url, query={"expected_name": "facts"}).status == 200
    assert texts(host) == [None]


def test_records_go_when_their_time_is_over(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[tuple[str, ...]] = []
    monkeypatch.setattr("memoryhub.jobs.enqueue", lambda name, *ids: rung.append((name, *ids)))
    host.remember("Old.")
    host.remember("New.")
    old = ClockTimestamp() - timedelta(days=31)
    MemoryRecord.objects.filter(project_id=host.actor.project_id, text="Old.").update(created_at=old)
    endpoint_calls.clear_expired()
    assert rung == [], "without a retention everything is kept"
    endpoints.update_endpoint(host.id, changes={"retention_days": 30}, actor=host.actor)
    endpoint_calls.clear_expired()
    partition = partitions(host).get()
    assert rung == [(endpoint_erasures.FORGET_AGED, partition.id.hex)]
    endpoint_erasures.forget_aged(partition.id)
    assert texts(host) == [None, "New."]


def test_what_a_provider_keeps_is_shown_among_the_records(host: Host, call: Caller) -> None:
    made = call("POST", "/v1/endpoints", {"name": "more", "backing": "provider"}).body
    assert (made["backing"], made["provider"]) == ("provider", "local")
    assert call("PATCH", f"/v1/endpoints/{made['id']}", {"backing": "own"}).status == 400
    own = call("POST", "/v1/endpoints", {"name": "own"}).body
    assert (own["backing"], own["provider"]) == ("own", None)
    assert len(own["declaration"]["resource"]["provider"]["tools"]) == 4
    record_id = host.remember(FACT)
    [shown] = call("GET", f"/v1/endpoints/{host.id}/partitions").body["data"]
    scope = RecordScope.objects.get(project_id=host.actor.project_id)
    assert (shown["records"], shown["characters"], shown["scope_id"]) == (1, None, scope.wire_id)
    inside = f"/v1/endpoints/{host.id}/partitions/{shown['id']}"
    for path in ("records", "export"):
        assert call("GET", f"{inside}/{path}").error_code == "records_at_provider"
    assert call("DELETE", f"{inside}/records/{record_id}").status == 404
    whose = {"agent": "http", "principal": {"issuer": "oc", "subject": f"{host.id}/p1"}}
    body = {"environment": "development", "scope": whose, "query": "deploy"}
    assert [hit["text"] for hit in call("POST", "/v1/records/search", body).body["hits"]] == [FACT]
