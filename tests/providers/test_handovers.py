"""Recalls that are claimed by who asks for them, and what may come between that and their sending."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import jobs
from memoryhub.clock import to_wire_milliseconds
from memoryhub.columns import ClockTimestamp
from memoryhub.private_origins import parse_private_origins
from providers import (
    cancellations,
    handovers,
    http_calls,
    http_operations,
    model_requests,
    sessions,
)
from providers.models import HttpOperation, ModelRequest
from tests.providers import misbehaving
from tests.providers.services import Service, in_thread, open_unwaited


@pytest.fixture
def rung(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was rung for, with no worker to hear it."""
    heard: list[str] = []
    monkeypatch.setattr(jobs, "_send", lambda name, ids: heard.append(name) or True)
    return heard


def ask(service: Service) -> HttpOperation:
    return open_unwaited(service, service.open()).http_operations.get()


def make_late(operation: HttpOperation, seconds: float = 1.0) -> None:
    before = ClockTimestamp() - timedelta(seconds=seconds)
    HttpOperation.objects.filter(id=operation.id).update(beat_at=before, started_at=before)


def cause_of(operation: HttpOperation) -> str:
    request = ModelRequest.objects.get(id=operation.model_request_id)
    assert (request.state, request.cause is None) == ("recall_failed", False)
    assert request.cause is not None
    return str(request.cause["cause"]["code"])


