"""The shapes of webhooks and their deliveries: bodies, queries, and each answer as one dict. No answer but two shows a secret."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Flag, Integer, Moment, StrictSerializer, Text
from memoryhub.notice_models import (
    DELIVERY_STATES,
    DISABLED_REASONS,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
)
from memoryhub.notices import payload_of
from memoryhub.origins import URL_LENGTH_MAX
from memoryhub.shapes import PageQuery
from memoryhub.webhooks import OVERLAP_SECONDS_MAX, IssuedWebhook

ENVIRONMENT_LENGTH_MAX = 64
DESCRIPTION_LENGTH_MAX = 255
EVENT_TYPES_MAX = 64


class UpdateWebhookBody(StrictSerializer):
    url = Text(length_min=1, length_max=URL_LENGTH_MAX, plain=True, required=False)
    description = Text(length_max=DESCRIPTION_LENGTH_MAX, plain=True, required=False)
    event_types = serializers.ListField(
        child=Text(length_min=1, length_max=64, plain=True),
        min_length=1,
        max_length=EVENT_TYPES_MAX,
        required=False,
    )
    enabled = Flag(required=False)


class CreateWebhookBody(StrictSerializer):
    environment = Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, required=False)
    url = Text(length_min=1, length_max=URL_LENGTH_MAX, plain=True)
    description = Text(length_max=DESCRIPTION_LENGTH_MAX, plain=True, required=False)
    event_types = serializers.ListField(
        child=Text(length_min=1, length_max=64, plain=True),
        min_length=1,
        max_length=EVENT_TYPES_MAX,
        required=False,
    )


class ListWebhooksQuery(PageQuery):
    environment = Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, required=False)


class RotateWebhookBody(StrictSerializer):
    may_be_absent = True
    overlap_seconds = Integer(required=False, min_value=0, max_value=OVERLAP_SECONDS_MAX)


class ReplayBody(StrictSerializer):
    """`since`: those that were made before are left."""

    since = Moment()


class ListDeliveriesQuery(PageQuery):
    state = Choice(choices=list(DELIVERY_STATES), required=False)
    created_at_gte = Moment(query_name="created_at[gte]", required=False)


class WebhookShape(serializers.Serializer[Any]):
    """`failing_since`: the first attempt that failed after the last that did not."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["webhook"])
    environment_id = serializers.CharField()
    url = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    event_types = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField()
    disabled_at = serializers.DateTimeField(allow_null=True)
    disabled_reason = serializers.ChoiceField(choices=list(DISABLED_REASONS), allow_null=True)
    failures = serializers.IntegerField()
    failing_since = serializers.DateTimeField(allow_null=True)
    rotated_at = serializers.DateTimeField()
    old_secret_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())


def webhook_wire(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.wire_id,
        "type": "webhook",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, webhook.environment_id),
        "url": webhook.url,
        "description": webhook.description,
        "event_types": webhook.event_types,
        "enabled": webhook.is_enabled,
        "disabled_at": optional_to_wire(webhook.disabled_at),
        "disabled_reason": webhook.disabled_reason,
        "failures": webhook.failures,
        "failing_since": optional_to_wire(webhook.failing_since),
        "rotated_at": to_wire(webhook.rotated_at),
        "old_secret_until": optional_to_wire(webhook.old_until),
        "created_at": to_wire(webhook.created_at),
        "created_by": actor_wire(webhook.created_by_type, webhook.created_by_id),
    }


class IssuedWebhookShape(WebhookShape):
    """`secret` is shown this once."""

    secret = serializers.CharField()


def issued_webhook_wire(issued: IssuedWebhook) -> dict[str, Any]:
    return {**webhook_wire(issued.webhook), "secret": issued.secret}


class DeliveryShape(serializers.Serializer[Any]):
    """`notice_id`: what the receiver gets as `webhook-id`. `code`: how the last attempt ended. `payload`: what is sent."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["webhook_delivery"])
    webhook_id = serializers.CharField()
    notice_id = serializers.CharField()
    event_type = serializers.CharField()
    state = serializers.ChoiceField(choices=list(DELIVERY_STATES))
    code = serializers.CharField(allow_null=True)
    attempts_count = serializers.IntegerField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    payload = serializers.DictField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


def delivery_wire(delivery: WebhookDelivery) -> dict[str, Any]:
    """Of one with its notice."""
    return {
        "id": delivery.wire_id,
        "type": "webhook_delivery",
        "webhook_id": ids.to_wire(ids.WEBHOOK, delivery.webhook_id),
        "notice_id": delivery.notice.wire_id,
        "event_type": delivery.notice.type,
        "state": delivery.state,
        "code": delivery.code,
        "attempts_count": delivery.attempts,
        "next_attempt_at": to_wire(delivery.due_at) if delivery.state == "pending" else None,
        "payload": payload_of(delivery.notice),
        "created_at": to_wire(delivery.created_at),
        "finished_at": optional_to_wire(delivery.finished_at),
    }


class AttemptShape(serializers.Serializer[Any]):
    """`answer_start`: the first 1,024 bytes of the answer, as text."""

    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    milliseconds = serializers.IntegerField()
    code = serializers.CharField()
    status = serializers.IntegerField(allow_null=True)
    answer_start = serializers.CharField(allow_blank=True)


def attempt_wire(attempt: WebhookAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "started_at": to_wire(attempt.started_at),
        "milliseconds": attempt.milliseconds,
        "code": attempt.code,
        "status": attempt.status,
        "answer_start": attempt.answer_start,
    }


class DeliveryWithAttemptsShape(DeliveryShape):
    attempts = AttemptShape(many=True)


class ReplayedShape(serializers.Serializer[Any]):
    """`has_more`: ask again for the rest."""

    type = serializers.ChoiceField(choices=["webhook_replay"])
    webhook_id = serializers.CharField()
    replayed = serializers.IntegerField()
    has_more = serializers.BooleanField()
