"""Sending notices to webhooks: short transactions with the network between them. The row is the truth.

A run claims a delivery that is due, sends it, and writes down what came of it if the claim is still its own. What a dead run
left is due again when its lease is over, so a receiver may get the same notice twice, with the same id. Few are in the air at
once for one webhook, one when it fails, and then after a pause: a receiver that hangs delays nobody else.
Order of locks: the copies of the environment, webhook, delivery.
"""

import asyncio
import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, erasure, ids, jobs, notices, webhooks
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.egress import (
    AnswerTooLarge,
    DeadlineReached,
    EgressBlocked,
    EgressError,
    Outgoing,
    Reply,
    send,
)
from memoryhub.encryption import CannotOpen
from memoryhub.notice_models import Notice, Webhook, WebhookAttempt, WebhookDelivery
from memoryhub.notices import SEND
from memoryhub.origins import split_url
from memoryhub.retry_after import parse_retry_after
from memoryhub.rows import find_row
from memoryhub.webhook_retries import Decision, Outcome, decide, outcome_of, pause_seconds
from memoryhub.webhook_secrets import open_secrets
from memoryhub.webhook_signing import signed_headers

log = structlog.get_logger("memoryhub.webhooks")

BUDGET_SECONDS = 10.0  # of one attempt, whatever it does
LEASE_SECONDS = 30
WEBHOOK_SENDS_MAX = 4  # in the air at once for one webhook
ANSWER_BYTES_KEPT_MAX = 1_024
FAILING_DAYS_MAX = 3
FAILING_ATTEMPTS_MIN = 10
SWEPT_MAX = 500
_CLAIMING = 7_310_482_655_912_447_002  # the advisory lock of those that claim


@dataclass(frozen=True, slots=True)
class _Sending:
    """One attempt that may be made now. `outgoing` None: no key opens the secret that signs it."""

    webhook_id: UUID
    delivery_id: UUID
    environment_id: UUID
    claim: UUID
    outgoing: Outgoing | None


@dataclass(frozen=True, slots=True)
class _Observed:
    outcome: Outcome
    started_at: datetime
    milliseconds: int
    status: int | None = None
    answer_start: str = ""
    retry_after: float | None = None


def send_next(webhook_id: UUID) -> bool:
    """Send what has been due longest to a webhook; whether there was something. It rings again while more is due."""
    sending = _claim(webhook_id)
    if sending is None:
        return False
    _conclude(sending, _send(sending))
    return True


@atomic
def _claim(webhook_id: UUID) -> _Sending | None:
    with connection.cursor() as cursor:  # one at a time, so that the counts below hold
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIMING])
    webhook = find_row(_ready().select_for_update(no_key=True).filter(id=webhook_id))
    if webhook is None or not _has_place(webhook):
        return None
    due = _due().filter(webhook=webhook).select_for_update(skip_locked=True, of=("self",))
    delivery = due.select_related("notice").order_by("due_at", "id").first()
    if delivery is None:
        return None
    delivery.claim = uuid.uuid4()
    delivery.leased_until = ClockTimestamp() + timedelta(seconds=LEASE_SECONDS)
    delivery.attempts += 1
    delivery.tries += 1
    delivery.save(update_fields=["claim", "leased_until", "attempts", "tries"])
    return _Sending(
        webhook.id, delivery.id, webhook.environment_id, delivery.claim, _make(webhook, delivery.notice)
    )


def _ready() -> QuerySet[Webhook]:
    """Webhooks that may be called now."""
    is_left_alone = Q(paused_until__gt=ClockTimestamp())
    return Webhook.objects.filter(disabled_at=None).exclude(is_left_alone)


def _due() -> QuerySet[WebhookDelivery]:
    """What may be sent now, whoever began it before."""
    is_free = Q(leased_until=None) | Q(leased_until__lte=ClockTimestamp())
    return WebhookDelivery.objects.filter(is_free, state="pending", due_at__lte=ClockTimestamp())


