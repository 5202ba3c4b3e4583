"""A text that is erased wherever it stands is gone from all that services were sent and gave, and from what hosts keep here. Promise E1."""

import json
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memoryhub import deletions, jobs
from memoryhub.digests import sha256_hex
from memoryhub.errors import Gone, RecallFailed
from memoryhub.models import AuditEvent
from providers import (
    endpoint_calls,
    endpoints,
    external_partitions,
    http_operations,
    model_requests,
    sessions,
    settlements,
    tool_calls,
)
from providers.models import ExternalPartition, HttpOperation, ToolCall
from tests.answers import Answer
from tests.providers import misbehaving
from tests.providers.services import Service, in_thread, wait_until
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_deletions import rows_of
from tests.providers.test_endpoint_wire import Host, code
from tests.world import Caller, Tenant

OF_CALLS = {
    "providers_projection",
    "providers_toolcall",
    "providers_httpoperation",
    "providers_modelrequest",
}


@pytest.fixture
def canary() -> str:
    """Another one in each test: committed rows stay."""
    return f"canary{uuid.uuid4().hex}"


def redact(tenant: Tenant, **body: Any) -> Answer:
    answer = Caller(tenant.new_key("admin", whole=True))(
        "POST", "/v1/redactions", {"environment": "development"} | body
    )
    assert answer.status == 200, answer.body
    return answer


def leak(service: Service, text: str, namespace: str = "tenant-17") -> tuple[str, str, ToolCall, ToolCall]:
    """The text in all that can hold it: an input, what was recalled, a call, its result, errors of both. (session, request, calls)"""
    bound = {"knowledge": {"scope": "namespace", "id": namespace, "access": "read-write"}}
    session_id = service.open(bound)
    service.endpoint.script = [
        misbehaving.body({"text": text, "sources": [{"id": "s", "title": text}], "cursor": text}),
        misbehaving.body({"result": {"said": [text]}}),
        misbehaving.error(400, text[:200], details={"why": text}),
        misbehaving.error(404, "gone_away", details=[text]),
    ]

    def open_request(name: str) -> Any:
        return model_requests.open_request(
            session_id, client_request_id=name, input_text=text, waits=True, actor=service.actor
        )

    request_id = open_request("r1").request.wire_id
    model_requests.select_memory(session_id, request_id, use=["knowledge"], actor=service.actor)
    calls = [
        service.call(session_id, request_id, "memory_note", f"c{number}", fact=text) for number in range(2)
    ]
    with pytest.raises(RecallFailed):
        open_request("r2")
    return session_id, request_id, calls[0], calls[1]


@pytest.mark.parametrize("by", ["contains", "content_sha256"])
def test_all_that_was_sent_and_given_is_blanked(service: Service, canary: str, by: str) -> None:
    session_id, request_id, first, second = leak(service, canary)
    assert set(tables_with(canary)) == OF_CALLS
    sought = {by: canary if by == "contains" else sha256_hex(canary)}
    planned = redact(service.tenant, **sought, dry_run=True).body
    assert set(tables_with(canary)) == OF_CALLS
    done = redact(service.tenant, **sought, reason="leaked").body
    assert done == planned | {"dry_run": False}
    assert done["counts"]["copies_blanked"] == sum(done["elsewhere"]["copies"].values()) >= 8
    assert done["elsewhere"]["copies"].keys() == {
        "projections",
        "tool_calls",
        "http_operations",
        "model_requests",
    }
    assert tables_with(canary) == [] and tables_with(sha256_hex(canary)) == []
    call = Caller(service.tenant.key)
    for url in (
        f"model-requests/{request_id}",
        f"tool-calls/{first.wire_id}",
        f"tool-calls/{second.wire_id}",
    ):
        assert call("GET", f"/v1/sessions/{session_id}/{url}").refusal[0::2] == (410, "erased")
    listed = call("GET", f"/v1/sessions/{session_id}/model-requests").body["data"]
    assert listed[0]["failure"]["cause"]["code"] == "erased"
    again = redact(service.tenant, **sought).body
    assert again["elsewhere"]["copies"] == {} and again["counts"]["copies_blanked"] == 0


def test_an_erasure_is_in_the_trail_without_its_text(service: Service, canary: str) -> None:
    leak(service, canary)
    redact(service.tenant, contains=canary, reason="leaked")
    [event] = AuditEvent.objects.filter(project_id=service.actor.project_id, action="text.redacted")
    assert event.details["by"] == "contains" and event.details["copies"] >= 8
    assert event.details["reason"] == "leaked"


