"""Webhooks: where the hub posts signed notices; their secrets are given when they are made or rotated, and never again."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import Delivery, IssuedWebhook, Webhook

ROOT = "/v1/webhooks"

type EventTypes = list[str]


class Webhooks:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        url: str,
        *,
        event_types: EventTypes | None = None,
        description: str | None = None,
        environment: str | None = None,
    ) -> IssuedWebhook:
        """Of every event there is, unless some are named."""
        more = {"event_types": event_types, "description": description, "environment": environment}
        body = {"url": url} | {key: given for key, given in more.items() if given is not None}
        return cast(IssuedWebhook, self._transport.call("POST", ROOT, body))

    def list(self, *, environment: str | None = None) -> Iterator[Webhook]:
        """Newest first."""
        return self._transport.pages(ROOT, query={"environment": environment})

    def get(self, webhook_id: str) -> Webhook:
        return cast(Webhook, self._transport.call("GET", _url(webhook_id)))

    def update(self, webhook_id: str, **changes: Any) -> Webhook:
        """`changes`: any of `url`, `description`, `event_types`, `enabled`."""
        return cast(Webhook, self._transport.call("PATCH", _url(webhook_id), changes, repeatable=True))

    def rotate(self, webhook_id: str, *, overlap_seconds: int = 86_400) -> IssuedWebhook:
        """The old secret signs too until the overlap is over."""
        body = {"overlap_seconds": overlap_seconds}
        return cast(IssuedWebhook, self._transport.call("POST", f"{_url(webhook_id)}/rotate", body))

    def delete(self, webhook_id: str) -> None:
        self._transport.call("DELETE", _url(webhook_id))

    def test(self, webhook_id: str) -> Delivery:
        return cast(Delivery, self._transport.call("POST", f"{_url(webhook_id)}/test"))

    def deliveries(self, webhook_id: str, *, state: str | None = None) -> Iterator[Delivery]:
        """Newest first. `state`: `pending`, `delivered` or `failed`."""
        return self._transport.pages(f"{_url(webhook_id)}/deliveries", query={"state": state})

    def replay(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Send it again, with the id and the bytes that it had."""
        path = f"{_url(webhook_id)}/deliveries/{quote(delivery_id, safe='')}/replay"
        return cast(Delivery, self._transport.call("POST", path))


def _url(webhook_id: str) -> str:
    return f"{ROOT}/{quote(webhook_id, safe='')}"
