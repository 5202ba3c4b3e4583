"""Authorities with what they pair, and the calls on them; the rows of spaces stand in `space_models`.

`body` is always the canonical text that was hashed. The database refuses every other change (migration 0002).
"""

from typing import Any

from django.db import models
from django.db.models import Q

from authority.graph import Head
from authority.space_models import (
    Operation,
    RecordVersion,
    Space,
    environment_key,
    project_key,
    sha256_column,
)
from memoryhub import ids
from memoryhub.columns import ClockTimestamp

__all__ = [
    "WAITING_STATES",
    "Authority",
    "Clock",
    "Explanation",
    "HostCall",
    "Nomination",
    "Operation",
    "Program",
    "Receipt",
    "RecordVersion",
    "Route",
    "Space",
    "Turn",
]


class Authority(models.Model):
    """A reviewed and a working memory as one. The pin is the reviewed head that agents read; host calls alone move it."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    environment = environment_key()
    canonical = models.ForeignKey(Space, models.PROTECT, db_constraint=False, related_name="+")
    working = models.ForeignKey(Space, models.PROTECT, db_constraint=False, related_name="+")
    actor_id = models.CharField(max_length=128)
    adoption_actor_id = models.CharField(max_length=128)
    pin_sequence = models.BigIntegerField()
    pin_operation_sha256 = sha256_column(null=True)
    pin_graph_revision_sha256 = sha256_column(null=True)
    pin_records_sha256 = sha256_column()
    operation_bytes_max = models.IntegerField()
    explanation_milliseconds = models.IntegerField()
    next_ordinal = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="authority_project_id"),
            models.CheckConstraint(condition=~Q(canonical=models.F("working")), name="authority_two_spaces"),
            models.CheckConstraint(
                condition=Q(pin_sequence=0, pin_operation_sha256=None, pin_graph_revision_sha256=None)
                | Q(
                    pin_sequence__gt=0,
                    pin_operation_sha256__isnull=False,
                    pin_graph_revision_sha256__isnull=False,
                ),
                name="authority_pin",
            ),
        ]
        indexes = [models.Index(fields=["environment", "-id"], name="authority_environment")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.AUTHORITY, self.id)

    @property
    def pin(self) -> Head:
        return Head(
            self.pin_sequence,
            self.pin_operation_sha256,
            self.pin_graph_revision_sha256,
            self.pin_records_sha256,
        )


def _authority() -> Any:
    return models.ForeignKey(
        Authority, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )


class Turn(models.Model):
    """Whose turn it is: the session that holds the authority's advisory lock, and when it last said so."""

    authority = models.OneToOneField(
        Authority, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    project = project_key()
    attempt = models.UUIDField(null=True)
    application = models.CharField(max_length=63, null=True)
    heartbeat_at = models.DateTimeField(null=True)


class Clock(models.Model):
    """How far an authority's clocks have come, in milliseconds since 1970, and its next explanation's number."""

    authority = models.OneToOneField(
        Authority, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    project = project_key()
    wall_milliseconds = models.BigIntegerField(default=0)
    explanation_milliseconds = models.BigIntegerField(default=0)
    next_explanation = models.BigIntegerField(default=1)


class Route(models.Model):
    """Where nominations of one name are meant for."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    authority = _authority()
    nomination_id = models.CharField(max_length=128)
    destination_purpose = models.CharField(max_length=256)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "nomination_id"], name="route_name")]


class Program(models.Model):
    """A query that the host registered. `body`: its canonical text."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    authority = _authority()
    program_id = models.CharField(max_length=128)
    program_sha256 = sha256_column()
    body = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "program_id"], name="program_name")]


# A nomination that somebody is to decide on.
WAITING_STATES = ("pending", "conflict")