@pytest.mark.parametrize(
    "text", ['say "{}"', "line\n{}\tend", "back\\slash {}", "é 日本 {} 😀", "\x01{}\x7f"]
)
def test_texts_that_json_writes_otherwise_are_found(service: Service, canary: str, text: str) -> None:
    leak(service, text.format(canary))
    redact(service.tenant, contains=text.format(canary))
    assert tables_with(canary) == []


def test_what_other_services_may_still_hold_is_named(service: Service, canary: str) -> None:
    leak(service, canary)
    service.open({"knowledge": {"scope": "namespace", "id": "another", "access": "read"}})
    remote = redact(service.tenant, contains=canary).body["elsewhere"]["remote"]
    assert [(one["namespace"], one["known"]) for one in remote] == [("tenant-17", True), ("another", False)]
    assert {one["endpoint"] for one in remote} == {f"{service.endpoint.origin}/memory"}
    assert service.endpoint.exchanges[0].json["partition"] == remote[0]["partition"]


def test_only_the_environment_of_the_erasure_is_touched(service: Service, canary: str) -> None:
    session_id, request_id, *_ = leak(service, canary)
    redact(service.tenant, contains=canary, environment="production")
    assert set(tables_with(canary)) == OF_CALLS
    found = model_requests.get_accepted(session_id, request_id, actor=service.actor)
    assert found.projections[0].text == canary


def test_texts_beside_it_stay(service: Service, canary: str) -> None:
    session_id, request_id, *_ = leak(service, "kept " + uuid.uuid4().hex)
    leak(service, canary)
    redact(service.tenant, contains=canary)
    assert model_requests.get_accepted(session_id, request_id, actor=service.actor).projections[0].text


@pytest.mark.parametrize("tool", ["search", "note", "remember"])
def test_a_call_in_the_air_is_left_and_nothing_of_it_kept(service: Service, canary: str, tool: str) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.hang]
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(
            in_thread, lambda: service.call(session_id, request_id, f"memory_{tool}", fact=canary)
        )
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        redact(service.tenant, contains=canary)
        with pytest.raises(Gone):
            called.result(5)
    assert service.endpoint.exchanges[0].ended.wait(2)
    wait_until(lambda: service.operations()[0].state == "done")
    assert (service.operations()[0].code, len(service.endpoint.exchanges)) == ("cancelled", 1)
    assert tables_with(canary) == []


def test_a_call_that_nobody_took_yet_is_never_sent(
    service: Service, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    tool_calls.call_tool(
        session_id,
        request_id,
        call_id="c1",
        name="memory_note",
        arguments={"fact": canary},
        waits=False,
        actor=service.actor,
    )
    redact(service.tenant, contains=canary)
    http_operations.run_operation(service.operations()[0].id)
    assert service.operations()[0].code == "cancelled"
    assert ToolCall.objects.get(model_request__session__project=service.tenant.project).state == "done"
    assert service.endpoint.exchanges == [] and tables_with(canary) == []


def test_a_recall_in_the_air_fails_its_request(service: Service, canary: str) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.hang]

    def recall() -> Any:
        return model_requests.open_request(
            session_id, client_request_id="r1", input_text=canary, waits=True, actor=service.actor
        )

    with ThreadPoolExecutor(1) as pool:
        recalled = pool.submit(in_thread, recall)
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        redact(service.tenant, contains=canary)
        with pytest.raises(RecallFailed) as failed:
            recalled.result(5)
    assert failed.value.facts["cause"]["code"] == "cancelled"
    assert tables_with(canary) == []