def test_what_is_handed_over_is_begun_with_one_statement(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    assert rung == [http_calls.SEND_RECALL]
    assert (operation.state, operation.claim, operation.attempt) == ("sending", operation.id, 1)
    with CaptureQueriesContext(connection) as queries:
        taken = handovers.take(operation.id, operation.environment_id)
    assert taken is not None and taken.body == operation.body
    assert [query["sql"].split()[0] for query in queries] == ["BEGIN", "SET", "UPDATE", "COMMIT"]


def test_the_bytes_name_the_deadline_of_the_row(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    http_operations.run_handed_over(operation.id)
    operation.refresh_from_db()
    assert operation.started_at is not None and operation.deadline_at == operation.started_at + timedelta(
        seconds=10
    )
    [exchange] = service.endpoint.exchanges
    assert exchange.json["deadlineAt"] == to_wire_milliseconds(operation.deadline_at)
    assert [one.event for one in service.attempts()] == ["succeeded"]


@pytest.mark.parametrize("late", [False, True])
def test_many_workers_send_it_once(service: Service, rung: list[str], late: bool) -> None:
    operation = ask(service)
    if late:
        make_late(operation)
    runs: list[Callable[..., None]] = [http_operations.run_handed_over, http_operations.run_operation] * 4
    with ThreadPoolExecutor(8) as pool:
        for run in [pool.submit(in_thread, lambda run=one: run(operation.id)) for one in runs]:
            run.result()
    assert len(service.endpoint.exchanges) == 1
    assert ModelRequest.objects.get(id=operation.model_request_id).state == "accepted"
    assert [one.number for one in service.attempts()] == [1]


def test_one_that_is_taken_late_has_its_ten_seconds_from_then(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    make_late(operation, handovers.LATE_SECONDS + 1)
    before = HttpOperation.objects.get(id=operation.id).started_at
    http_operations.run_handed_over(operation.id)
    operation.refresh_from_db()
    assert operation.started_at is not None and before is not None
    assert operation.started_at - before > timedelta(seconds=1)
    assert operation.deadline_at == operation.started_at + timedelta(seconds=10)
    assert (operation.code, operation.attempt, len(service.endpoint.exchanges)) == ("ok", 1, 1)


def test_of_a_session_that_ended_meanwhile_nothing_is_sent(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    sessions.end_session(operation.session.wire_id, actor=service.actor)
    http_operations.run_handed_over(operation.id)
    assert (cause_of(operation), service.endpoint.exchanges) == ("session_closed", [])


def test_of_a_binding_that_was_revoked_meanwhile_nothing_is_sent(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    sessions.revoke_binding(operation.session.wire_id, "knowledge", actor=service.actor)
    http_operations.run_handed_over(operation.id)
    request = ModelRequest.objects.get(id=operation.model_request_id)
    assert (request.state, request.projections.count()) == ("accepted", 0), "what is revoked is not recalled"
    operation.refresh_from_db()
    assert (operation.code, service.endpoint.exchanges) == ("session_closed", [])


def test_of_one_that_was_cancelled_meanwhile_nothing_is_sent(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    cancellations.cancel_operation(operation.session.wire_id, operation.wire_id, actor=service.actor)
    http_operations.run_handed_over(operation.id)
    assert (cause_of(operation), service.endpoint.exchanges) == ("cancelled", [])


def test_without_its_secret_nothing_is_sent(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    service.put_secret(origins=["https://elsewhere.example"])
    http_operations.run_handed_over(operation.id)
    assert (cause_of(operation), service.endpoint.exchanges) == ("secret_unavailable", [])
    operation.refresh_from_db()
    assert (operation.state, operation.attempt, operation.body) == ("done", 0, None)


def test_one_that_nobody_takes_is_rung_for_again(service: Service, rung: list[str]) -> None:
    operation = ask(service)
    make_late(operation, 0)
    http_operations.sweep()
    assert rung == [http_calls.SEND_RECALL], "too early to ring again"
    make_late(operation)
    http_operations.sweep()
    operation.refresh_from_db()
    assert rung[1:] == [http_calls.RUN]
    assert (operation.state, operation.claim, operation.attempt, operation.body) == ("ready", None, 0, None)
    http_operations.run_operation(operation.id)
    assert ModelRequest.objects.get(id=operation.model_request_id).state == "accepted"


def test_one_that_nobody_takes_for_long_is_no_dead_run(service: Service, rung: list[str]) -> None:
    """Nothing was sent, so nothing is noted as an attempt."""
    operation = ask(service)
    make_late(operation, http_operations.LOST_SECONDS + 1)
    http_operations.sweep()
    assert service.attempts() == []
    http_operations.run_operation(operation.id)
    assert [one.event for one in service.attempts()] == ["succeeded"]


def test_what_finds_no_place_waits_for_one(service: Service, rung: list[str]) -> None:
    session_id = service.open()
    asked = [open_unwaited(service, session_id, f"r{n}").http_operations.get() for n in range(5)]
    assert [one.state for one in asked] == ["sending"] * 4 + ["ready"]
    assert rung == [http_calls.SEND_RECALL] * 4 + [http_calls.RUN]
    http_operations.run_operation(asked[4].id)
    assert service.endpoint.exchanges == []
    http_operations.run_handed_over(asked[0].id)
    assert rung[5:] == [http_calls.RUN]
    http_operations.run_operation(asked[4].id)
    assert len(service.endpoint.exchanges) == 2


def test_a_recall_that_is_retried_keeps_its_bytes(service: Service, rung: list[str]) -> None:
    service.endpoint.script = [misbehaving.error(503, Retry_After="0")]
    http_operations.run_handed_over(ask(service).id)
    assert len({exchange.body for exchange in service.endpoint.exchanges}) == 1
    assert [one.event for one in service.attempts()] == ["busy", "succeeded"]


def test_requests_for_two_origins_do_not_wait_for_each_other(
    service: Service, rung: list[str], settings: Any
) -> None:
    """Each names them in another order; whoever counts at two origins holds them in one order."""
    with misbehaving.endpoint() as other:
        origins = ";".join(f"{one.origin}=127.0.0.0/8" for one in (service.endpoint, other))
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(origins)
        service.add("a-other", endpoint=other)
        service.add("z-other", endpoint=other)
        names = ["a-other", "knowledge", "z-other"]
        chosen = [names[:2], names[1:]] * 4
        opened = [service.open({name: {"scope": "namespace", "id": "t"} for name in one}) for one in chosen]
        started = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(in_thread, lambda key=one: open_unwaited(service, key)) for one in opened]
            for one in asked:
                assert one.result().state == model_requests.RECALLING
        assert time.monotonic() - started < 10
