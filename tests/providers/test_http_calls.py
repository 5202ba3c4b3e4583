"""A model's calls of a service's tools, and how long they take."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import RecallFailed
from providers import http_operations, sessions, tool_calls
from providers.flights import Flight
from providers.models import HttpOperation, ToolCall
from tests.noise import NOISE_SECONDS
from tests.providers import misbehaving
from tests.providers.manifests import SCHEMA, tool
from tests.providers.services import Service, in_thread, open_unwaited, wait_until
from tests.world import Caller


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between attempts that were asked for: those that passed are these or, on a busy machine, more."""
    asked: list[float] = []
    pause = Flight.pause

    def noted(flight: Flight, seconds: float) -> None:
        asked.append(seconds)
        pause(flight, seconds)

    monkeypatch.setattr(Flight, "pause", noted)
    return asked


def test_the_delays_are_those_of_the_contract(service: Service, pauses: list[float]) -> None:
    service.endpoint.script = [misbehaving.error(503), misbehaving.error(503)]
    service.recall(service.open())
    assert 0.2 <= pauses[0] <= 0.3
    assert 0.8 <= pauses[1] <= 1.2
    at = [exchange.at for exchange in service.endpoint.exchanges]
    assert (at[1] - at[0] >= pauses[0], at[2] - at[1] >= pauses[1], len(at)) == (True, True, 3)


