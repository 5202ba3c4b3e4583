"""What dead workers and an emptied queue leave, and how many calls are in the air."""

import threading
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db.transaction import atomic

from memoryhub import ids, jobs
from memoryhub.columns import ClockTimestamp
from providers import http_calls, http_operations, tool_calls
from providers.models import HttpOperation, ModelRequest, Projection, ToolCall
from tests.providers import misbehaving
from tests.providers.misbehaving import Exchange
from tests.providers.services import Service, in_thread, open_unwaited, wait_until


def begun(service: Service, tool: str, monkeypatch: pytest.MonkeyPatch) -> tuple[ToolCall, HttpOperation]:
    """A call whose worker died in the midst of its first attempt, some seconds ago."""
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    session_id = service.open()
    request = ModelRequest.objects.create(
        project_id=service.actor.project_id,
        session_id=ids.from_wire(ids.SESSION, session_id),
        client_request_id="r1",
        state="accepted",
        selected=["knowledge"],
    )
    Projection.objects.create(
        project_id=service.actor.project_id,
        model_request=request,
        resource_id="knowledge",
        text="",
        sources=[],
        writable=True,
    )
    call = tool_calls.call_tool(
        session_id,
        request.wire_id,
        call_id="c1",
        name=f"memory_{tool}",
        arguments={"fact": "x"},
        waits=False,
        actor=service.actor,
    )
    assert call.state == "started"
    operation = service.operations()[0]
    assert http_operations._claim(operation.id, uuid.uuid4(), None) is not None
    HttpOperation.objects.filter(id=operation.id).update(beat_at=ClockTimestamp() - timedelta(seconds=5))
    return call, operation


