"""The REST door of webhooks and of the log of their deliveries."""

from typing import Any

from memoryhub import webhook_deliveries, webhooks
from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.notice_types import EVERY_TYPE
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.shapes import DeletedShape, deleted_wire
from memoryhub.webhook_shapes import (
    CreateWebhookBody,
    DeliveryShape,
    DeliveryWithAttemptsShape,
    IssuedWebhookShape,
    ListDeliveriesQuery,
    ListWebhooksQuery,
    ReplayBody,
    ReplayedShape,
    RotateWebhookBody,
    UpdateWebhookBody,
    WebhookShape,
    attempt_wire,
    delivery_wire,
    issued_webhook_wire,
    webhook_wire,
)

type Values = dict[str, Any]


def list_request(kind: str, query: Values, filters: Values) -> ListRequest:
    return ListRequest(kind, filters, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page"))


class Webhooks(HubView):
    @operation(
        "webhooks.create", "Create a webhook", body=CreateWebhookBody, answer=IssuedWebhookShape, status=201
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        issued = webhooks.create_webhook(
            environment=body.get("environment"),
            url=body["url"],
            description=body.get("description", ""),
            event_types=body.get("event_types", [EVERY_TYPE]),
            actor=actor,
        )
        return issued_webhook_wire(issued)

    @operation("webhooks.list", "List webhooks", query=ListWebhooksQuery, answer=WebhookShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        environment = query.get("environment")
        filters = {"environment": environment, "reach": str(actor.environment_id)}
        wanted = list_request("webhooks", query, filters | {"project": actor.project_id.hex})
        return webhooks.list_webhooks(wanted, environment=environment, actor=actor).as_wire(webhook_wire)


class WebhookView(HubView):
    def require_visible(self, actor: Actor) -> None:
        webhooks.get_webhook(self.kwargs["webhook_id"], actor=actor)


class Webhook(WebhookView):
    @operation("webhooks.get", "Get a webhook, without its secret", answer=WebhookShape)
    def get(self, webhook_id: str, *, actor: Actor) -> Values:
        return webhook_wire(webhooks.get_webhook(webhook_id, actor=actor))

    @operation(
        "webhooks.update",
        "Change, enable or disable a webhook",
        body=UpdateWebhookBody,
        answer=WebhookShape,
    )
    def patch(self, webhook_id: str, *, body: Values, actor: Actor) -> Values:
        return webhook_wire(webhooks.update_webhook(webhook_id, changes=body, actor=actor))

    @operation("webhooks.delete", "Delete a webhook and its log", answer=DeletedShape)
    def delete(self, webhook_id: str, *, actor: Actor) -> Values:
        return deleted_wire(webhooks.delete_webhook(webhook_id, actor=actor), "webhook_deleted")


class WebhookRotate(WebhookView):
    @operation(
        "webhooks.rotate",
        "Rotate a webhook's secret",
        body=RotateWebhookBody,
        answer=IssuedWebhookShape,
    )
    def post(self, webhook_id: str, *, body: Values, actor: Actor) -> Values:
        overlap = body.get("overlap_seconds", webhooks.OVERLAP_SECONDS_DEFAULT)
        issued = webhooks.rotate_secret(webhook_id, overlap_seconds=overlap, actor=actor)
        return issued_webhook_wire(issued)


class WebhookTest(WebhookView):
    @operation("webhooks.test", "Send a test to a webhook", answer=DeliveryShape)
    def post(self, webhook_id: str, *, actor: Actor) -> Values:
        return delivery_wire(webhook_deliveries.send_test(webhook_id, actor=actor))


class WebhookReplay(WebhookView):
    @operation(
        "webhooks.replay",
        "Send again what failed since a time",
        body=ReplayBody,
        answer=ReplayedShape,
    )
    def post(self, webhook_id: str, *, body: Values, actor: Actor) -> Values:
        replayed, has_more = webhook_deliveries.replay_failed(webhook_id, since=body["since"], actor=actor)
        return {
            "type": "webhook_replay",
            "webhook_id": webhook_id,
            "replayed": replayed,
            "has_more": has_more,
        }


class Deliveries(WebhookView):
    @operation(
        "webhook_deliveries.list",
        "List what was sent to a webhook",
        query=ListDeliveriesQuery,
        answer=DeliveryShape,
        lists=True,
    )
    def get(self, webhook_id: str, *, query: Values, actor: Actor) -> Values:
        state, since = query.get("state"), query.get("created_at_gte")
        filters = {"webhook": webhook_id, "state": state, "since": since and since.isoformat()}
        wanted = list_request("webhook_deliveries", query, filters)
        page = webhook_deliveries.list_deliveries(webhook_id, wanted, state=state, since=since, actor=actor)
        return page.as_wire(delivery_wire)


class DeliveryView(HubView):
    def require_visible(self, actor: Actor) -> None:
        webhook_id, delivery_id = self.kwargs["webhook_id"], self.kwargs["delivery_id"]
        webhook_deliveries.get_delivery(webhook_id, delivery_id, actor=actor)


class Delivery(DeliveryView):
    @operation("webhook_deliveries.get", "Get a delivery with its attempts", answer=DeliveryWithAttemptsShape)
    def get(self, webhook_id: str, delivery_id: str, *, actor: Actor) -> Values:
        delivery = webhook_deliveries.get_delivery(webhook_id, delivery_id, actor=actor)
        attempts = webhook_deliveries.list_attempts(delivery)
        return delivery_wire(delivery) | {"attempts": [attempt_wire(one) for one in attempts]}


class DeliveryReplay(DeliveryView):
    @operation("webhook_deliveries.replay", "Send a notice again", answer=DeliveryShape)
    def post(self, webhook_id: str, delivery_id: str, *, actor: Actor) -> Values:
        return delivery_wire(webhook_deliveries.replay_delivery(webhook_id, delivery_id, actor=actor))