def test_what_a_call_asks_of_the_database(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim of a write reaches the disk before it is sent; that of what only reads need not."""
    session_id = service.open()
    request_id = service.begin(session_id)
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    recall = open_unwaited(service, session_id, "r2").http_operations.get()
    for fact, name in (("a", "remember"), ("b", "note"), ("c", "search")):
        arguments = {"session_id": session_id, "call_id": fact, "arguments": {"fact": fact}}
        tool_calls.call_tool(
            request_id=request_id, name=f"memory_{name}", waits=False, actor=service.actor, **arguments
        )
    search, note, remember = service.operations()[:3]
    HttpOperation.objects.filter(id=recall.id).update(beat_at=ClockTimestamp())  # however long all that took
    asked = {}
    for operation in (recall, search, note, remember):
        run = http_operations.run_handed_over if operation == recall else http_operations.run_operation
        with CaptureQueriesContext(connection) as queries:
            run(operation.id)
        asked[operation.tool or "recall"] = [query["sql"] for query in queries]
    early = {name for name, sent in asked.items() if any("synchronous_commit" in one for one in sent)}
    assert early == {"recall", "search"}
    assert len(asked["recall"]) <= 20, asked["recall"]  # with BEGIN and COMMIT of two transactions


def test_the_bytes_of_all_attempts_are_the_same(service: Service) -> None:
    service.endpoint.script = [misbehaving.error(503), misbehaving.drop]
    service.recall(service.open())
    assert len({exchange.body for exchange in service.endpoint.exchanges}) == 1


@pytest.mark.parametrize(
    ("sent", "least", "most"),
    [
        ("0", 0.0, 0.0),
        ("1", 1.0, 1.0),
        ("date:+4", 1.0, 4.0),  # whole seconds, less those since it was sent
        ("date:-60", 0.0, 0.0),
        ("60", 0.2, 0.3),
        ("-1", 0.2, 0.3),
        ("1.5", 0.2, 0.3),
        ("soon", 0.2, 0.3),
        ("", 0.2, 0.3),
    ],
)
def test_retry_after(service: Service, pauses: list[float], sent: str, least: float, most: float) -> None:
    if sent.startswith("date:"):
        moment = datetime.now(UTC) + timedelta(seconds=float(sent.removeprefix("date:")))
        sent = format_datetime(moment, usegmt=True)
    service.endpoint.script = [misbehaving.error(429, Retry_After=sent)]
    service.recall(service.open())
    first, second = service.endpoint.exchanges
    assert least <= pauses[0] <= most
    assert second.at - first.at >= pauses[0]


def test_a_hang_after_a_failure_ends_with_the_ten_seconds_of_the_operation(service: Service) -> None:
    service.endpoint.script = [misbehaving.error(429, Retry_After="3"), misbehaving.hang]
    started = time.monotonic()
    with pytest.raises(RecallFailed) as failed:
        service.recall(service.open())
    assert failed.value.facts["cause"]["code"] == "deadline_exceeded"
    took = time.monotonic() - started  # thirteen, were they of the second attempt
    assert 9.7 <= took <= 10.5 + NOISE_SECONDS
    assert service.endpoint.exchanges[1].ended.wait(2)


def test_a_call_posted_twice_at_once_is_sent_once(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.after(0.3)]

    def call() -> ToolCall:
        try:
            return service.call(session_id, request_id, "memory_remember", fact="x")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(call) for _ in range(8)]
        outcomes = [one.result() for one in calls]
    assert {one.id for one in outcomes} == {outcomes[0].id}
    assert all(one.output == {"status": "stored"} for one in outcomes)
    assert len(service.endpoint.exchanges) == 1


def test_all_calls_of_a_request_carry_the_cursor_of_its_recall(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.error(409, "conflict")]
    for number in range(2):
        service.call(session_id, request_id, "memory_note", f"c{number}", fact="x", cursor="mine")
    sent = [exchange.json for exchange in service.endpoint.exchanges]
    assert [one["cursor"] for one in sent] == ["c-1", "c-1"]
    assert sent[0]["arguments"] == {"fact": "x", "cursor": "mine"}


def test_without_a_cursor_the_field_is_left_out(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.body({"text": "", "sources": [], "cursor": None})]
    request_id = service.begin(session_id)
    service.call(session_id, request_id, "memory_note", fact="x")
    assert "cursor" not in service.endpoint.exchanges[-1].json


def test_a_target_that_is_not_meant_is_not_called(service: Service) -> None:
    service.add("facts")
    memory = {
        name: {"scope": "namespace", "id": "t", "access": access}
        for name, access in (("knowledge", "read-write"), ("facts", "read"))
    }
    session_id = service.open(memory)
    request_id = service.begin(session_id, use=["knowledge", "facts"])
    service.endpoint.exchanges.clear()

    def outcome(number: int, name: str, **arguments: Any) -> Any:
        return service.call(session_id, request_id, name, f"c{number}", fact="x", **arguments).output

    both = {"status": "rejected", "reason": "not_bound", "bound": ["facts", "knowledge"]}
    assert outcome(1, "memory_search") == both
    assert outcome(2, "memory_search", memory=7) == both
    assert outcome(3, "memory_search", memory="elsewhere") == both
    assert outcome(4, "memory_note", memory="facts")["reason"] == "read_only"
    assert service.endpoint.exchanges == []
    assert outcome(5, "memory_search", memory="facts") == {"status": "stored"}
    assert "memory" not in service.endpoint.exchanges[0].json["arguments"]
    assert service.endpoint.exchanges[0].json["access"] == "read"


def test_of_a_merged_tool_each_call_is_retried_as_its_target_allows(service: Service) -> None:
    merged = [tool("keep", idempotent=True)]
    service.add("once", tools=[tool("keep")])
    service.add("often", tools=merged)
    bound = {name: {"scope": "namespace", "id": "t", "access": "read-write"} for name in ("once", "often")}
    session_id = service.open(bound)
    request_id = service.begin(session_id, use=["once", "often"])
    service.endpoint.exchanges.clear()
    service.endpoint.always = misbehaving.drop
    once = service.call(session_id, request_id, "memory_keep", "c1", fact="x", memory="once")
    assert (once.output, len(service.endpoint.exchanges)) == ({"status": "uncertain"}, 1)
    often = service.call(session_id, request_id, "memory_keep", "c2", fact="x", memory="often")
    assert (often.output["error"]["code"], len(service.endpoint.exchanges)) == ("retries_exhausted", 4)


def test_the_target_is_taken_out_before_a_strict_schema_is_asked(service: Service) -> None:
    strict = {**SCHEMA, "additionalProperties": False}
    service.add("strict", tools=[tool("keep", input=strict)])
    session_id = service.open({"strict": {"scope": "namespace", "id": "t", "access": "read-write"}})
    request_id = service.begin(session_id, use=["strict"])
    call = service.call(session_id, request_id, "memory_keep", "c1", fact="x", memory="strict")
    assert call.output == {"status": "stored"}
    assert service.endpoint.exchanges[-1].json["arguments"] == {"fact": "x"}
    more = service.call(session_id, request_id, "memory_keep", "c2", fact="x", cursor="c-9")
    assert more.output["error"]["code"] == "invalid_arguments"
    assert len(service.endpoint.exchanges) == 2


def test_the_cursor_is_in_no_public_answer(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.body({"text": "", "sources": [], "cursor": "cursor-4711"})]
    request_id = service.begin(session_id)
    made = service.call(session_id, request_id, "memory_note", fact="x")
    call = Caller(service.tenant.key)
    for url in (
        "",
        "/events",
        "/model-requests",
        f"/model-requests/{request_id}",
        f"/tool-calls/{made.wire_id}",
        "/http-operations",
    ):
        answer = call("GET", f"/v1/sessions/{session_id}{url}")
        assert answer.status == 200 and b"cursor-4711" not in answer.content, url


@pytest.mark.parametrize("value", [None, 0, False, "text", [1], {"b": {"a": None}}])
def test_any_json_value_is_a_result(service: Service, value: Any) -> None:
    service.endpoint.script = [misbehaving.body({"result": value, "tools": ["more"], "access": "write"})]
    call = service.use("search")
    call.refresh_from_db()
    assert (call.output, call.is_error) == (value, False)


def test_a_session_that_ends_while_a_call_waits_makes_no_further_attempt(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.error(503, Retry_After="1")]
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(in_thread, lambda: service.call(session_id, request_id, "memory_note", fact="x"))
        wait_until(lambda: service.operations()[0].state == "waiting")
        sessions.end_session(session_id, actor=service.actor)
        error = called.result().output["error"]
    assert (error["code"], error["details"]["mayHaveCommitted"]) == ("session_closed", True)
    assert len(service.endpoint.exchanges) == 1


def test_an_attempt_under_way_at_the_end_of_the_session_is_finished(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.after(0.6)]
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(in_thread, lambda: service.call(session_id, request_id, "memory_note", fact="x"))
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        sessions.end_session(session_id, actor=service.actor)
        assert called.result().output == {"status": "stored"}


def test_a_revoked_binding_is_called_no_more(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    sessions.revoke_binding(session_id, "knowledge", actor=service.actor)
    call = service.call(session_id, request_id, "memory_note", fact="x")
    assert call.output == {"status": "rejected", "reason": "session_closed"}
    assert len(service.endpoint.exchanges) == 1


def test_of_a_call_that_was_never_sent_the_arguments_are_not_kept(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    sent = service.call(session_id, request_id, "memory_note", "c1", fact="It rains.")
    assert sent.arguments == {"fact": "It rains."}
    service.put_secret(origins=["https://elsewhere.example"])
    unsent = service.call(session_id, request_id, "memory_note", "c2", fact="It snows.")
    assert unsent.output["error"]["code"] == "secret_unavailable"
    assert unsent.arguments is None
    again = service.call(session_id, request_id, "memory_note", "c2", fact="It snows.")
    assert (again.id, again.output) == (unsent.id, unsent.output)
    assert len(service.endpoint.exchanges) == 1
