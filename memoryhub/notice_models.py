"""The tables of notices: what happened that somebody outside wants to hear of, and how it was told.

A notice is written in the transaction of the change that it tells of, with a row for each that is to be told, so a
change that commits is told and one that does not is not. Rows hold ids, names of states and counts, never a text of
memory. Composite foreign keys (migration 0013) make the tenant part of each link.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memoryhub import ids
from memoryhub.columns import ClockTimestamp

DELIVERY_STATES = ("pending", "delivered", "failed")
DISABLED_REASONS = ("owner", "gone", "failing")


class Webhook(models.Model):
    """Where the notices of an environment are posted. `event_types`: names, or the one `*` for all, later ones too.

    `sealed` is the secret that signs, bound to the row as a secret of a connection is; `old_sealed` signs beside it until
    `old_until`. `failures`: attempts that failed since the last that was answered with success; `failing_since`: the first
    of them; nothing is attempted before `paused_until`.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="webhooks")
    environment = models.ForeignKey(
        "memoryhub.Environment", models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    url = models.TextField()
    description = models.CharField(max_length=255, blank=True)
    event_types = ArrayField(models.CharField(max_length=64))
    sealed = models.BinaryField()
    sealed_with = models.CharField(max_length=16)
    rotated_at = models.DateTimeField(db_default=ClockTimestamp())
    old_sealed = models.BinaryField(null=True)
    old_sealed_with = models.CharField(max_length=16, null=True)
    old_until = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=16, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="webhook_project_id"),
            models.CheckConstraint(
                condition=Q(disabled_at=None, disabled_reason=None)
                | Q(disabled_at__isnull=False, disabled_reason__in=DISABLED_REASONS),
                name="webhook_disabled",
            ),
        ]
        indexes = [
            models.Index(fields=["environment", "-id"], name="webhook_environment"),
            models.Index(fields=["sealed_with"], name="webhook_key"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.WEBHOOK, self.id)

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


class Notice(models.Model):
    """That something happened: `type` to the thing `subject_id`. `facts`: ids, names of states and counts."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="notices")
    environment = models.ForeignKey(
        "memoryhub.Environment", models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    type = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64)
    facts = models.JSONField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "id"], name="notice_project_id")]
        indexes = [models.Index(fields=["environment", "-id"], name="notice_environment")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.NOTICE, self.id)


class WebhookDelivery(models.Model):
    """A notice on its way to a webhook. `claim`: the run that may end the attempt, until `leased_until`.

    `attempts`: all that were begun; `tries`: those since it was made or last replayed. `code`: how the last one ended.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="+", db_index=False)
    webhook = models.ForeignKey(
        Webhook, models.DO_NOTHING, db_constraint=False, related_name="deliveries", db_index=False
    )
    notice = models.ForeignKey(Notice, models.DO_NOTHING, db_constraint=False, related_name="deliveries")
    state = models.CharField(max_length=16, default="pending")
    attempts = models.IntegerField(default=0)
    tries = models.IntegerField(default=0)
    due_at = models.DateTimeField(db_default=ClockTimestamp())
    expires_at = models.DateTimeField()
    claim = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    code = models.CharField(max_length=32, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="delivery_project_id"),
            models.UniqueConstraint(fields=["webhook", "notice"], name="delivery_once"),
            models.CheckConstraint(
                condition=Q(state="pending", finished_at=None)
                | Q(state__in=("delivered", "failed"), finished_at__isnull=False, claim=None),
                name="delivery_finished",
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_webhook"),
            models.Index(fields=["webhook", "due_at"], name="delivery_due", condition=Q(state="pending")),
            models.Index(fields=["webhook", "id"], name="delivery_failed", condition=Q(state="failed")),
            models.Index(fields=["leased_until"], name="delivery_leased", condition=Q(claim__isnull=False)),
            models.Index(
                fields=["finished_at"], name="delivery_over", condition=Q(finished_at__isnull=False)
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.WEBHOOK_DELIVERY, self.id)


class WebhookAttempt(models.Model):
    """One request and what came of it. `answer_start`: the first bytes of the receiver's answer, as text."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(
        WebhookDelivery, models.DO_NOTHING, db_constraint=False, related_name="attempt_rows", db_index=False
    )
    number = models.IntegerField()
    started_at = models.DateTimeField()
    milliseconds = models.IntegerField()
    code = models.CharField(max_length=32)
    status = models.IntegerField(null=True)
    answer_start = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["delivery", "number"], name="webhookattempt_number")]


class MailWish(models.Model):
    """What a member wants to hear of by e-mail: topics, in every environment of the project."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="+")
    membership = models.OneToOneField(
        "memoryhub.Membership", models.DO_NOTHING, db_constraint=False, related_name="mail_wish"
    )
    topics = ArrayField(models.CharField(max_length=32))


class MailItem(models.Model):
    """A notice that a member is still to be told by e-mail; it goes when the mail that counts it is sent."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="+")
    environment = models.ForeignKey(
        "memoryhub.Environment", models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    membership = models.ForeignKey(
        "memoryhub.Membership", models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    notice = models.ForeignKey(Notice, models.DO_NOTHING, db_constraint=False, related_name="mail_items")
    topic = models.CharField(max_length=32)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        indexes = [models.Index(fields=["membership", "environment", "id"], name="mailitem_digest")]


class MailDigest(models.Model):
    """When a member was last written to of an environment, and the run that writes now, until `leased_until`."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey("memoryhub.Project", models.CASCADE, related_name="+")
    environment = models.ForeignKey(
        "memoryhub.Environment", models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    membership = models.ForeignKey(
        "memoryhub.Membership", models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    sent_at = models.DateTimeField(null=True)
    tries = models.IntegerField(default=0)
    claim = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["membership", "environment"], name="maildigest_once")]