def _has_place(webhook: Webhook) -> bool:
    in_the_air = WebhookDelivery.objects.filter(claim__isnull=False, leased_until__gt=ClockTimestamp())
    of_webhook = 1 if webhook.failures else WEBHOOK_SENDS_MAX
    return (
        in_the_air.count() < settings.WEBHOOK_SENDS_MAX
        and in_the_air.filter(webhook=webhook).count() < of_webhook
    )


def _make(webhook: Webhook, notice: Notice) -> Outgoing | None:
    """The same bytes and id in every attempt; the time, and with it the signature, is that of this one."""
    body = notices.body_of(notice)
    try:
        keys = open_secrets(webhook)
    except CannotOpen:
        return None
    origin, path, _ = split_url(webhook.url, listed=settings.EGRESS_PRIVATE_ORIGINS)
    return Outgoing(origin, path, body, signed_headers(notice.wire_id, int(time.time()), body, keys))


def _send(sending: _Sending) -> _Observed:
    """The network, outside any transaction."""
    if not connection.in_atomic_block:
        connection.close()
    started_at, began = timezone.now(), time.monotonic()
    outcome, reply = _call(sending.outgoing)
    milliseconds = round((time.monotonic() - began) * 1_000)
    if reply is None:
        return _Observed(outcome, started_at, milliseconds)
    retry_after = parse_retry_after(reply.headers.get("retry-after"), now=timezone.now())
    start = reply.body[:ANSWER_BYTES_KEPT_MAX].decode(errors="replace").replace("\0", "\ufffd")
    return _Observed(outcome, started_at, milliseconds, reply.status, start, retry_after)


def _call(outgoing: Outgoing | None) -> tuple[Outcome, Reply | None]:
    if outgoing is None:
        return Outcome.SECRET_LOST, None
    if not outgoing.origin:  # it was listed once, and is no longer
        return Outcome.BLOCKED, None
    try:
        reply = asyncio.run(send(outgoing, seconds=BUDGET_SECONDS))
    except AnswerTooLarge as error:  # what counts is its status
        return outcome_of(error.reply.status), error.reply
    except EgressError as error:
        outcomes: dict[type[EgressError], Outcome] = {
            EgressBlocked: Outcome.BLOCKED,
            DeadlineReached: Outcome.TOO_SLOW,
        }
        return outcomes.get(type(error), Outcome.NO_ANSWER), None
    return outcome_of(reply.status), reply


@atomic
def _conclude(sending: _Sending, observed: _Observed) -> None:
    """A run that has lost its claim writes nothing: another has sent it, or the webhook is disabled or gone."""
    erasure.hold_copies(sending.environment_id)
    webhook = find_row(Webhook.objects.select_for_update(no_key=True).filter(id=sending.webhook_id))
    mine = WebhookDelivery.objects.select_for_update().filter(id=sending.delivery_id, claim=sending.claim)
    delivery = find_row(mine)
    if webhook is None or delivery is None:
        return
    decision = decide(
        observed.outcome, tries=delivery.tries, retry_after=observed.retry_after, chance=random()
    )
    _note_attempt(delivery, observed)
    _settle(delivery, observed.outcome, decision)
    if decision.is_delivered:
        _note_success(webhook)
    else:
        _note_failure(webhook, disables=decision.disables)
    _ring_for_more(webhook)


def _note_attempt(delivery: WebhookDelivery, observed: _Observed) -> None:
    WebhookAttempt.objects.create(
        project_id=delivery.project_id,
        delivery=delivery,
        number=delivery.attempts,
        started_at=observed.started_at,
        milliseconds=observed.milliseconds,
        code=observed.outcome,
        status=observed.status,
        answer_start=observed.answer_start,
    )
    log.info(
        "webhook_attempt",
        delivery=delivery.wire_id,
        attempt=delivery.attempts,
        outcome=str(observed.outcome),
        status=observed.status,
        milliseconds=observed.milliseconds,
    )


