"""Webhooks: where the notices of an environment are posted, what of them, and with which secret they are signed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.models import Environment
from memoryhub.notice_models import Webhook, WebhookDelivery
from memoryhub.notice_types import EVERY_TYPE, find_notice_type
from memoryhub.origins import split_url
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from memoryhub.webhook_secrets import give_secret

OVERLAP_SECONDS_MAX = 7 * 86_400
OVERLAP_SECONDS_DEFAULT = 86_400
_ENABLED = ("disabled_at", "disabled_reason", "failures", "failing_since", "paused_until")


@dataclass(frozen=True, slots=True)
class IssuedWebhook:
    """A webhook with its new secret, which is shown this once."""

    webhook: Webhook
    secret: str


def visible_webhooks(actor: Actor) -> QuerySet[Webhook]:
    webhooks = Webhook.objects.filter(project_id=actor.project_id)
    return webhooks if actor.environment_id is None else webhooks.filter(environment_id=actor.environment_id)


def get_webhook(webhook_id: str, *, actor: Actor) -> Webhook:
    """Raises: NotFound."""
    return _get(visible_webhooks(actor), webhook_id)


def lock_webhook(webhook_id: str, actor: Actor) -> Webhook:
    """A step. Raises: NotFound."""
    return _get(visible_webhooks(actor).select_for_update(no_key=True), webhook_id)


def _get(webhooks: QuerySet[Webhook], webhook_id: str) -> Webhook:
    key = ids.from_wire(ids.WEBHOOK, webhook_id)
    webhook = None if key is None else find_row(webhooks.filter(id=key))
    if webhook is None:
        raise NotFound("webhook")
    return webhook


def list_webhooks(page: ListRequest, *, environment: str | None, actor: Actor) -> Page[Webhook]:
    """Newest first. Raises: NotFound for a foreign environment, InvalidRequest for a foreign cursor."""
    webhooks = visible_webhooks(actor)
    if environment is not None:
        webhooks = webhooks.filter(environment_id=tenancy.get_environment(environment, actor=actor).id)
    return cut_newest(webhooks, page)


def list_broken(actor: Actor, *, rows_max: int) -> list[Webhook]:
    """Those that the hub has disabled, newest first."""
    disabled = visible_webhooks(actor).filter(disabled_reason__in=["gone", "failing"])
    return list(disabled.order_by("-disabled_at")[:rows_max])


@atomic(durable=True)
def create_webhook(
    *,
    environment: str | None,
    url: str,
    description: str,
    event_types: Sequence[str],
    webhook_id: UUID | None = None,
    actor: Actor,
) -> IssuedWebhook:
    """`webhook_id`: the id promised to a form. Raises: NotFound, InvalidRequest, Unavailable; Conflict when the id was used."""
    environment_id = tenancy.choose_environment(environment, actor=actor)
    if webhook_id is not None and Webhook.objects.filter(id=webhook_id).exists():
        raise Conflict("This form has made its webhook already.", error_code="already_issued")
    webhook = Webhook(
        id=webhook_id or ids.new_id(),
        project_id=actor.project_id,
        environment_id=environment_id,
        url=check_url(url),
        description=description,
        event_types=check_types(event_types),
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )
    _require_room(environment_id)
    secret = give_secret(webhook)
    webhook.save(force_insert=True)
    webhook.refresh_from_db(fields=["created_at", "rotated_at"])
    record_change(AuditAction.WEBHOOK_CREATED, webhook, actor, event_types=len(webhook.event_types))
    return IssuedWebhook(webhook, secret)


def check_url(url: str) -> str:
    """Raises: InvalidRequest."""
    _, _, problem = split_url(url, listed=settings.EGRESS_PRIVATE_ORIGINS)
    if problem is not None:
        raise InvalidRequest(f"url: {problem}", error_code="webhook_url_refused")
    return url


def check_types(event_types: Sequence[str]) -> list[str]:
    """In order, each once. Raises: InvalidRequest for none, or one that there is not."""
    unknown = [name for name in event_types if name != EVERY_TYPE and find_notice_type(name) is None]
    if unknown or not event_types:
        raise InvalidRequest(
            "event_types: Name events that the documentation of webhooks lists, or * alone for all."
        )
    return [EVERY_TYPE] if EVERY_TYPE in event_types else sorted(set(event_types))


def _require_room(environment_id: UUID) -> None:
    """Two that meet at the limit wait for each other. Raises: InvalidRequest."""
    Environment.objects.select_for_update(no_key=True).get(id=environment_id)
    if Webhook.objects.filter(environment_id=environment_id).count() >= settings.WEBHOOKS_MAX:
        raise InvalidRequest(
            f"The environment has {settings.WEBHOOKS_MAX} webhooks already; delete one first.",
            error_code="webhooks_full",
        )


@atomic(durable=True)
def update_webhook(webhook_id: str, *, changes: dict[str, Any], actor: Actor) -> Webhook:
    """`changes`: any of `url`, `description`, `event_types`, `enabled`. The same again: unchanged.

    Enabled again it begins anew: nothing that happened meanwhile is told, and what failed can be replayed.
    Raises: NotFound, InvalidRequest.
    """
    webhook = lock_webhook(webhook_id, actor)
    wanted = _read_changes(changes)
    fields = [name for name, value in wanted.items() if getattr(webhook, name) != value]
    enabled = changes.get("enabled", webhook.is_enabled)
    if not fields and enabled == webhook.is_enabled:
        return webhook
    for name in fields:
        setattr(webhook, name, wanted[name])
    if fields:
        webhook.save(update_fields=fields)
    if enabled and not webhook.is_enabled:
        _enable(webhook)
    elif not enabled and webhook.is_enabled:
        disable(webhook, "owner")
    named = sorted(fields) + (["enabled"] if "enabled" in changes else [])
    record_change(AuditAction.WEBHOOK_UPDATED, webhook, actor, fields=named, enabled=webhook.is_enabled)
    return webhook


def _read_changes(changes: dict[str, Any]) -> dict[str, Any]:
    """Raises: InvalidRequest."""
    wanted = {name: value for name, value in changes.items() if name != "enabled"}
    if "url" in wanted:
        check_url(wanted["url"])
    if "event_types" in wanted:
        wanted["event_types"] = check_types(wanted["event_types"])
    return wanted


def _enable(webhook: Webhook) -> None:
    webhook.disabled_at = webhook.disabled_reason = webhook.failing_since = webhook.paused_until = None
    webhook.failures = 0
    webhook.save(update_fields=_ENABLED)


def disable(webhook: Webhook, reason: str) -> None:
    """A step: the webhook is locked. What was on its way has failed; it can be replayed when it is enabled again."""
    webhook.disabled_at, webhook.disabled_reason = timezone.now(), reason
    webhook.save(update_fields=["disabled_at", "disabled_reason"])
    WebhookDelivery.objects.filter(webhook=webhook, state="pending").update(
        state="failed", code="disabled", claim=None, leased_until=None, finished_at=ClockTimestamp()
    )


def require_enabled(webhook: Webhook) -> None:
    """Raises: Conflict."""
    if not webhook.is_enabled:
        raise Conflict("The webhook is disabled: enable it first.", error_code="webhook_disabled")


@atomic(durable=True)
def rotate_secret(
    webhook_id: str,
    *,
    overlap_seconds: int,
    expected_rotated_at: datetime | None = None,
    actor: Actor,
) -> IssuedWebhook:
    """A new secret; the one before signs beside it for `overlap_seconds` more, and one before that no longer.

    `expected_rotated_at`: of the secret that is replaced. Raises: NotFound, Unavailable; Conflict when it was replaced meanwhile.
    """
    webhook = lock_webhook(webhook_id, actor)
    if expected_rotated_at is not None and webhook.rotated_at != expected_rotated_at:
        raise Conflict("The secret was replaced already since it was read.", error_code="secret_changed")
    webhook.old_sealed, webhook.old_sealed_with = webhook.sealed, webhook.sealed_with
    webhook.old_until = webhook.rotated_at = timezone.now()
    webhook.old_until += timedelta(seconds=overlap_seconds)
    secret = give_secret(webhook)
    webhook.save(
        update_fields=["sealed", "sealed_with", "old_sealed", "old_sealed_with", "old_until", "rotated_at"]
    )
    record_change(AuditAction.WEBHOOK_ROTATED, webhook, actor, overlap_seconds=overlap_seconds)
    return IssuedWebhook(webhook, secret)


@atomic(durable=True)
def delete_webhook(webhook_id: str, *, actor: Actor) -> str:
    """With the log of its deliveries. Raises: NotFound."""
    webhook = _get(visible_webhooks(actor).select_for_update(), webhook_id)
    record_change(AuditAction.WEBHOOK_DELETED, webhook, actor)
    Webhook.objects.filter(id=webhook.id)._raw_delete("default")  # the database removes its deliveries
    return webhook_id


def record_change(action: AuditAction, webhook: Webhook, actor: Actor, **details: Any) -> None:
    """A step. Neither the secret nor the URL, which may hold one, is told."""
    audit.record(action, webhook.wire_id, environment_id=webhook.environment_id, details=details, actor=actor)
