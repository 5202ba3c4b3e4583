"""Receivers of webhooks over real sockets, and an environment whose notices go to them."""

import json
import time
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.transaction import atomic
from standardwebhooks import Webhook as Verifier

from memoryhub import ids, notices, webhook_deliveries, webhook_sending, webhooks
from memoryhub.models import Environment
from memoryhub.notice_models import Notice, Webhook, WebhookAttempt, WebhookDelivery
from memoryhub.webhooks import IssuedWebhook
from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint, Exchange
from tests.world import Tenant, unused_id

OK = misbehaving.body({"got": "it"})


class Desk:
    """Webhooks of a tenant's development environment; everything is done by its owner."""

    def __init__(self, tenant: Tenant, receiver: Endpoint) -> None:
        self.tenant = tenant
        self.actor = tenant.actor
        self.environment: Environment = tenant.development
        self.receiver = receiver
        receiver.always = OK

    def add(self, *event_types: str, url: str | None = None) -> IssuedWebhook:
        return webhooks.create_webhook(
            environment=self.environment.wire_id,
            url=url or f"{self.receiver.origin}/hooks",
            description="",
            event_types=list(event_types) or ["*"],
            actor=self.actor,
        )

    def tell(self, subject_id: str = "", *, reason: str = "failing") -> str:
        """A notice of a type of the ground floor; its subject."""
        subject_id = subject_id or ids.to_wire(ids.WEBHOOK, ids.new_id())
        with atomic():
            notices.record(
                "webhook.disabled",
                subject_id,
                project_id=self.environment.project_id,
                environment_id=self.environment.id,
                facts={"webhook_id": subject_id, "reason": reason},
            )
        return subject_id

    def send(self, webhook: Webhook) -> bool:
        return webhook_sending.send_next(webhook.id)

    def replay(self, delivery: WebhookDelivery) -> WebhookDelivery:
        webhook_id = ids.to_wire(ids.WEBHOOK, delivery.webhook_id)
        return webhook_deliveries.replay_delivery(webhook_id, delivery.wire_id, actor=self.actor)

    def let_time_pass(self, webhook: Webhook) -> None:
        """What waits for a time is due, and the receiver is left alone no longer."""
        WebhookDelivery.objects.filter(webhook=webhook, state="pending").update(due_at=webhook.created_at)
        Webhook.objects.filter(id=webhook.id).update(paused_until=None)


def again(webhook: Webhook) -> Webhook:
    return Webhook.objects.get(id=webhook.id)


def deliveries(webhook: Webhook) -> list[WebhookDelivery]:
    """In the order of their making."""
    return list(WebhookDelivery.objects.filter(webhook=webhook).select_related("notice").order_by("id"))


def the_delivery(webhook: Webhook) -> WebhookDelivery:
    [delivery] = deliveries(webhook)
    return delivery


def attempts(delivery: WebhookDelivery) -> list[WebhookAttempt]:
    return webhook_deliveries.list_attempts(delivery)


def notices_of(tenant: Tenant) -> list[Notice]:
    return list(Notice.objects.filter(project=tenant.project).order_by("id"))


def verified(exchange: Exchange, secret: str) -> Any:
    """The payload, after an implementation that is not ours has verified its signature."""
    return Verifier(secret).verify(exchange.body, exchange.headers)


def parsed(exchange: Exchange) -> Any:
    return json.loads(exchange.body)


def in_thread[T](work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connection.close()


def wait_until(is_true: Callable[[], bool], *, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


NOBODY = unused_id(ids.WEBHOOK)
