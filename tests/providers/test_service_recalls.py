"""Recalls of a service: what is sent, what is accepted, and when they fail."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from memoryhub.errors import RecallFailed
from providers import model_requests, sessions
from providers.models import ModelRequest, Projection
from tests.providers import misbehaving
from tests.providers.services import SECRET, Service, in_thread, open_unwaited, wait_until


def test_a_recall_sends_what_the_contract_names_and_keeps_what_came(service: Service) -> None:
    session_id = service.open()
    accepted = service.recall(session_id)
    [exchange] = service.endpoint.exchanges
    sent = exchange.json
    assert exchange.line == "POST /memory HTTP/1.1"
    assert exchange.headers["authorization"] == f"Bearer {SECRET}"
    assert sent.keys() == {
        "version",
        "operation",
        "operationId",
        "partition",
        "access",
        "deadlineAt",
        "input",
        "maxBytes",
    }
    assert sent["operationId"] == f"{accepted.request.wire_id}:knowledge"
    assert (sent["operation"], sent["input"], sent["maxBytes"]) == ("recall", {"text": None}, 8_192)
    [projection] = accepted.projections
    assert (projection.text, projection.sources, projection.writable) == ("Known.", [{"id": "s1"}], True)
    assert projection.cursor == "c-1"


def test_a_tool_call_sends_its_arguments_with_the_cursor_of_the_recall(service: Service) -> None:
    call = service.use("remember", fact="It rains.")
    assert (call.output, call.is_error) == ({"status": "stored"}, False)
    sent = service.endpoint.exchanges[0].json
    assert (sent["operation"], sent["tool"], sent["cursor"]) == ("tool", "remember", "c-1")
    assert sent["arguments"] == {"fact": "It rains."}
    assert sent["operationId"] == f"{call.wire_id}:knowledge"


def test_a_failed_recall_blocks_the_request_and_a_repeat_asks_again(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.error(404, "gone_away")]
    with pytest.raises(RecallFailed) as failed:
        service.recall(session_id)
    assert failed.value.facts["cause"]["code"] == "gone_away"
    assert [one.text for one in service.recall(session_id).projections] == ["Known."]
    ids: list[Any] = [exchange.json["operationId"] for exchange in service.endpoint.exchanges]
    assert len(ids) == 2 and len(set(ids)) == 1


def test_resources_are_recalled_in_parallel_and_all_or_nothing(service: Service) -> None:
    for name in ("facts", "habits"):
        service.add(name)
    memory = {name: {"scope": "namespace", "id": "t"} for name in ("knowledge", "facts", "habits")}
    session_id = service.open(memory)
    service.endpoint.always = misbehaving.after(1.5)
    assert len(service.recall(session_id).projections) == 3
    times = [exchange.at for exchange in service.endpoint.exchanges]
    assert max(times) - min(times) < 1.5, "the last was asked after the first had answered"
    service.endpoint.always = misbehaving.normal
    service.endpoint.exchanges.clear()
    service.endpoint.script = [misbehaving.error(404, "not_found")]
    with pytest.raises(RecallFailed):
        service.recall(session_id, "r2")
    mine = Projection.objects.filter(model_request__session__project=service.tenant.project)
    assert mine.filter(model_request__client_request_id="r2").count() == 0
    assert len(service.recall(session_id, "r2").projections) == 3
    assert len(service.endpoint.exchanges) == 6


def test_what_the_render_never_selects_is_recalled_too_and_blocks(service: Service) -> None:
    service.add("unused")
    bound = {name: {"scope": "namespace", "id": "t"} for name in ("knowledge", "unused")}
    session_id = service.open(bound)
    request_id = service.begin(session_id)
    assert len(service.endpoint.exchanges) == 2
    tools = model_requests.select_memory(session_id, request_id, use=["knowledge"], actor=service.actor)
    assert all(list(tool.targets) == ["knowledge"] for tool in tools.values())
    service.endpoint.always = lambda exchange: (
        misbehaving.error(500)(exchange)
        if exchange.json["operationId"].endswith(":unused")
        else misbehaving.normal(exchange)
    )
    with pytest.raises(RecallFailed) as failed:
        service.recall(session_id, "r2")
    assert failed.value.facts["resource"] == "unused"


def test_before_it_is_accepted_a_retry_may_show_newer_text(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.error(400, "no")]
    with pytest.raises(RecallFailed):
        service.recall(session_id)
    newer = {"text": "Newer.", "sources": []}
    service.endpoint.script = [misbehaving.body(newer)]
    assert service.recall(session_id).projections[0].text == "Newer."
    assert service.recall(session_id).projections[0].text == "Newer."
    assert len(service.endpoint.exchanges) == 2


def test_an_accepted_recall_is_not_repeated(service: Service) -> None:
    session_id = service.open()
    service.recall(session_id)
    assert not service.recall(session_id).is_new
    assert len(service.endpoint.exchanges) == 1
    service.recall(session_id, "r2")
    assert len(service.endpoint.exchanges) == 2


def test_who_comes_second_waits_for_the_recall_of_the_first(service: Service) -> None:
    session_id = service.open()
    service.endpoint.always = misbehaving.after(0.3)

    def recall() -> str:
        try:
            return service.recall(session_id).projections[0].text
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        recalls = [pool.submit(recall) for _ in range(4)]
        assert {one.result() for one in recalls} == {"Known."}
    assert len(service.endpoint.exchanges) == 1


def test_a_recall_beside_documents(service: Service) -> None:
    service.declare()
    service.put(text="Deploy before noon.")
    memory = {
        "knowledge": {"scope": "namespace", "id": "t"},
        "playbook": {"scope": "document", "id": "team-a"},
    }
    texts = {one.resource_id: one.text for one in service.recall(service.open(memory)).projections}
    assert texts == {"knowledge": "Known.", "playbook": "Deploy before noon."}


def test_the_text_of_the_input_is_sent_and_nothing_else_of_it(service: Service) -> None:
    session_id = service.open()
    model_requests.open_request(
        session_id, client_request_id="r1", input_text="Where?", waits=True, actor=service.actor
    )
    assert service.endpoint.exchanges[0].json["input"] == {"text": "Where?"}


def test_an_input_too_long_for_a_request_blocks_and_is_not_sent(service: Service) -> None:
    session_id = service.open()
    with pytest.raises(RecallFailed) as failed:
        model_requests.open_request(
            session_id, client_request_id="r1", input_text="x" * 70_000, waits=True, actor=service.actor
        )
    assert failed.value.facts["cause"]["code"] == "request_too_large"
    assert service.endpoint.exchanges == []


LIMITS: list[tuple[str, dict[str, Any], str | None]] = [
    ("text at its limit", {"text": "x" * 8_192}, None),
    ("text over it", {"text": "x" * 8_193}, "recall_too_large"),
    ("text over it in bytes", {"text": "é" * 4_097}, "recall_too_large"),
    ("100 sources", {"sources": [{"id": str(n)} for n in range(100)]}, None),
    ("101 sources", {"sources": [{"id": str(n)} for n in range(101)]}, "response_too_large"),
    ("a long id", {"sources": [{"id": "x" * 1_025}]}, "response_too_large"),
    ("a long cursor", {"cursor": "x" * 1_025}, "response_too_large"),
    ("an empty id", {"sources": [{"id": ""}]}, "invalid_response"),
    ("no text", {"text": None}, "invalid_response"),
    ("no sources", {"sources": None}, "invalid_response"),
    ("a source that is no object", {"sources": ["s1"]}, "invalid_response"),
    ("a title that is no text", {"sources": [{"id": "s", "title": 1}]}, "invalid_response"),
    ("no time", {"sources": [{"id": "s", "updatedAt": "yesterday"}]}, "invalid_response"),
    ("null is absent", {"sources": [{"id": "s", "title": None}], "cursor": None}, None),
    ("NUL in a text", {"text": "a\0b"}, "invalid_response"),
]


@pytest.mark.parametrize(("name", "fields", "code"), LIMITS, ids=[name for name, *_ in LIMITS])
def test_a_field_of_a_recall(service: Service, name: str, fields: dict[str, Any], code: str | None) -> None:
    service.endpoint.script = [misbehaving.body({"text": "", "sources": []} | fields)]
    if code is None:
        service.recall(service.open())
        return
    with pytest.raises(RecallFailed) as failed:
        service.recall(service.open())
    assert failed.value.facts["cause"]["code"] == code


def test_what_is_not_known_of_a_source_is_dropped(service: Service) -> None:
    source = {"id": "s", "title": "T", "revision": "r", "updatedAt": "2026-11-30T12:00:00Z", "grant": "x"}
    service.endpoint.script = [misbehaving.body({"text": "", "sources": [source], "tools": []})]
    [projection] = service.recall(service.open()).projections
    assert projection.sources == [{key: source[key] for key in ("id", "title", "revision", "updatedAt")}]


def test_a_recall_that_ends_after_its_session_is_no_empty_memory(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.after(0.5)]
    with ThreadPoolExecutor(1) as pool:
        recalled = pool.submit(in_thread, lambda: service.recall(session_id))
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        sessions.end_session(session_id, actor=service.actor)
        with pytest.raises(RecallFailed) as failed:
            recalled.result(5)
    assert failed.value.facts["cause"]["code"] == "session_closed"
    request = ModelRequest.objects.get(session__project=service.tenant.project)
    assert (request.state, request.projections.count()) == ("recall_failed", 0)


def test_who_does_not_wait_asks_again(service: Service) -> None:
    session_id = service.open()
    service.endpoint.always = misbehaving.after(0.5)
    request = open_unwaited(service, session_id)
    assert request.state == "recalling"
    wait_until(lambda: ModelRequest.objects.get(id=request.id).state == "accepted")
