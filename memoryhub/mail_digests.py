"""Mails that say how much has happened: one at most for a member and an environment in some minutes, with counts and links.

The rows of what is to be told are written with the notices. A run claims a digest, sends it, and then removes what it has
told, so nothing is lost; one that dies in between tells it again. Order of locks: digest, items.
"""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.transaction import atomic
from django.urls import reverse
from django.utils import timezone

from memoryhub import ids, jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.mails import MailFailed, is_configured, send_mail
from memoryhub.models import Environment, Membership
from memoryhub.notice_models import MailDigest, MailItem
from memoryhub.notice_types import TOPICS, NoticeType, find_notice_type
from memoryhub.operations import OPERATIONS, ROLES, allows
from memoryhub.rows import find_row

log = structlog.get_logger("memoryhub.mails")

SEND = "memoryhub.send_digest"
LEASE_SECONDS = 60
ITEMS_TOLD_MAX = 10_000  # in one mail; the rest comes with the next
ITEM_DAYS_MAX = 7
SWEPT_MAX = 500
PAUSE_SECONDS_MAX = 3_600


@dataclass(frozen=True, slots=True)
class _Digest:
    """One mail that may be sent now. `text` None: there is nothing that the member may hear of any more."""

    id: UUID
    claim: UUID
    item_ids: list[UUID]
    address: str
    subject: str
    text: str | None


def send_digest(membership_id: UUID, environment_id: UUID) -> bool:
    """Whether a mail was taken by the server."""
    digest = _claim(membership_id, environment_id)
    if digest is None:
        return False
    if not connection.in_atomic_block:
        connection.close()
    is_sent = digest.text is None or _send(digest, digest.text)
    _conclude(digest, is_sent=is_sent)
    return is_sent and digest.text is not None


@atomic
def _claim(membership_id: UUID, environment_id: UUID) -> _Digest | None:
    membership = find_row(Membership.objects.filter(id=membership_id).select_related("user", "project"))
    environment = find_row(Environment.objects.filter(id=environment_id))
    if membership is None or environment is None or environment.project_id != membership.project_id:
        return None
    named = {"membership": membership, "environment": environment}
    made = MailDigest(project_id=membership.project_id, **named)
    MailDigest.objects.bulk_create([made], ignore_conflicts=True)
    row = find_row(MailDigest.objects.select_for_update(skip_locked=True).filter(**named))
    items = list(
        MailItem.objects.filter(**named).order_by("id").values_list("id", "notice__type")[:ITEMS_TOLD_MAX]
    )
    if row is None or not items or not _is_due(row):
        return None
    row.claim, row.tries = uuid.uuid4(), row.tries + 1
    row.leased_until = timezone.now() + timedelta(seconds=LEASE_SECONDS)
    row.save(update_fields=["claim", "tries", "leased_until"])
    counts = _count(membership, [kind for _, kind in items])
    return _Digest(
        id=row.id,
        claim=row.claim,
        item_ids=[key for key, _ in items],
        address=membership.user.email,
        subject=_subject(counts, membership, environment),
        text=_write(counts, membership, environment) if counts and membership.user.is_active else None,
    )


def _is_due(row: MailDigest) -> bool:
    now = timezone.now()
    if row.leased_until is not None and row.leased_until > now:
        return False
    return row.sent_at is None or row.sent_at <= now - timedelta(minutes=settings.MAIL_MINUTES)


def _count(membership: Membership, types: Sequence[str]) -> list[tuple[NoticeType, int]]:
    """Of those that the member's role may look at."""
    kinds = [(find_notice_type(name), count) for name, count in sorted(Counter(types).items())]
    scopes = ROLES[membership.role]
    return [
        (kind, count)
        for kind, count in kinds
        if kind is not None and allows(scopes, OPERATIONS[kind.operation])
    ]


def _subject(
    counts: Sequence[tuple[NoticeType, int]], membership: Membership, environment: Environment
) -> str:
    topics = list(dict.fromkeys(TOPICS[kind.topic] for kind, _ in counts if kind.topic is not None))
    place = f"{membership.project.name} / {environment.name}"
    return " ".join(f"[{place}] {'; '.join(topics)}".split())


def _write(counts: Sequence[tuple[NoticeType, int]], membership: Membership, environment: Environment) -> str:
    """Counts and links: no text of memory, and no name but those of the project and the environment."""
    where = {"project_id": membership.project.wire_id, "environment": environment.name}
    lines = [f"In {membership.project.name}, environment {environment.name}, since the last mail:", ""]
    for kind, count in counts:
        lines += [
            f"- {kind.counted}: {count}",
            f"  {settings.BASE_URL}{reverse(kind.url_name, kwargs=where)}",
        ]
    account = f"{settings.BASE_URL}{reverse('account')}"
    lines += ["", f"You asked for these mails; your account says which you get: {account}", ""]
    return "\n".join(lines)


def _send(digest: _Digest, text: str) -> bool:
    """The network, outside any transaction."""
    message_id = f"{digest.id.hex}.{digest.item_ids[-1].hex}@memoryhub"
    try:
        send_mail(digest.address, subject=digest.subject, text=text, message_id=message_id)
    except MailFailed as error:
        log.warning("mail_failed", digest=digest.id.hex, cause=str(error))
        return False
    log.info("mail_sent", digest=digest.id.hex, items=len(digest.item_ids))
    return True


@atomic
def _conclude(digest: _Digest, *, is_sent: bool) -> None:
    """A run that has lost its claim writes nothing."""
    mine = MailDigest.objects.select_for_update().filter(id=digest.id, claim=digest.claim)
    row = find_row(mine)
    if row is None:
        return
    row.claim = None
    if is_sent:
        row.sent_at, row.tries, row.leased_until = timezone.now(), 0, None
        MailItem.objects.filter(id__in=digest.item_ids).delete()
    else:  # the server is left alone for a while, longer each time
        pause = min(60 * 2 ** min(row.tries, 10), PAUSE_SECONDS_MAX)
        row.leased_until = timezone.now() + timedelta(seconds=pause)
    row.save(update_fields=["claim", "sent_at", "tries", "leased_until"])


# What a lost queue and dead runs leave: the items are there until they are told.

_DUE = """
SELECT DISTINCT i.membership_id, i.environment_id FROM memoryhub_mailitem i
  LEFT JOIN memoryhub_maildigest d ON d.membership_id = i.membership_id AND d.environment_id = i.environment_id
 WHERE (d.leased_until IS NULL OR d.leased_until <= clock_timestamp())
   AND (d.sent_at IS NULL OR d.sent_at <= clock_timestamp() - %s * interval '1 minute')
 LIMIT %s
"""


def sweep() -> None:
    """Ring for every digest that is due."""
    if not is_configured():
        return
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [settings.MAIL_MINUTES, SWEPT_MAX])
        due = cursor.fetchall()
    for membership_id, environment_id in due:
        member = ids.to_wire(ids.MEMBERSHIP, membership_id)
        jobs.enqueue(SEND, member, ids.to_wire(ids.ENVIRONMENT, environment_id))


def clear_expired() -> int:
    """What could not be told for so long is told no more."""
    until = ClockTimestamp() - timedelta(days=ITEM_DAYS_MAX)
    return MailItem.objects.filter(created_at__lt=until)._raw_delete("default")
