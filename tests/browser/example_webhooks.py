"""Webhooks of the example project: one that works, one that the hub has disabled, and what was sent to them."""

from django.conf import settings
from django.db.transaction import atomic
from django.test import override_settings
from django.utils import timezone

from memoryhub import ids, notices, webhook_deliveries, webhooks
from memoryhub.actors import Actor
from memoryhub.notice_models import Webhook, WebhookAttempt, WebhookDelivery
from tests.browser.example_sessions import ENVIRONMENT


def add_webhooks(known: dict[str, list[str]], text: str, actor: Actor) -> None:
    """`known`: ids of one example, to which these are added. `text`: what people and receivers say."""
    made = [_add(text, types, actor) for types in (["*"], ["nomination.waiting"])]
    delivered, failed, waiting = (_tell(made[0]) for _ in range(3))
    _attempt(delivered, 1, "refused", 503, text)
    _attempt(delivered, 2, "delivered", 200, text)
    _end(delivered, "delivered", "delivered")
    _attempt(failed, 1, "too_slow", None, "")
    _end(failed, "failed", "expired")
    _attempt(waiting, 1, "no_answer", None, "")
    Webhook.objects.filter(id=made[0].id).update(failures=1, failing_since=timezone.now())
    Webhook.objects.filter(id=made[1].id).update(disabled_at=timezone.now(), disabled_reason="gone")
    known |= {
        "webhook_id": [one.wire_id for one in made],
        "delivery_id": [delivered.wire_id, failed.wire_id, waiting.wire_id],
    }


def _add(text: str, types: list[str], actor: Actor) -> Webhook:
    with override_settings(ENCRYPTION_KEYS=settings.ENCRYPTION_KEYS or [bytes(32)]):
        return webhooks.create_webhook(
            environment=ENVIRONMENT,
            url="https://desk.harborsupply.example/hooks",
            description=text[:255],
            event_types=types,
            actor=actor,
        ).webhook


def _tell(webhook: Webhook) -> WebhookDelivery:
    with atomic():
        notice = notices.add_notice(
            "nomination.waiting",
            ids.to_wire(ids.NOMINATION, ids.new_id()),
            project_id=webhook.project_id,
            environment_id=webhook.environment_id,
            facts={"authority_id": "authority_1", "nomination_sha256": "9f" * 32, "records": 2},
        )
        [delivery] = notices.add_deliveries(notice, [webhook.id])
    return webhook_deliveries._find(webhook, delivery.wire_id)


def _attempt(delivery: WebhookDelivery, number: int, code: str, status: int | None, answer: str) -> None:
    WebhookAttempt.objects.create(
        project_id=delivery.project_id,
        delivery=delivery,
        number=number,
        started_at=timezone.now(),
        milliseconds=81,
        code=code,
        status=status,
        answer_start=answer[:1_024],
    )
    WebhookDelivery.objects.filter(id=delivery.id).update(attempts=number, tries=number, code=code)


def _end(delivery: WebhookDelivery, state: str, code: str) -> None:
    WebhookDelivery.objects.filter(id=delivery.id).update(state=state, code=code, finished_at=timezone.now())
