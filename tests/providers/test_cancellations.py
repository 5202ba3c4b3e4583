"""Cancelling a call of a service, at each of its moments; and what is shown of every attempt."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from memoryhub import jobs
from memoryhub.errors import RecallFailed
from providers import cancellations, model_requests
from providers.models import ToolCall
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
    monkeypatch.setattr(jobs, "_send", lambda name, ids: None)
    session_id = service.open()
    open_unwaited(service, session_id)
    operation_id = service.operations()[0].wire_id
    for _ in range(2):
        done = cancellations.cancel_operation(session_id, operation_id, actor=service.actor)
        assert (done.state, done.code) == ("done", "cancelled")
    with pytest.raises(RecallFailed):
        model_requests._answer(service.operations()[0].model_request_id)
    assert service.endpoint.exchanges == []


def test_what_has_ended_stays_as_it_ended(service: Service) -> None:
    session_id = service.open()
    service.recall(session_id)
    operation = service.operations()[0]
    after = cancellations.cancel_operation(session_id, operation.wire_id, actor=service.actor)
    assert (after.code, after.cancelled_at) == ("ok", None)


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