def _settle(delivery: WebhookDelivery, outcome: Outcome, decision: Decision) -> None:
    delivery.code, delivery.claim, delivery.leased_until = outcome, None, None
    if decision.delay_seconds is not None:
        delivery.due_at = timezone.now() + timedelta(seconds=decision.delay_seconds)
    else:
        delivery.state = "delivered" if decision.is_delivered else "failed"
        delivery.finished_at = timezone.now()
    delivery.save(update_fields=["state", "code", "claim", "leased_until", "due_at", "finished_at"])


def _note_success(webhook: Webhook) -> None:
    if webhook.failures:
        webhook.failures, webhook.failing_since, webhook.paused_until = 0, None, None
        webhook.save(update_fields=["failures", "failing_since", "paused_until"])


def _note_failure(webhook: Webhook, *, disables: bool) -> None:
    now = timezone.now()
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or now
    webhook.paused_until = now + timedelta(seconds=pause_seconds(webhook.failures))
    webhook.save(update_fields=["failures", "failing_since", "paused_until"])
    is_long = now - webhook.failing_since >= timedelta(days=FAILING_DAYS_MAX)
    if webhook.is_enabled and (disables or (is_long and webhook.failures >= FAILING_ATTEMPTS_MIN)):
        _disable(webhook, "gone" if disables else "failing")


def _disable(webhook: Webhook, reason: str) -> None:
    """In the name of who made the webhook, since nobody asked for it; others are told."""
    webhooks.disable(webhook, reason)
    log.warning("webhook_disabled", webhook=webhook.wire_id, reason=reason)
    kind: object = webhook.created_by_type
    audit.record_accepted(
        AuditAction.WEBHOOK_DISABLED,
        webhook.wire_id,
        environment_id=webhook.environment_id,
        details={"reason": reason, "failures": webhook.failures},
        actor=Actor(kind, webhook.created_by_id, webhook.project_id, None, frozenset()),  # type: ignore[arg-type]
    )
    notices.record(
        "webhook.disabled",
        webhook.wire_id,
        project_id=webhook.project_id,
        environment_id=webhook.environment_id,
        facts={"webhook_id": webhook.wire_id, "reason": reason},
    )


def _ring_for_more(webhook: Webhook) -> None:
    """As many as may go now; a receiver that fails is rung for by the sweep, after its pause."""
    if webhook.failures or not webhook.is_enabled:
        return
    waiting = _due().filter(webhook=webhook).values_list("id")[:WEBHOOK_SENDS_MAX]
    for _ in waiting:
        jobs.enqueue(SEND, webhook.wire_id)


# What a lost queue and dead runs leave, and what has been kept long enough.


def sweep() -> None:
    """Ring for each webhook that something is due to, and give up what is too old to be told."""
    due = Exists(_due().filter(webhook=OuterRef("id")))
    for key in _ready().filter(due).order_by("id").values_list("id", flat=True)[:SWEPT_MAX]:
        jobs.enqueue(SEND, ids.to_wire(ids.WEBHOOK, key))
    is_over = Q(expires_at__lte=ClockTimestamp()) & (Q(claim=None) | Q(leased_until__lte=ClockTimestamp()))
    old = WebhookDelivery.objects.filter(is_over, state="pending")
    old.update(state="failed", code="expired", claim=None, leased_until=None, finished_at=ClockTimestamp())


@atomic
def clear_expired() -> int:
    """Remove deliveries that ended long ago, with their attempts, and notices that nobody is to be told of any more."""
    until = ClockTimestamp() - timedelta(days=settings.WEBHOOK_DELIVERY_DAYS)
    old = WebhookDelivery.objects.filter(finished_at__lt=until)
    removed = old._raw_delete("default")
    told = Exists(WebhookDelivery.objects.filter(notice=OuterRef("id")))
    Notice.objects.filter(~told, created_at__lt=until, mail_items=None)._raw_delete("default")
    return removed
