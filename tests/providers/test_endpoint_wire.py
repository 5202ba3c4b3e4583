"""An endpoint over HTTP: the order of its checks, its tools, its cursors, and writes that are done once."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.query import QuerySet
from django.test import Client

from providers import endpoints, external_partitions
from providers.limits import BODY_BYTES_MAX
from providers.models import EndpointOperation, ExternalItem, ExternalPartition, ExternalRecord
from tests.answers import Answer
from tests.world import Tenant


class Host:
    """Calls one endpoint with one credential, in this process."""

    def __init__(self, tenant: Tenant, name: str = "facts", backing: str = "own") -> None:
        self.actor = tenant.actor
        self.endpoint = endpoints.create_endpoint(
            environment="development",
            name=name,
            bytes_max=8_192,
            retention_days=None,
            backing=backing,
            actor=self.actor,
        )
        self.id = self.endpoint.wire_id
        issued = endpoints.create_credential(self.id, name="host", scope="memory", actor=self.actor)
        self.credential, self.token = issued.credential, issued.token
        self.count = 0

    def post(self, body: Any = None, *, path: str = "", raw: bytes | None = None, **more: Any) -> Answer:
        sent = json.dumps(body).encode() if raw is None else raw
        response = Client(raise_request_exception=False).post(
            f"/oc-memory/{more.pop('endpoint', self.id)}{path}",
            sent,
            content_type=more.pop("content_type", "application/json"),
            headers={"Authorization": f"Bearer {more.pop('token', self.token)}"},
        )
        return Answer(
            response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content
        )

    def request(self, **more: Any) -> dict[str, Any]:
        self.count += 1
        return {
            "version": 1,
            "operation": "tool",
            "operationId": f"op-{self.count}",
            "partition": "p1",
            "access": "read-write",
            "deadlineAt": at(10),
        } | more

    def tool(self, name: str, /, *, cursor: str | None = None, **arguments: Any) -> Answer:
        more = {key: arguments.pop(key) for key in ("partition", "operationId", "access") if key in arguments}
        more |= {} if cursor is None else {"cursor": cursor}
        return self.post(self.request(tool=name, arguments=arguments, **more))

    def recall(self, text: str | None = None, **more: Any) -> Answer:
        facts = {"operation": "recall", "input": {"text": text}, "maxBytes": 8_192} | more
        return self.post(self.request(**facts))

    def remember(self, fact: str, **more: Any) -> str:
        return str(self.tool("remember", fact=fact, **more).body["result"]["id"])


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def partitions(host: Host) -> QuerySet[ExternalPartition]:
    return ExternalPartition.objects.filter(endpoint=host.endpoint)


def records(host: Host) -> QuerySet[ExternalRecord]:
    return ExternalRecord.objects.filter(partition__endpoint=host.endpoint)


def items(host: Host) -> QuerySet[ExternalItem]:
    return ExternalItem.objects.filter(partition__endpoint=host.endpoint)


def operations(host: Host) -> QuerySet[EndpointOperation]:
    return EndpointOperation.objects.filter(partition__endpoint=host.endpoint)


@pytest.fixture
def host(tenant: Tenant) -> Host:
    return Host(tenant)


# --- the order of checks ---


def code(answer: Answer) -> tuple[int, str]:
    error = answer.body["error"]
    assert answer.body.keys() == {"error"} and {"code", "message"} <= error.keys()
    return answer.status, error["code"]


def test_only_post(host: Host) -> None:
    for method in ("get", "put", "patch", "delete", "head", "options"):
        answer = getattr(Client(), method)(f"/oc-memory/{host.id}")
        assert (answer.status_code, answer["Allow"]) == (405, "POST")


def test_each_check_stands_before_the_next(host: Host) -> None:
    """Each request breaks one rule and every rule after it."""
    wrong: dict[str, Any] = {
        "version": 2,
        "operation": "other",
        "deadlineAt": at(-1),
        "tool": "unknown",
        "access": "read",
        "arguments": {},
    }
    assert code(host.post(raw=b"x" * (BODY_BYTES_MAX + 1), token="no", content_type="text/plain")) == (
        413,
        "request_too_large",
    )
    assert code(host.post(raw=b"{", token="no", content_type="text/plain")) == (401, "unauthorized")
    assert code(host.post(raw=b"{", content_type="text/plain")) == (415, "unsupported_media_type")
    assert code(host.post(raw=b"{")) == (400, "invalid_json")
    assert code(host.post(raw=b'{"version":1,"version":1}')) == (400, "invalid_json")
    assert code(host.post(host.request(**wrong))) == (400, "unsupported_version")
    wrong["version"] = 1
    assert code(host.post(host.request(**wrong))) == (400, "invalid_request")
    wrong["operation"] = "tool"
    assert code(host.post(host.request(**wrong))) == (400, "deadline_expired")
    wrong["deadlineAt"] = at(10)
    assert code(host.post(host.request(**wrong))) == (404, "unknown_tool")
    wrong["tool"] = "replace"
    assert code(host.post(host.request(**wrong))) == (403, "read_only")
    wrong["access"] = "read-write"
    assert code(host.post(host.request(**wrong))) == (400, "invalid_arguments")
    wrong["arguments"] = {"id": "exrec_x", "fact": "y"}
    assert code(host.post(host.request(**wrong))) == (400, "cursor_required")
    assert code(host.post(host.request(**wrong, cursor="c1.AAAA"))) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    "change",
    [
        {"operationId": ""},
        {"operationId": "x" * 513},
        {"operationId": 1},
        {"partition": "a b"},
        {"partition": "x" * 201},
        {"partition": None},
        {"access": "write"},
        {"deadlineAt": "2026-11-30T12:00:00"},
        {"deadlineAt": "soon"},
        {"tool": None},
        {"arguments": []},
        {"cursor": "x" * 1_025},
        {"cursor": 1},
        {"operation": "recall", "input": {}, "maxBytes": 100},
        {"operation": "recall", "input": {"text": 1}, "maxBytes": 100},
        {"operation": "recall", "input": {"text": None}, "maxBytes": 0},
        {"operation": "recall", "input": {"text": None}, "maxBytes": 16_385},
        {"operation": "recall", "input": {"text": None}, "maxBytes": True},
    ],
)
def test_a_field_that_is_wrong(host: Host, change: dict[str, Any]) -> None:
    request = host.request(tool="search", arguments={"query": "x"}) | change
    assert code(host.post(request)) == (400, "invalid_request")


def test_unknown_keys_are_ignored(host: Host) -> None:
    assert host.post(host.request(tool="search", arguments={"query": "x"}, later=1)).status == 200


def test_a_credential_opens_one_endpoint_until_it_is_revoked(host: Host, tenant: Tenant) -> None:
    other = Host(tenant, "others")
    ingest = endpoints.create_credential(host.id, name="i", scope="ingest", actor=host.actor).token
    for token in (other.token, "", "mhe_", host.token[:-1] + "x", tenant.key, ingest):
        answer = host.post(host.request(), token=token)
        assert code(answer) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
    endpoints.revoke_credential(host.id, host.credential.wire_id, actor=host.actor)
    assert code(host.recall()) == (401, "unauthorized")


def test_an_unknown_credential_with_an_expired_deadline_is_unknown(host: Host) -> None:
    assert code(host.post(host.request(deadlineAt=at(-5)), token="x")) == (401, "unauthorized")


def test_too_many_requests(host: Host, settings: Any) -> None:
    settings.KEY_REQUESTS_PER_MINUTE_MAX = 1
    answers = [host.recall() for _ in range(3)]
    # The minute may turn once between two of them.
    assert answers[0].status == 200 and 429 in [answer.status for answer in answers]
    refused = next(answer for answer in answers if answer.status == 429)
    assert code(refused) == (429, "rate_limited") and int(refused.headers["retry-after"]) >= 1


# --- recall ---


def test_a_recall_of_nothing_stores_nothing(host: Host) -> None:
    answer = host.recall("Anything?")
    assert answer.status == 200
    assert (answer.body["text"], answer.body["sources"]) == ("", [])
    assert answer.body["cursor"].startswith("c1.")
    assert partitions(host).count() == 0


def test_a_recall_gives_what_fits_best_first_and_whole(host: Host) -> None:
    facts = ["The deploy window is on Tuesday.", "The office cat is called Miso.", "Coffee is on floor two."]
    for fact in facts:
        host.remember(fact)
    assert host.recall("When do we deploy?").body["text"].startswith(facts[0])
    assert host.recall(None).body["text"] == "\n".join(reversed(facts))
    small = host.recall("deploy", maxBytes=len(facts[0])).body
    assert (small["text"], len(small["sources"])) == (facts[0], 1)
    assert host.recall("deploy", maxBytes=5).body["text"] == ""


def test_partitions_do_not_see_each_other(host: Host, tenant: Tenant) -> None:
    record_id = host.remember("Mine.", partition="p1")
    cursor = host.recall(partition="p2").body["cursor"]
    assert host.recall(partition="p2").body["text"] == ""
    assert host.tool("search", query="Mine", partition="p2").body["result"]["hits"] == []
    missing = host.tool("replace", id="exrec_" + "0" * 32, fact="x", partition="p2", cursor=cursor)
    foreign = host.tool("replace", id=record_id, fact="x", partition="p2", cursor=cursor)
    assert code(foreign) == (404, "not_found")
    assert foreign.content == missing.content
    assert host.tool("forget", id=record_id, partition="p2", cursor=cursor).status == 200
    assert host.recall().body["text"] == "Mine."
    other = Host(tenant, "others")
    assert other.recall().body["text"] == ""


# --- tools ---


def test_search(host: Host) -> None:
    host.remember("The deploy window is on Tuesday.")
    host.remember("The office cat is called Miso.")
    [hit] = host.tool("search", query="cat").body["result"]["hits"]
    assert hit.keys() == {"id", "text", "score", "updatedAt"}
    assert hit["text"] == "The office cat is called Miso."
    assert len(host.tool("search", query="the deploy cat", limit=1).body["result"]["hits"]) == 1
    assert host.tool("search", query="...").body["result"]["hits"] == []
    for wrong in ({"query": ""}, {"query": "x", "limit": 21}, {"query": "x", "more": 1}, {}):
        assert code(host.tool("search", **wrong)) == (400, "invalid_arguments")


def test_what_is_stored_is_recalled_at_once(host: Host) -> None:
    record_id = host.remember("First.")
    cursor = host.recall().body["cursor"]
    replaced = host.tool("replace", id=record_id, fact="Second.", cursor=cursor)
    assert replaced.body["result"].keys() == {"status", "id", "revision"}
    assert host.recall().body["text"] == "Second."
    cursor = host.recall().body["cursor"]
    assert host.tool("forget", id=record_id, cursor=cursor).body == {"result": {"status": "stored"}}
    assert host.tool("forget", id=record_id, cursor=cursor).body == {"result": {"status": "stored"}}
    assert host.recall().body["text"] == ""


def test_a_partition_holds_so_many_records(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.endpoint_tools.PARTITION_RECORDS_MAX", 1)
    host.remember("One.")
    assert code(host.tool("remember", fact="Two.")) == (400, "partition_full")


@pytest.mark.parametrize("letter", ["x", "\u65e5", '"', "\x01", "\U0001f600"])
def test_no_answer_is_larger_than_a_host_may_read(host: Host, letter: str) -> None:
    """In bytes as JSON writes them: one control character is six."""
    endpoints.update_endpoint(host.id, changes={"bytes_max": 16_384}, actor=host.actor)
    for number in range(22):
        host.remember(f"cat {number} " + letter * 1_990)
    recalled = host.recall("cat", maxBytes=16_384)
    assert len(recalled.content) <= BODY_BYTES_MAX
    assert 5 * 1_990 < len(recalled.body["text"].encode()) <= 16_384
    found = host.tool("search", query="cat", limit=20)
    assert found.status == 200 and len(found.content) <= BODY_BYTES_MAX
    hits = found.body["result"]["hits"]
    assert len(hits) >= 5 and all(hit["text"].endswith(letter) for hit in hits)
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)


# --- cursors ---


def test_a_record_that_changed_since_is_a_conflict(host: Host) -> None:
    first, second = host.remember("First."), host.remember("Second.")
    cursor = host.recall().body["cursor"]
    host.tool("replace", id=first, fact="Changed.", cursor=cursor)
    for name, more in (("replace", {"fact": "Again."}), ("forget", {})):
        answer = host.tool(name, id=first, cursor=cursor, **more)
        assert code(answer) == (409, "conflict")
        assert answer.body["error"]["details"] == {"id": first}
    assert host.tool("replace", id=second, fact="Other.", cursor=cursor).status == 200
    assert host.tool("remember", fact="More.", cursor="whatever").status == 200


def test_a_cursor_belongs_to_its_partition_and_endpoint(host: Host, tenant: Tenant) -> None:
    record_id = host.remember("First.")
    other = Host(tenant, "others")
    for cursor in (host.recall(partition="p2").body["cursor"], other.recall().body["cursor"], "c1.", "c2.x"):
        assert code(host.tool("forget", id=record_id, cursor=cursor)) == (400, "invalid_cursor")


# --- once ---


def test_the_same_operation_gets_the_same_bytes(host: Host) -> None:
    first = host.tool("remember", fact="Once.", operationId="same")
    record_id = first.body["result"]["id"]
    host.tool("replace", id=record_id, fact="Changed.", cursor=host.recall().body["cursor"])
    again = host.tool("remember", fact="Once.", operationId="same")
    assert (again.status, again.content) == (first.status, first.content)
    assert records(host).count() == 1


def test_access_and_deadline_are_no_part_of_an_operation(host: Host) -> None:
    request = host.request(tool="remember", arguments={"fact": "Once."})
    first = host.post(request)
    assert host.post(request | {"deadlineAt": at(5)}).content == first.content
    assert records(host).count() == 1


@pytest.mark.parametrize(
    "change",
    [{"arguments": {"fact": "Other."}}, {"cursor": "c1.x"}, {"tool": "forget", "arguments": {"id": "x"}}],
)
def test_another_operation_under_a_used_id_is_refused(host: Host, change: dict[str, Any]) -> None:
    request = host.request(tool="remember", arguments={"fact": "Once."})
    host.post(request)
    assert code(host.post(request | change)) == (422, "operation_mismatch")
    assert records(host).count() == 1


def test_a_refusal_of_a_tool_is_replayed(host: Host) -> None:
    cursor = host.recall().body["cursor"]
    request = host.request(tool="replace", arguments={"id": "exrec_x", "fact": "x"}, cursor=cursor)
    first = host.post(request)
    assert code(first) == (404, "not_found")
    assert host.post(request).content == first.content
    assert operations(host).count() == 1


def test_partitions_count_operations_apart(host: Host) -> None:
    for partition in ("p1", "p2"):
        host.remember("Once.", operationId="same", partition=partition)
    assert records(host).count() == 2


def test_twenty_at_once_write_once(committed: Tenant) -> None:
    host = Host(committed)
    request = host.request(tool="remember", arguments={"fact": "Once."}, partition="race")

    def send(_: int) -> Answer:
        try:
            return host.post(request)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(20)))
    assert {(one.status, one.content) for one in answers} == {(200, answers[0].content)}
    assert ExternalRecord.objects.filter(partition__endpoint=host.endpoint).count() == 1


def test_an_operation_that_outlasts_its_caller_is_said_to_be_under_way(committed: Tenant) -> None:
    from django.db.transaction import atomic

    host = Host(committed)
    host.remember("First.", partition="held")

    def send() -> Answer:
        try:
            return host.post(
                host.request(
                    tool="remember", arguments={"fact": "Second."}, partition="held", deadlineAt=at(0.5)
                )
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, atomic():
        ExternalPartition.objects.select_for_update().get(endpoint=host.endpoint)
        answer = pool.submit(send).result()
    assert code(answer) == (503, "in_progress") and answer.headers["retry-after"] == "1"
    assert ExternalRecord.objects.filter(partition__endpoint=host.endpoint).count() == 1


# --- the owner ---


def test_a_frozen_partition_is_read_and_not_written(host: Host) -> None:
    record_id = host.remember("First.", operationId="first")
    partition = partitions(host).get()
    external_partitions.freeze_partition(host.id, partition.wire_id, actor=host.actor)
    cursor = host.recall().body["cursor"]
    assert host.recall().body["text"] == "First."
    request = host.request(tool="forget", arguments={"id": record_id}, cursor=cursor)
    assert code(host.post(request)) == (403, "frozen")
    assert host.tool("remember", fact="First.", operationId="first").status == 200  # it was done before
    external_partitions.unfreeze_partition(host.id, partition.wire_id, actor=host.actor)
    assert host.post(request).status == 200


def test_an_owners_edit_is_a_conflict_for_who_recalled_before(host: Host) -> None:
    record_id = host.remember("First.")
    cursor = host.recall().body["cursor"]
    partition = partitions(host).get()
    external_partitions.update_record(
        host.id, partition.wire_id, record_id, text="Edited.", expected_revision=1, actor=host.actor
    )
    assert code(host.tool("replace", id=record_id, fact="Mine.", cursor=cursor)) == (409, "conflict")
    [hit] = host.tool("search", query="Edited").body["result"]["hits"]
    assert hit["id"] == record_id


def test_conversations_have_their_own_way_in(host: Host) -> None:
    token = endpoints.create_credential(host.id, name="i", scope="ingest", actor=host.actor).token
    path = "/partitions/p1/ingest"
    said = {"items": [{"role": "user", "text": "My cat is called Miso."}]}
    assert host.post(said, path=path, token=token).body == {"status": "accepted", "items": 1}
    assert [item.text for item in items(host).all()] == ["My cat is called Miso."]
    assert code(host.post(said, path=path)) == (401, "unauthorized")
    for wrong in (
        {},
        {"items": []},
        {"items": [{"role": "god", "text": "x"}]},
        {"items": [{"role": "user"}]},
    ):
        assert code(host.post(wrong, path=path, token=token)) == (400, "invalid_request")
    assert host.recall().body["text"] == ""