def test_a_write_that_may_not_be_repeated_is_uncertain_after_the_death_of_its_worker(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, operation = begun(service, "remember", monkeypatch)
    http_operations.sweep()
    http_operations.run_operation(operation.id)
    call.refresh_from_db()
    assert (call.state, call.output, call.is_error) == ("done", {"status": "uncertain"}, False)
    assert service.endpoint.exchanges == []


@pytest.mark.parametrize("tool", ["note", "search"])
def test_what_may_be_repeated_goes_on_after_the_death_of_its_worker(
    service: Service, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    call, operation = begun(service, tool, monkeypatch)
    before = bytes(HttpOperation.objects.get(id=operation.id).body or b"")
    http_operations.sweep()
    http_operations.run_operation(operation.id)
    call.refresh_from_db()
    assert call.output == {"status": "stored"}
    assert [one.event for one in service.attempts()] == ["transport_failed", "succeeded"]
    assert [exchange.body for exchange in service.endpoint.exchanges] == [before]


def test_a_message_that_comes_again_sends_nothing_again(service: Service) -> None:
    service.use("remember")
    for _ in range(3):
        http_operations.run_operation(service.operations()[0].id)
    assert len(service.endpoint.exchanges) == 1


def test_two_workers_with_one_message_send_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    session_id = service.open()
    open_unwaited(service, session_id)
    operation = service.operations()[0]
    with ThreadPoolExecutor(8) as pool:
        for run in [
            pool.submit(in_thread, lambda: http_operations.run_operation(operation.id)) for _ in range(8)
        ]:
            run.result()
    assert len(service.endpoint.exchanges) == 1


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_wrong_and_steps_changes_no_outcome(
    service: Service, monkeypatch: pytest.MonkeyPatch, ids_come_back: None, hours: int
) -> None:
    """The worker's clock is an hour off, and steps back by two in the midst of an attempt, while a sweeper looks on."""
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    service.endpoint.script = [misbehaving.error(503), misbehaving.after(1.5)]
    began = time.monotonic()
    request = open_unwaited(service, service.open())
    operation = request.http_operations.get()
    with (
        time_machine.travel(datetime.now(UTC) + timedelta(hours=hours), tick=True) as clock,
        ThreadPoolExecutor(1) as pool,
    ):
        run = pool.submit(in_thread, lambda: http_operations.run_operation(operation.id))
        wait_until(lambda: len(service.endpoint.exchanges) == 2)
        clock.shift(timedelta(hours=-2 * hours))
        http_operations.sweep()
        run.result()
    request.refresh_from_db()
    operation.refresh_from_db()
    assert request.state == "accepted", request.cause
    assert [one.event for one in service.attempts()] == ["busy", "succeeded"]
    times = [operation.created_at, operation.started_at]
    times += [moment for one in service.attempts() for moment in (one.started_at, one.finished_at)]
    times += [operation.finished_at]
    assert times == sorted(times)
    assert times[-1] - times[0] <= timedelta(seconds=time.monotonic() - began)
    assert operation.deadline_at == operation.started_at + timedelta(seconds=10)


def test_an_operation_that_nobody_took_is_told_that_the_hub_is_too_busy(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    request = open_unwaited(service, service.open())
    before = ClockTimestamp() - timedelta(seconds=3)
    HttpOperation.objects.filter(model_request=request).update(created_at=before, beat_at=before)
    http_operations.sweep()
    request.refresh_from_db()
    assert request.state == "recall_failed"
    assert request.cause is not None and request.cause["cause"]["code"] == "host_overloaded"
    assert service.endpoint.exchanges == []


def test_an_emptied_queue_costs_time_and_no_work(
    service: Service, workers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    send = jobs._send
    monkeypatch.setattr(jobs, "_send", lambda name, ids: True)
    request = open_unwaited(service, service.open())
    monkeypatch.setattr(jobs, "_send", send)
    time.sleep(http_operations.RING_AGAIN_SECONDS + 0.1)
    http_operations.sweep()
    for worker in workers:
        worker.join()
    request.refresh_from_db()
    assert request.state == "accepted"


def test_few_calls_of_a_session_are_in_the_air_at_once(service: Service) -> None:
    names = ["knowledge", *(f"more-{n}" for n in range(5))]
    for name in names[1:]:
        service.add(name)
    session_id = service.open({name: {"scope": "namespace", "id": "t"} for name in names})
    service.endpoint.always = misbehaving.after(0.5)
    assert len(service.recall(session_id).projections) == 6
    at = sorted(exchange.at for exchange in service.endpoint.exchanges)
    assert at[3] - at[0] < 0.45 < at[4] - at[0]


def test_few_calls_of_an_origin_are_in_the_air_at_once(service: Service) -> None:
    for n in range(3):
        service.add(f"more-{n}")
    names = ["knowledge", *(f"more-{n}" for n in range(3))]
    bound = {name: {"scope": "namespace", "id": "t"} for name in names}
    service.endpoint.always = misbehaving.after(1.0)
    opened = [service.open(bound) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        recalled = [
            pool.submit(in_thread, lambda session_id=one: service.recall(session_id)) for one in opened
        ]
        assert all(len(one.result().projections) == 4 for one in recalled)
    at = sorted(exchange.at for exchange in service.endpoint.exchanges)
    assert len(at) == 20 and at[15] - at[0] < 0.95 < at[16] - at[0]


def test_bodies_go_before_operations(service: Service) -> None:
    service.recall(service.open())
    operation = service.operations()[0]
    HttpOperation.objects.filter(id=operation.id).update(finished_at=ClockTimestamp() - timedelta(hours=30))
    http_calls.clear_expired(bodies_hours=24, operations_days=30)
    operation.refresh_from_db()
    assert operation.body is None
    http_calls.clear_expired(bodies_hours=24, operations_days=1)
    assert not HttpOperation.objects.filter(id=operation.id).exists()


def test_an_answer_that_comes_while_its_row_is_held_waits_for_it(service: Service) -> None:
    """A beat, or whoever looks at the row, holds it for a moment: the run is not lost, nothing is sent again."""
    held, answered = threading.Event(), threading.Event()
    holding: list[Future[None]] = []

    def hold() -> None:
        with atomic():
            list(HttpOperation.objects.select_for_update().filter(project_id=service.actor.project_id))
            held.set()
            assert answered.wait(5)
            time.sleep(0.2)  # the run has its answer and wants the row

    def answer(exchange: Exchange) -> None:
        holding.append(pool.submit(in_thread, hold))
        assert held.wait(5)
        misbehaving.normal(exchange)
        answered.set()

    session_id = service.open()
    service.endpoint.script = [answer]
    with ThreadPoolExecutor(1) as pool:
        service.begin(session_id)
        [one.result() for one in holding]
    [operation] = service.operations()
    assert (operation.state, operation.code, operation.attempt) == ("done", "ok", 1)
    assert len(service.endpoint.exchanges) == 1