def test_an_answer_that_is_being_kept_is_waited_for(
    service: Service, canary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be kept a moment after the erasure has looked."""
    is_kept, may_go_on = threading.Event(), threading.Event()
    settle = settlements.settle

    def settle_slowly(operation: HttpOperation, settlement: settlements.Settlement) -> None:
        settle(operation, settlement)
        is_kept.set()
        assert may_go_on.wait(10)

    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.script = [misbehaving.body({"result": canary})]
    monkeypatch.setattr(settlements, "settle", settle_slowly)
    with ThreadPoolExecutor(2) as pool:
        called = pool.submit(
            in_thread, lambda: service.call(session_id, request_id, "memory_search", fact="x")
        )
        assert is_kept.wait(5)
        erased = pool.submit(in_thread, lambda: redact(service.tenant, contains=canary))
        time.sleep(0.4)
        assert not erased.done()
        may_go_on.set()
        assert erased.result(5).body["elsewhere"]["copies"] == {"tool_calls": 1}
        called.exception(5)
    assert tables_with(canary) == []


# --- what hosts keep ---


def partition_of(host: Host) -> ExternalPartition:
    return ExternalPartition.objects.get(endpoint=host.endpoint, partition="p1")


@pytest.fixture
def host(tenant: Tenant) -> Host:
    return Host(tenant)


def test_records_and_items_are_named_or_deleted(host: Host, tenant: Tenant, canary: str) -> None:
    record_id = host.remember(f"The key is {canary}.", operationId="leak")
    kept_id = host.remember("The office cat is Miso.")
    endpoint_calls.ingest(host.endpoint, "p2", [("user", canary), ("user", "Hello.")])
    left = redact(tenant, contains=canary).body
    assert left["counts"]["records_left"] == 2 and left["elsewhere"]["deleted"] == []
    assert [one["type"] for one in left["elsewhere"]["left"]] == ["external_record", "external_item"]
    assert left["elsewhere"]["left"][0] == {
        "type": "external_record",
        "id": record_id,
        "endpoint_id": host.id,
        "partition_id": partition_of(host).wire_id,
    }
    cursor = host.recall().body["cursor"]
    done = redact(tenant, contains=canary, heads="delete").body
    assert done["counts"]["records_deleted"] == 2 and done["elsewhere"]["left"] == []
    assert tables_with(canary) == []
    assert host.recall().body["text"] == "The office cat is Miso."
    assert [one["id"] for one in host.recall().body["sources"]] == [kept_id]
    assert host.recall().body["cursor"] != cursor
    again = host.tool("remember", fact=f"The key is {canary}.", operationId="leak")
    assert code(again) == (410, "erased")


def test_by_the_digest_of_a_whole_text(host: Host, tenant: Tenant, canary: str) -> None:
    host.remember(canary)
    host.remember(f"Not only {canary}.")
    body = redact(tenant, content_sha256=sha256_hex(canary), heads="delete").body
    assert body["counts"]["records_deleted"] == 1
    assert host.recall().body["text"] == f"Not only {canary}."


def test_an_answer_is_blanked_with_the_record_that_it_wrote(host: Host, canary: str) -> None:
    for number, remove in enumerate((forget, delete)):
        record_id = host.remember(canary, operationId=f"op-of-{number}")
        remove(host, record_id)
        assert tables_with(canary) == []
        again = host.tool("remember", fact=canary, operationId=f"op-of-{number}")
        assert code(again) == (410, "erased")


def forget(host: Host, record_id: str) -> None:
    assert host.tool("forget", id=record_id, cursor=host.recall().body["cursor"]).status == 200


def delete(host: Host, record_id: str) -> None:
    partition = partition_of(host)
    external_partitions.delete_record(host.id, partition.wire_id, record_id, actor=host.actor)


def test_no_digest_of_a_call_is_kept_that_others_could_make(host: Host, canary: str) -> None:
    host.remember(canary, operationId="op")
    facts = {"arguments": {"fact": canary}, "tool": "remember"}
    bare = json.dumps(facts, separators=(",", ":"))
    assert tables_with(sha256_hex(bare)) == []


# --- deletions ---


def test_a_deleted_session_leaves_nothing_of_its_calls(service: Service, canary: str) -> None:
    session_id, *_ = leak(service, canary)
    sessions.delete_session(session_id, actor=service.actor)
    assert tables_with(canary) == []


@pytest.mark.parametrize("what", ["partition", "endpoint"])
def test_a_deleted_endpoint_or_partition_leaves_nothing(host: Host, canary: str, what: str) -> None:
    host.remember(canary)
    endpoint_calls.ingest(host.endpoint, "p1", [("user", canary)])
    assert len(tables_with(canary)) == 2
    if what == "endpoint":
        endpoints.delete_endpoint(host.id, expected_name="facts", actor=host.actor)
    else:
        partition = partition_of(host)
        external_partitions.delete_partition(host.id, partition.wire_id, actor=host.actor)
    assert tables_with(canary) == []


def test_a_deleted_project_leaves_no_row_calls_nobody_and_names_what_remains(
    service: Service, canary: str
) -> None:
    leak(service, canary)
    host = Host(service.tenant)
    host.remember(canary)
    endpoint_calls.ingest(host.endpoint, "p1", [("user", canary)])
    used = {table for table, count in rows_of(service.tenant).items() if count}
    assert used > OF_CALLS | {
        "providers_httpattempt",
        "providers_externalrecord",
        "providers_externalitem",
        "providers_endpointoperation",
        "providers_endpointcredential",
    }
    asked = len(service.endpoint.exchanges)
    project = service.tenant.project
    deleted = deletions.delete_project(project.wire_id, expected_name=project.name, actor=service.actor)
    assert {table: count for table, count in rows_of(service.tenant).items() if count} == {}
    assert tables_with(canary) == []
    [remaining] = deleted.remaining
    assert remaining["partition"] == service.endpoint.exchanges[0].json["partition"]
    assert len(service.endpoint.exchanges) == asked
