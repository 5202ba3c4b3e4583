"""Saying that something happened, in the transaction of what happened: the outbox of webhooks and mails.

A notice and a row for each that is to be told commit with the change, or not at all. The queue is rung after the commit,
and a sweep rings for whatever it lost. Where nobody wants to be told there is no row.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memoryhub import ids, jobs
from memoryhub.clock import to_wire
from memoryhub.digests import exact_json
from memoryhub.mails import is_configured
from memoryhub.notice_models import MailItem, Notice, WebhookDelivery
from memoryhub.notice_types import EVERY_TYPE, Fact, Topic, find_notice_type, require_facts

SEND = "memoryhub.send_webhook"
# Longer than a day, so that what waits behind a receiver that fails gets its last attempt too.
DELIVERY_HOURS_MAX = 48


def record(
    type_: str,
    subject_id: str,
    *,
    project_id: UUID,
    environment_id: UUID,
    facts: Mapping[str, Fact],
) -> None:
    """A step: in the caller's transaction, once for each change. `facts`: what the type declares, and nothing else."""
    assert connection.in_atomic_block, "a notice commits with the change that it tells of"
    require_facts(type_, facts)
    kind = find_notice_type(type_)
    assert kind is not None
    webhooks = _find_webhooks(environment_id, type_)
    is_mailed = kind.topic is not None and is_configured()
    members = _read_ids(_MEMBERS, [project_id, kind.topic]) if is_mailed else []
    if not webhooks and not members:
        return
    notice = add_notice(type_, subject_id, project_id=project_id, environment_id=environment_id, facts=facts)
    add_deliveries(notice, webhooks)
    if kind.topic is not None:
        _add_mail_items(notice, kind.topic, members)


# A webhook or a member that goes meanwhile is left out: a change never fails because of who is told of it.
_WEBHOOKS = """
SELECT id FROM memoryhub_webhook
 WHERE environment_id = %s AND disabled_at IS NULL AND event_types && %s::varchar[] FOR KEY SHARE
"""
_MEMBERS = """
SELECT m.id FROM memoryhub_mailwish w JOIN memoryhub_membership m ON m.id = w.membership_id
 WHERE w.project_id = %s AND %s = ANY (w.topics) FOR KEY SHARE OF m
"""


def _find_webhooks(environment_id: UUID, type_: str) -> list[UUID]:
    return _read_ids(_WEBHOOKS, [environment_id, [type_, EVERY_TYPE]])


def _read_ids(statement: str, values: list[Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [row[0] for row in cursor.fetchall()]


def _add_mail_items(notice: Notice, topic: Topic, members: Sequence[UUID]) -> None:
    MailItem.objects.bulk_create(
        MailItem(
            project_id=notice.project_id,
            environment_id=notice.environment_id,
            membership_id=member,
            notice=notice,
            topic=topic,
        )
        for member in members
    )


def add_notice(
    type_: str, subject_id: str, *, project_id: UUID, environment_id: UUID, facts: Mapping[str, Fact]
) -> Notice:
    """A step: the row alone."""
    notice = Notice.objects.create(
        project_id=project_id,
        environment_id=environment_id,
        type=type_,
        subject_id=subject_id,
        facts=dict(facts),
    )
    notice.refresh_from_db(fields=["created_at"])
    return notice


def add_deliveries(notice: Notice, webhook_ids: Sequence[UUID]) -> list[WebhookDelivery]:
    """A step: the notice is on its way to each of them, once."""
    expires_at = timezone.now() + timedelta(hours=DELIVERY_HOURS_MAX)
    made = WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            project_id=notice.project_id, webhook_id=webhook_id, notice=notice, expires_at=expires_at
        )
        for webhook_id in webhook_ids
    )
    for webhook_id in webhook_ids:
        jobs.enqueue(SEND, ids.to_wire(ids.WEBHOOK, webhook_id))
    return made


def payload_of(notice: Notice) -> dict[str, Any]:
    """What receivers get: `{"type", "timestamp", "data"}`, by the Standard Webhooks specification."""
    return {
        "type": notice.type,
        "timestamp": to_wire(notice.created_at),
        "data": {
            "id": notice.subject_id,
            "project_id": ids.to_wire(ids.PROJECT, notice.project_id),
            "environment_id": ids.to_wire(ids.ENVIRONMENT, notice.environment_id),
            **notice.facts,
        },
    }


def body_of(notice: Notice) -> bytes:
    """The same bytes in every attempt, to every receiver."""
    return exact_json(payload_of(notice))
