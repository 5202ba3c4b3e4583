"""Notices on their way: signed, tried again, recorded. Real sockets, real transactions."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.transaction import atomic

from memoryhub import ids, notices, webhook_sending, webhooks
from memoryhub.models import AuditEvent
from memoryhub.notice_models import Webhook, WebhookDelivery
from memoryhub.private_origins import parse_private_origins
from tests.concurrency.clients import run_together
from tests.noise import NOISE_SECONDS
from tests.providers import misbehaving
from tests.webhooks.receivers import (
    OK,
    Desk,
    again,
    attempts,
    deliveries,
    in_thread,
    notices_of,
    parsed,
    the_delivery,
    verified,
    wait_until,
)

# --- what is sent ---


def test_a_notice_is_posted_signed_and_recorded(desk: Desk) -> None:
    issued = desk.add("webhook.disabled")
    subject_id = desk.tell()
    assert desk.send(issued.webhook) and not desk.send(issued.webhook)
    [exchange] = desk.receiver.exchanges
    [notice] = notices_of(desk.tenant)
    assert exchange.line == "POST /hooks HTTP/1.1"
    assert exchange.headers["webhook-id"] == notice.wire_id
    assert exchange.headers["content-type"] == "application/json"
    payload = verified(exchange, issued.secret)
    assert payload == {
        "type": "webhook.disabled",
        "timestamp": payload["timestamp"],
        "data": {
            "id": subject_id,
            "project_id": desk.tenant.project.wire_id,
            "environment_id": desk.environment.wire_id,
            "webhook_id": subject_id,
            "reason": "failing",
        },
    }
    delivery = the_delivery(issued.webhook)
    assert (delivery.state, delivery.code, delivery.attempts) == ("delivered", "delivered", 1)
    [attempt] = attempts(delivery)
    assert (attempt.code, attempt.status, json.loads(attempt.answer_start)) == (
        "delivered",
        200,
        {"got": "it"},
    )
    assert 0 <= attempt.milliseconds < 5_000


def test_the_path_and_the_query_of_the_url_are_kept(desk: Desk) -> None:
    issued = desk.add(url=f"{desk.receiver.origin}/a/b%20c?key=1&more=%C3%A9")
    desk.tell()
    desk.send(issued.webhook)
    assert desk.receiver.exchanges[0].line == "POST /a/b%20c?key=1&more=%C3%A9 HTTP/1.1"


def test_only_what_was_asked_for_is_told_and_only_of_its_environment(desk: Desk) -> None:
    asked, other = desk.add("webhook.disabled"), desk.add("webhook.test")
    elsewhere = webhooks.create_webhook(
        environment="production",
        url=f"{desk.receiver.origin}/hooks",
        description="",
        event_types=["*"],
        actor=desk.actor,
    )
    desk.tell()
    assert [len(deliveries(one.webhook)) for one in (asked, other, elsewhere)] == [1, 0, 0]


def test_where_nobody_listens_no_row_is_written(desk: Desk) -> None:
    off = desk.add()
    webhooks.update_webhook(off.webhook.wire_id, changes={"enabled": False}, actor=desk.actor)
    desk.tell()
    assert notices_of(desk.tenant) == []


def test_what_is_rolled_back_is_not_told(desk: Desk, quiet: list[Any]) -> None:
    issued = desk.add()
    with pytest.raises(RuntimeError, match="undone"), atomic():
        desk.tell()
        raise RuntimeError("undone")
    assert deliveries(issued.webhook) == notices_of(desk.tenant) == quiet == []


def test_a_notice_holds_what_its_type_declares_and_no_text(desk: Desk) -> None:
    for facts in ({"webhook_id": "a"}, {"webhook_id": "a", "reason": "a text of somebody"}):
        with pytest.raises(AssertionError), atomic():
            notices.record(
                "webhook.disabled",
                "a",
                project_id=desk.environment.project_id,
                environment_id=desk.environment.id,
                facts=facts,
            )


def test_while_a_secret_is_rotated_both_sign_and_then_the_new_one_alone(desk: Desk) -> None:
    issued = desk.add()
    old = issued.secret
    rotated = webhooks.rotate_secret(issued.webhook.wire_id, overlap_seconds=60, actor=desk.actor)
    desk.tell()
    desk.send(issued.webhook)
    [exchange] = desk.receiver.exchanges
    assert verified(exchange, old) == verified(exchange, rotated.secret)
    Webhook.objects.filter(id=issued.webhook.id).update(old_until=issued.webhook.created_at)
    desk.tell()
    desk.send(issued.webhook)
    exchange = desk.receiver.exchanges[1]
    assert len(exchange.headers["webhook-signature"].split()) == 1
    verified(exchange, rotated.secret)


# --- retries ---


def test_5xx_and_then_200(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    desk.receiver.script = [misbehaving.error(503), misbehaving.error(500)]
    for state in ("pending", "pending", "delivered"):
        desk.let_time_pass(issued.webhook)
        assert desk.send(issued.webhook)
        assert the_delivery(issued.webhook).state == state
    assert [one.status for one in attempts(the_delivery(issued.webhook))] == [503, 500, 200]
    sent = desk.receiver.exchanges
    assert len({exchange.headers["webhook-id"] for exchange in sent}) == 1
    assert len({exchange.body for exchange in sent}) == 1
    webhook = again(issued.webhook)
    assert (webhook.failures, webhook.failing_since, webhook.paused_until) == (0, None, None)


def test_a_retry_waits_for_its_time(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    desk.receiver.script = [misbehaving.error(500)]
    desk.send(issued.webhook)
    wait = (
        the_delivery(issued.webhook).due_at - attempts(the_delivery(issued.webhook))[0].started_at
    ).total_seconds()
    assert 4.9 < wait < 8
    Webhook.objects.filter(id=issued.webhook.id).update(paused_until=None)
    assert not desk.send(issued.webhook)


def test_retry_after_is_respected_within_a_bound(desk: Desk) -> None:
    issued = desk.add()
    for asked, least, most in (("600", 595, 605), ("999999", 3_590, 3_605)):
        desk.tell()
        desk.receiver.script = [misbehaving.error(429, Retry_After=asked)]
        desk.let_time_pass(issued.webhook)
        desk.send(issued.webhook)
        [delivery] = [one for one in deliveries(issued.webhook) if one.state == "pending"]
        attempt = attempts(delivery)[0]
        assert least < (delivery.due_at - attempt.started_at).total_seconds() < most
        WebhookDelivery.objects.filter(id=delivery.id).delete()


def test_after_the_last_try_it_has_failed_and_the_others_go_on(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    WebhookDelivery.objects.filter(webhook=issued.webhook).update(tries=9)
    desk.receiver.script = [misbehaving.error(500)]
    desk.send(issued.webhook)
    delivery = the_delivery(issued.webhook)
    assert (delivery.state, delivery.code, delivery.finished_at is not None) == ("failed", "refused", True)
    assert again(issued.webhook).is_enabled


def test_what_waited_too_long_behind_a_receiver_that_fails_is_given_up(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    WebhookDelivery.objects.filter(webhook=issued.webhook).update(expires_at=issued.webhook.created_at)
    webhook_sending.sweep()
    assert (the_delivery(issued.webhook).state, the_delivery(issued.webhook).code) == ("failed", "expired")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_refused(desk: Desk, status: int) -> None:
    issued = desk.add()
    with misbehaving.endpoint() as other:
        desk.receiver.script = [misbehaving.body({}, status, Location=f"{other.origin}/elsewhere")]
        desk.tell()
        desk.send(issued.webhook)
        assert other.connected == 0
    assert the_delivery(issued.webhook).code == "redirected"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (misbehaving.hang, "too_slow"),
        (misbehaving.drip_head, "too_slow"),
        (misbehaving.drip_body, "too_slow"),
        (misbehaving.drop, "no_answer"),
        (misbehaving.reset, "no_answer"),
        (misbehaving.drop_inside, "no_answer"),
    ],
)
def test_a_receiver_that_misbehaves_is_left_in_time(
    desk: Desk, behaviour: Any, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sending, "BUDGET_SECONDS", 0.5 if code == "too_slow" else 4.0)
    monkeypatch.setattr(misbehaving, "normal_body", lambda request: {"text": "x" * 200})
    issued = desk.add()
    desk.tell()
    desk.receiver.script = [behaviour]
    started = time.monotonic()
    desk.send(issued.webhook)
    assert time.monotonic() - started < 1.5 + NOISE_SECONDS
    assert (the_delivery(issued.webhook).state, the_delivery(issued.webhook).code) == ("pending", code)


def test_an_answer_is_kept_to_its_bound_and_a_large_one_counts_by_its_status(desk: Desk) -> None:
    issued = desk.add()
    for content, kept in ((b"\0\xff" + b"x" * 5_000, 1_024), (b"x" * 70_000, 0)):
        desk.tell()
        desk.receiver.script = [misbehaving.raw(misbehaving.answer(200, content))]
        desk.send(issued.webhook)
        delivery = deliveries(issued.webhook)[-1]
        assert delivery.state == "delivered"
        assert len(attempts(delivery)[0].answer_start) == kept


# --- disabling ---


def test_410_disables_and_says_why(desk: Desk) -> None:
    issued, other = desk.add(), desk.add("webhook.disabled", url=f"{desk.receiver.origin}/other")
    desk.tell()
    desk.tell()
    desk.receiver.script = [misbehaving.error(410)]
    desk.send(issued.webhook)
    webhook = again(issued.webhook)
    assert (webhook.is_enabled, webhook.disabled_reason) == (False, "gone")
    assert sorted((one.state, one.code) for one in deliveries(webhook)) == [
        ("failed", "disabled"),
        ("failed", "gone"),
    ]
    [event] = AuditEvent.objects.filter(subject_id=webhook.wire_id, action="webhook.disabled")
    assert event.details == {"reason": "gone", "failures": 1}
    told = deliveries(other.webhook)[-1].notice
    assert (told.type, told.subject_id, told.facts["reason"]) == ("webhook.disabled", webhook.wire_id, "gone")
    assert not desk.send(issued.webhook)


def test_a_receiver_that_fails_for_days_is_disabled_and_one_that_fails_often_is_not(desk: Desk) -> None:
    issued = desk.add()
    for failing_since, enabled in ((issued.webhook.created_at, True), ("2026-01-01T00:00:00Z", False)):
        Webhook.objects.filter(id=issued.webhook.id).update(failures=50, failing_since=failing_since)
        desk.tell()
        desk.receiver.script = [misbehaving.error(500)]
        desk.let_time_pass(issued.webhook)
        desk.send(issued.webhook)
        assert again(issued.webhook).is_enabled == enabled
    assert again(issued.webhook).disabled_reason == "failing"


def test_enabled_again_it_begins_anew(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    desk.receiver.script = [misbehaving.error(410)]
    desk.send(issued.webhook)
    desk.tell()  # nobody is told of this one
    webhook = webhooks.update_webhook(issued.webhook.wire_id, changes={"enabled": True}, actor=desk.actor)
    assert (webhook.is_enabled, webhook.failures, webhook.disabled_reason) == (True, 0, None)
    desk.replay(the_delivery(webhook))
    assert desk.send(webhook)
    assert the_delivery(webhook).state == "delivered"


# --- addresses ---


def test_private_addresses_are_refused_by_the_policy_of_all_calls(desk: Desk, settings: Any) -> None:
    issued = desk.add()
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{desk.receiver.origin}=10.0.0.0/8")
    desk.tell()
    desk.send(issued.webhook)
    settings.EGRESS_PRIVATE_ORIGINS = {}
    desk.let_time_pass(issued.webhook)
    desk.send(issued.webhook)
    assert [one.code for one in attempts(the_delivery(issued.webhook))] == ["egress_blocked"] * 2
    assert desk.receiver.connected == 0


def test_without_the_key_of_its_secret_nothing_is_sent(desk: Desk, settings: Any) -> None:
    issued = desk.add()
    desk.tell()
    settings.ENCRYPTION_KEYS = [bytes(32)]
    desk.send(issued.webhook)
    assert the_delivery(issued.webhook).code == "secret_lost"
    assert desk.receiver.connected == 0


# --- lost messages, dead runs, races ---


def test_a_message_that_was_lost_costs_time_and_no_notice(desk: Desk, quiet: list[Any]) -> None:
    """A crash between the commit and the queue, or a queue that is emptied."""
    issued = desk.add()
    desk.tell()
    quiet.clear()
    webhook_sending.sweep()
    assert (notices.SEND, (issued.webhook.wire_id,)) in quiet
    assert desk.send(issued.webhook)
    quiet.clear()
    webhook_sending.sweep()
    assert (notices.SEND, (issued.webhook.wire_id,)) not in quiet


def test_a_worker_that_dies_after_sending_sends_again_with_the_same_id(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, quiet: list[Any]
) -> None:
    issued = desk.add()
    desk.tell()

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(webhook_sending, "_conclude", die)
        with pytest.raises(Killed):
            desk.send(issued.webhook)
    assert not desk.send(issued.webhook)  # it is held until its lease is over
    WebhookDelivery.objects.filter(webhook=issued.webhook).update(leased_until=issued.webhook.created_at)
    quiet.clear()
    webhook_sending.sweep()
    assert (notices.SEND, (issued.webhook.wire_id,)) in quiet
    assert desk.send(issued.webhook)
    first, second = desk.receiver.exchanges
    assert first.headers["webhook-id"] == second.headers["webhook-id"] and first.body == second.body
    delivery = the_delivery(issued.webhook)
    assert (delivery.state, delivery.attempts, len(attempts(delivery))) == ("delivered", 2, 1)


def test_a_run_that_has_lost_its_claim_writes_nothing(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()

    def steal(exchange: misbehaving.Exchange) -> None:
        with ThreadPoolExecutor(1) as pool:
            held = WebhookDelivery.objects.filter(webhook=issued.webhook)
            pool.submit(in_thread, lambda: held.update(claim=ids.new_id())).result()
        OK(exchange)

    desk.receiver.script = [steal]
    desk.send(issued.webhook)
    assert (the_delivery(issued.webhook).state, attempts(the_delivery(issued.webhook))) == ("pending", [])


def test_workers_that_race_for_deliveries_send_each_once(desk: Desk) -> None:
    issued = desk.add()
    told = {desk.tell() for _ in range(12)}

    def work() -> None:
        while deliveries_left(issued.webhook):
            webhook_sending.send_next(issued.webhook.id)

    run_together([work] * 6)
    assert sorted(parsed(one)["data"]["id"] for one in desk.receiver.exchanges) == sorted(told)
    assert all(one.state == "delivered" and one.attempts == 1 for one in deliveries(issued.webhook))


def deliveries_left(webhook: Webhook) -> bool:
    return WebhookDelivery.objects.filter(webhook=webhook, state="pending").exists()


def test_two_workers_and_one_delivery(desk: Desk) -> None:
    for _ in range(10):
        issued = desk.add()
        desk.tell()
        run_together([lambda key=issued.webhook.id: webhook_sending.send_next(key) and None] * 2)
        webhooks.delete_webhook(issued.webhook.wire_id, actor=desk.actor)
    assert len(desk.receiver.exchanges) == 10


def test_no_transaction_is_open_while_a_receiver_hangs(desk: Desk) -> None:
    issued = desk.add()
    desk.tell()
    seen: list[bool] = []

    def look(exchange: misbehaving.Exchange) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(in_thread, lambda: seen.append(is_free(issued.webhook))).result()
        OK(exchange)

    desk.receiver.script = [look]
    desk.send(issued.webhook)
    assert seen == [True]


def is_free(webhook: Webhook) -> bool:
    with transaction.atomic():
        rows = WebhookDelivery.objects.filter(webhook=webhook).select_for_update(nowait=True)
        return (
            len(list(rows)) == 1
            and len(list(Webhook.objects.filter(id=webhook.id).select_for_update(nowait=True))) == 1
        )


def test_few_are_in_the_air_for_one_webhook_and_one_when_it_fails(desk: Desk) -> None:
    issued = desk.add()
    for _ in range(8):
        desk.tell()
    free = threading.Event()

    def wait(exchange: misbehaving.Exchange) -> None:
        free.wait(10)
        OK(exchange)

    desk.receiver.always = wait
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(in_thread, lambda: desk.send(issued.webhook)) for _ in range(8)]
        wait_until(lambda: sum(run.done() for run in runs) == 4)
        assert desk.receiver.connected == 4
        free.set()
        assert sorted(run.result() for run in runs) == [False] * 4 + [True] * 4
    Webhook.objects.filter(id=issued.webhook.id).update(failures=1)
    free.clear()
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(in_thread, lambda: desk.send(issued.webhook))
        wait_until(lambda: desk.receiver.connected == 5)
        assert not desk.send(issued.webhook)
        free.set()
        assert held.result()


def test_a_receiver_that_hangs_delays_nobody_else(
    desk: Desk, workers: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_sending, "BUDGET_SECONDS", 8.0)
    with misbehaving.endpoint() as hanging:
        hanging.always = misbehaving.hang
        origins = f"{desk.receiver.origin}=127.0.0.0/8;{hanging.origin}=127.0.0.0/8"
        monkeypatch.setattr(
            "django.conf.settings.EGRESS_PRIVATE_ORIGINS", parse_private_origins(origins), raising=False
        )
        desk.add(url=f"{hanging.origin}/hooks")
        good = desk.add()
        started = time.monotonic()
        for _ in range(8):
            desk.tell()
        wait_until(lambda: all(one.state == "delivered" for one in deliveries(good.webhook)), seconds=8)
        assert len(deliveries(good.webhook)) == 8
        assert time.monotonic() - started < 2.5 + NOISE_SECONDS
        assert hanging.connected <= 4
    connection.close()


def test_a_webhook_that_is_deleted_while_a_change_is_told_does_not_fail_the_change(desk: Desk) -> None:
    for _ in range(10):
        issued = desk.add()
        run_together(
            [
                lambda: desk.tell() and None,
                lambda webhook=issued.webhook: (
                    webhooks.delete_webhook(webhook.wire_id, actor=desk.actor) and None
                ),
            ]
        )
        assert not Webhook.objects.filter(id=issued.webhook.id).exists()
        assert not WebhookDelivery.objects.filter(webhook_id=issued.webhook.id).exists()
