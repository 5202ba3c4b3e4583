"""Cancelling a call of a service, at each of its moments; and what is shown of every attempt."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from memoryhub import jobs
from memoryhub.audit import AuditAction
from memoryhub.errors import RecallFailed
from memoryhub.models import AuditEvent
from providers import cancellations, model_requests
from providers.models import ModelRequest, ToolCall
from providers.wire_answers import MESSAGES
from tests.answers import Answer
from tests.providers import misbehaving
from tests.providers.services import Service, in_thread, open_unwaited, wait_until
from tests.world import Caller


def begin_call(service: Service, pool: ThreadPoolExecutor, tool: str) -> tuple[str, Future[ToolCall]]:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    called = pool.submit(in_thread, lambda: service.call(session_id, request_id, f"memory_{tool}", fact="x"))
    return session_id, called


@pytest.mark.parametrize(("tool", "in_doubt"), [("search", False), ("note", True), ("remember", True)])
def test_in_the_midst_of_an_attempt_the_connection_is_closed(
    service: Service, tool: str, in_doubt: bool
) -> None:
    with ThreadPoolExecutor(1) as pool:
        session_id, called = begin_call(service, pool, tool)
        service.endpoint.script = [misbehaving.hang]
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        cancellations.cancel_operation(session_id, service.operations()[0].wire_id, actor=service.actor)
        error = called.result(5).output["error"]
    assert error["code"] == "cancelled"
    assert bool(error.get("details", {}).get("mayHaveCommitted")) == in_doubt
    [exchange] = service.endpoint.exchanges
    assert exchange.ended.wait(2) and exchange.left_at is not None


def test_between_two_attempts_no_further_one_is_made(service: Service) -> None:
    with ThreadPoolExecutor(1) as pool:
        session_id, called = begin_call(service, pool, "note")
        service.endpoint.script = [misbehaving.error(503, Retry_After="5")]
        wait_until(lambda: bool(service.endpoint.exchanges) and service.operations()[0].state == "waiting")
        cancellations.cancel_operation(session_id, service.operations()[0].wire_id, actor=service.actor)
        error = called.result(2).output["error"]
    assert (error["code"], error["details"]) == ("cancelled", {"mayHaveCommitted": True})
    assert len(service.endpoint.exchanges) == 1


def test_before_the_first_attempt_nothing_is_sent(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    session_id = service.open()
    open_unwaited(service, session_id)
    operation_id = service.operations()[0].wire_id
    for _ in range(2):
        done = cancellations.cancel_operation(session_id, operation_id, actor=service.actor)
        assert (done.state, done.code) == ("done", "cancelled")
    with pytest.raises(RecallFailed):
        model_requests._answer(service.operations()[0].model_request)
    assert service.endpoint.exchanges == []


def test_what_has_ended_stays_as_it_ended(service: Service) -> None:
    session_id = service.open()
    service.recall(session_id)
    operation = service.operations()[0]
    after = cancellations.cancel_operation(session_id, operation.wire_id, actor=service.actor)
    assert (after.code, after.cancelled_at) == ("ok", None)


def cancel(service: Service, session_id: str, request_id: str) -> Answer:
    url = f"/v1/sessions/{session_id}/model-requests/{request_id}/cancel"
    return Caller(service.tenant.key)("POST", url)


def test_a_request_is_cancelled_with_all_that_it_recalls(service: Service) -> None:
    service.add("facts")
    bound = {name: {"scope": "namespace", "id": "t"} for name in ("knowledge", "facts")}
    session_id = service.open(bound)
    service.endpoint.always = misbehaving.hang
    with ThreadPoolExecutor(1) as pool:
        recalled = pool.submit(in_thread, lambda: service.recall(session_id))
        wait_until(lambda: len(service.endpoint.exchanges) == 2)
        request = ModelRequest.objects.get(session__project=service.tenant.project)
        assert cancel(service, session_id, request.wire_id).body["id"] == request.wire_id
        with pytest.raises(RecallFailed) as failed:
            recalled.result(5)
    assert failed.value.facts["cause"]["code"] == "cancelled"
    assert all(exchange.ended.wait(2) and exchange.left_at for exchange in service.endpoint.exchanges)
    assert cancel(service, session_id, request.wire_id).body["state"] == "recall_failed"
    service.endpoint.always = misbehaving.normal
    assert len(service.recall(session_id).projections) == 2, "the same request recalls anew"


def test_a_request_is_cancelled_with_the_calls_of_its_tools(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    other_id = service.begin(session_id, "r2")
    service.endpoint.exchanges.clear()
    service.endpoint.always = misbehaving.hang
    asked = [(request_id, "note"), (request_id, "search"), (other_id, "search")]

    def call(number: int) -> ToolCall:
        request_id, tool = asked[number]
        return in_thread(
            lambda: service.call(session_id, request_id, f"memory_{tool}", f"c{number}", fact="x")
        )

    with ThreadPoolExecutor(3) as pool:
        called = [pool.submit(call, number) for number in range(3)]
        wait_until(lambda: len(service.endpoint.exchanges) == 3)
        assert cancel(service, session_id, request_id).body["state"] == "accepted"
        errors = [one.result(5).output["error"] for one in called[:2]]
        assert not called[2].done()
        cancel(service, session_id, other_id)
        called[2].result(5)
    assert [error["code"] for error in errors] == ["cancelled", "cancelled"]
    assert [bool(error.get("details")) for error in errors] == [True, False]
    service.endpoint.always = misbehaving.normal
    assert service.call(session_id, request_id, "memory_note", "more", fact="x").output == {
        "status": "stored"
    }


def test_with_nothing_under_way_a_cancelled_request_is_unchanged(service: Service) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    answer = cancel(service, session_id, request_id)
    assert (answer.status, answer.body["state"]) == (200, "accepted")
    assert cancel(service, session_id, "mrq_" + "0" * 32).status == 404
    events = AuditEvent.objects.filter(project_id=service.actor.project_id)
    assert not events.filter(action=AuditAction.HTTP_OPERATION_CANCELLED).exists()


def test_a_recall_in_the_air_leaves_when_it_is_cancelled(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.hang]
    with ThreadPoolExecutor(1) as pool:
        recalled = pool.submit(in_thread, lambda: service.recall(session_id))
        wait_until(lambda: len(service.endpoint.exchanges) == 1)
        cancellations.cancel_operation(session_id, service.operations()[0].wire_id, actor=service.actor)
        with pytest.raises(RecallFailed) as failed:
            recalled.result(5)
    assert failed.value.facts["cause"] == {"code": "cancelled", "message": MESSAGES["cancelled"]}
    assert service.endpoint.exchanges[0].ended.wait(2)


def test_every_attempt_is_shown_without_what_was_said(service: Service) -> None:
    session_id = service.open()
    service.endpoint.script = [misbehaving.error(503, Retry_After="0"), misbehaving.drop]
    service.recall(session_id)
    call = Caller(service.tenant.key)
    [shown] = call("GET", f"/v1/sessions/{session_id}/http-operations").body["data"]
    assert (shown["state"], shown["code"], shown["kind"], shown["resource"]) == (
        "done",
        "ok",
        "recall",
        "knowledge",
    )
    attempts: list[dict[str, Any]] = shown["attempts"]
    assert [(one["event"], one["status"]) for one in attempts] == [
        ("busy", 503),
        ("transport_failed", None),
        ("succeeded", 200),
    ]
    assert [one["delay_seconds"] for one in attempts] == [0.0, 1.0, None]
    assert {one["address"] for one in attempts} == {"127.0.0.1"}
    assert "Known." not in str(shown)
