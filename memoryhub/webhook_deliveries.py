"""The log of what was sent to webhooks: listed with every attempt, sent again on demand. And the test of a webhook.

What is sent again has the id and the bytes that it had, so a receiver that keeps ids does nothing twice.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import ids, jobs, notices, webhooks
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import NotFound
from memoryhub.notice_models import Webhook, WebhookAttempt, WebhookDelivery
from memoryhub.notices import DELIVERY_HOURS_MAX, SEND
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row

REPLAYED_AT_ONCE_MAX = 1_000


def list_deliveries(
    webhook_id: str, page: ListRequest, *, state: str | None, since: datetime | None, actor: Actor
) -> Page[WebhookDelivery]:
    """Newest first, with their notices. Raises: NotFound, InvalidRequest for a foreign cursor."""
    webhook = webhooks.get_webhook(webhook_id, actor=actor)
    deliveries = WebhookDelivery.objects.filter(webhook=webhook).select_related("notice")
    if state is not None:
        deliveries = deliveries.filter(state=state)
    if since is not None:
        deliveries = deliveries.filter(created_at__gte=since)
    return cut_newest(deliveries, page)


def get_delivery(webhook_id: str, delivery_id: str, *, actor: Actor) -> WebhookDelivery:
    """With its notice. Raises: NotFound."""
    return _find(webhooks.get_webhook(webhook_id, actor=actor), delivery_id)


def _find(webhook: Webhook, delivery_id: str) -> WebhookDelivery:
    key = ids.from_wire(ids.WEBHOOK_DELIVERY, delivery_id)
    found = WebhookDelivery.objects.filter(webhook=webhook).select_related("notice")
    delivery = None if key is None else find_row(found.filter(id=key))
    if delivery is None:
        raise NotFound("delivery")
    return delivery


def list_attempts(delivery: WebhookDelivery) -> list[WebhookAttempt]:
    """In their order."""
    return list(WebhookAttempt.objects.filter(delivery=delivery).order_by("number"))


@atomic(durable=True)
def replay_delivery(webhook_id: str, delivery_id: str, *, actor: Actor) -> WebhookDelivery:
    """Send it again, whatever came of it; one that is on its way is tried at once. Raises: NotFound, Conflict."""
    webhook = webhooks.lock_webhook(webhook_id, actor)
    delivery = _find(webhook, delivery_id)
    webhooks.require_enabled(webhook)
    _replay(webhook, [delivery.id])
    webhooks.record_change(AuditAction.WEBHOOK_REPLAYED, webhook, actor, deliveries=1)
    return _find(webhook, delivery_id)


@atomic(durable=True)
def replay_failed(webhook_id: str, *, since: datetime, actor: Actor) -> tuple[int, bool]:
    """(how many of those that failed are sent again, whether there are more): the oldest since a time first.

    Raises: NotFound, Conflict.
    """
    webhook = webhooks.lock_webhook(webhook_id, actor)
    webhooks.require_enabled(webhook)
    failed = WebhookDelivery.objects.filter(webhook=webhook, state="failed", created_at__gte=since)
    found = list(failed.order_by("id").values_list("id", flat=True)[: REPLAYED_AT_ONCE_MAX + 1])
    keys = found[:REPLAYED_AT_ONCE_MAX]
    if keys:
        _replay(webhook, keys)
        webhooks.record_change(AuditAction.WEBHOOK_REPLAYED, webhook, actor, deliveries=len(keys))
    return len(keys), len(found) > len(keys)


def _replay(webhook: Webhook, keys: Sequence[UUID]) -> None:
    """A step: due now, with every try before it, and past the pause of a receiver that fails. A run in the air goes on."""
    now = timezone.now()
    WebhookDelivery.objects.filter(webhook=webhook, id__in=keys).update(
        state="pending",
        code=None,
        tries=0,
        due_at=now,
        expires_at=now + timedelta(hours=DELIVERY_HOURS_MAX),
        finished_at=None,
    )
    webhook.paused_until = None
    webhook.save(update_fields=["paused_until"])
    jobs.enqueue(SEND, webhook.wire_id)


@atomic(durable=True)
def send_test(webhook_id: str, *, actor: Actor) -> WebhookDelivery:
    """A notice `webhook.test` to this webhook alone, whatever it asked for. Raises: NotFound, Conflict."""
    webhook = webhooks.lock_webhook(webhook_id, actor)
    webhooks.require_enabled(webhook)
    notice = notices.add_notice(
        "webhook.test",
        webhook.wire_id,
        project_id=webhook.project_id,
        environment_id=webhook.environment_id,
        facts={"webhook_id": webhook.wire_id},
    )
    [delivery] = notices.add_deliveries(notice, [webhook.id])
    webhooks.record_change(AuditAction.WEBHOOK_TESTED, webhook, actor)
    return _find(webhook, delivery.wire_id)