class Nomination(models.Model):
    """A proposal as it arrived. `state` and the decision are ours, and no part of what was hashed.

    `roots_sha256`: of its roots; a later nomination of the same takes its place in the queue.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    environment = environment_key()
    authority = _authority()
    nomination_sha256 = sha256_column()
    nomination_id = models.CharField(max_length=128)
    destination_purpose = models.CharField(max_length=256)
    roots_sha256 = sha256_column()
    source_sequence = models.BigIntegerField()
    records_count = models.IntegerField()
    body = models.TextField()
    body_bytes = models.IntegerField()
    state = models.CharField(max_length=16, default="pending")
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)
    note = models.TextField(null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by_type = models.CharField(max_length=24, null=True)
    decided_by_id = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["authority", "nomination_sha256"], name="nomination_sha256"),
            models.CheckConstraint(
                condition=Q(
                    state__in=(
                        "pending",
                        "adopting",
                        "adopted",
                        "already_present",
                        "conflict",
                        "rejected",
                        "superseded",
                    )
                ),
                name="nomination_state",
            ),
        ]
        indexes = [
            models.Index(fields=["authority", "-id"], name="nomination_authority"),
            models.Index(fields=["environment", "id"], name="nomination_environment"),
            models.Index(
                fields=["environment", "id"],
                name="nomination_waiting",
                condition=Q(state__in=("conflict", "pending")),
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.NOMINATION, self.id)

    @property
    def is_waiting(self) -> bool:
        return self.state in WAITING_STATES


class HostCall(models.Model):
    """A call of a host method. It runs from `request`, in the order of its ordinal. `attempt`: who may finish it.

    `nomination_sha256`: of the one it adopts.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    authority = _authority()
    ordinal = models.BigIntegerField()
    method = models.CharField(max_length=24)
    request = models.TextField()
    request_sha256 = sha256_column()
    nomination_sha256 = sha256_column(null=True)
    state = models.CharField(max_length=16, default="queued")
    attempt = models.UUIDField(null=True)
    submitted_by_type = models.CharField(max_length=24)
    submitted_by_id = models.CharField(max_length=64)
    submitted_at = models.DateTimeField(db_default=ClockTimestamp())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    receipt_sha256 = sha256_column(null=True)
    error = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="hostcall_project_id"),
            models.UniqueConstraint(fields=["authority", "ordinal"], name="hostcall_ordinal"),
            models.CheckConstraint(
                condition=Q(method__in=("advanceCanonical", "adoptNomination")), name="hostcall_method"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=("queued", "running"), finished_at=None, receipt_sha256=None, error__isnull=True
                )
                | Q(
                    state="succeeded",
                    finished_at__isnull=False,
                    receipt_sha256__isnull=False,
                    error__isnull=True,
                )
                | Q(state="failed", finished_at__isnull=False, receipt_sha256=None, error__isnull=False)
                | Q(state="withdrawn", finished_at__isnull=False, receipt_sha256=None, error__isnull=True),
                name="hostcall_state",
            ),
        ]
        indexes = [
            models.Index(
                fields=["authority", "ordinal"],
                name="hostcall_unfinished",
                condition=Q(state__in=("queued", "running")),
            ),
            models.Index(
                fields=["authority", "nomination_sha256", "-ordinal"],
                name="hostcall_nomination",
                condition=Q(nomination_sha256__isnull=False),
            ),
            # Those whose outcome is to be looked at: few, however many calls there are.
            models.Index(
                fields=["authority", "-ordinal"],
                name="hostcall_unknown",
                condition=Q(state="failed", error__code="outcome_unknown"),
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.HOST_CALL, self.id)


class Receipt(models.Model):
    """What a call left: the same outcome has the same receipt, however often it came about."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    authority = _authority()
    host_call_id = models.UUIDField()
    method = models.CharField(max_length=24)
    receipt_sha256 = sha256_column()
    body = models.TextField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "receipt_sha256"], name="receipt_sha256")]


class Explanation(models.Model):
    """What one page of a query can be asked about. `issue`: their order; the token itself is not kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    authority = _authority()
    issue = models.BigIntegerField()
    token_sha256 = sha256_column()
    result_sha256 = sha256_column()
    body = models.TextField()
    counted_bytes = models.IntegerField()
    expires_milliseconds = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["authority", "token_sha256"], name="explanation_token"),
            models.UniqueConstraint(fields=["authority", "issue"], name="explanation_issue"),
        ]
