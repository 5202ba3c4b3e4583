"""Spaces with their operations and records, authorities with what they pair, and the calls on them.

A space is append-only: its operations form a hash chain, and a record version says for which of them it was current, so
that the records at any head are one query. `body` is always the canonical text that was hashed; a `jsonb` beside it is
for filters only. The database refuses every other change (migration 0002).
"""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from authority.graph import Head
from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Project


def _sha256(*, null: bool = False) -> Any:
    """64 lowercase hexadecimal digits."""
    return models.CharField(max_length=64, null=null)


def _project() -> Any:
    return models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )


def _environment() -> Any:
    return models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")


class Space(models.Model):
    """One history. The four digests and numbers are its head; `purge_receipt` is what is left of an emptied one."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    environment = _environment()
    space_id = models.CharField(max_length=128)
    realm_id = models.CharField(max_length=128)
    authority_id = models.CharField(max_length=128)
    profile_kind = models.CharField(max_length=16)
    binding_text = models.TextField()
    binding_sha256 = _sha256()
    sequence = models.BigIntegerField(default=0)
    operation_sha256 = _sha256(null=True)
    graph_revision_sha256 = _sha256(null=True)
    records_sha256 = _sha256()
    purge_receipt = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="space_project_id"),
            models.UniqueConstraint(fields=["environment", "space_id"], name="space_space_id"),
            models.UniqueConstraint(fields=["environment", "authority_id"], name="space_authority_id"),
            models.CheckConstraint(
                condition=Q(sequence=0, operation_sha256=None, graph_revision_sha256=None)
                | Q(sequence__gt=0, operation_sha256__isnull=False, graph_revision_sha256__isnull=False),
                name="space_head",
            ),
            models.CheckConstraint(condition=Q(profile_kind__in=("canonical", "working")), name="space_kind"),
            models.CheckConstraint(
                condition=Q(purge_receipt=None) | Q(profile_kind="working"), name="space_purged"
            ),
        ]
        indexes = [models.Index(fields=["environment", "-id"], name="space_environment")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.SPACE, self.id)

    @property
    def head(self) -> Head:
        return Head(self.sequence, self.operation_sha256, self.graph_revision_sha256, self.records_sha256)


def _space() -> Any:
    return models.ForeignKey(Space, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False)


class Operation(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    space = _space()
    sequence = models.BigIntegerField()
    operation_id = models.CharField(max_length=128)
    operation_sha256 = _sha256()
    parent_sha256 = _sha256(null=True)
    graph_revision_sha256 = _sha256()
    records_sha256 = _sha256()
    actor_id = models.CharField(max_length=128)
    instant = models.CharField(max_length=24)
    body = models.TextField()
    body_bytes = models.IntegerField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "sequence"], name="operation_sequence"),
            models.UniqueConstraint(fields=["space", "operation_id"], name="operation_operation_id"),
        ]

    @property
    def head(self) -> Head:
        return Head(self.sequence, self.operation_sha256, self.graph_revision_sha256, self.records_sha256)


class RecordVersion(models.Model):
    """A record as it was from one operation on, up to another. `to_sequence` null: it is current."""

    pk = models.CompositePrimaryKey("space_id", "key", "from_sequence")
    project = _project()
    space = _space()
    key = models.CharField(max_length=512, db_collation="C")
    from_sequence = models.BigIntegerField()
    to_sequence = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=64)
    record_sha256 = _sha256()
    dependencies = ArrayField(models.CharField(max_length=512))
    body = models.TextField()
    body_bytes = models.IntegerField()
    value = models.JSONField()
    search = SearchVectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "key"], condition=Q(to_sequence=None), name="recordversion_current"
            ),
        ]


class Authority(models.Model):
    """A reviewed and a working memory as one. The pin is the reviewed head that agents read; host calls alone move it."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    environment = _environment()
    canonical = models.ForeignKey(Space, models.PROTECT, db_constraint=False, related_name="+")
    working = models.ForeignKey(Space, models.PROTECT, db_constraint=False, related_name="+")
    actor_id = models.CharField(max_length=128)
    adoption_actor_id = models.CharField(max_length=128)
    pin_sequence = models.BigIntegerField()
    pin_operation_sha256 = _sha256(null=True)
    pin_graph_revision_sha256 = _sha256(null=True)
    pin_records_sha256 = _sha256()
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
    project = _project()
    attempt = models.UUIDField(null=True)
    application = models.CharField(max_length=63, null=True)
    heartbeat_at = models.DateTimeField(null=True)


class Clock(models.Model):
    """How far an authority's clocks have come, in milliseconds since 1970, and its next explanation's number."""

    authority = models.OneToOneField(
        Authority, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    project = _project()
    wall_milliseconds = models.BigIntegerField(default=0)
    explanation_milliseconds = models.BigIntegerField(default=0)
    next_explanation = models.BigIntegerField(default=1)


class Route(models.Model):
    """Where nominations of one name are meant for."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    nomination_id = models.CharField(max_length=128)
    destination_purpose = models.CharField(max_length=256)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "nomination_id"], name="route_name")]


class Program(models.Model):
    """A query that the host registered. `body`: its canonical text."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    program_id = models.CharField(max_length=128)
    program_sha256 = _sha256()
    body = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "program_id"], name="program_name")]


class Nomination(models.Model):
    """A proposal as it arrived. `state` is ours, and no part of what was hashed."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    nomination_sha256 = _sha256()
    nomination_id = models.CharField(max_length=128)
    destination_purpose = models.CharField(max_length=256)
    source_sequence = models.BigIntegerField()
    records_count = models.IntegerField()
    body = models.TextField()
    body_bytes = models.IntegerField()
    state = models.CharField(max_length=16, default="pending")
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

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
        indexes = [models.Index(fields=["authority", "-id"], name="nomination_authority")]


class HostCall(models.Model):
    """A call of a host method. It runs from `request`, in the order of its ordinal. `attempt`: who may finish it."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    ordinal = models.BigIntegerField()
    method = models.CharField(max_length=24)
    request = models.TextField()
    request_sha256 = _sha256()
    state = models.CharField(max_length=16, default="queued")
    attempt = models.UUIDField(null=True)
    submitted_by_type = models.CharField(max_length=24)
    submitted_by_id = models.CharField(max_length=64)
    submitted_at = models.DateTimeField(db_default=ClockTimestamp())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    receipt_sha256 = _sha256(null=True)
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
            )
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.HOST_CALL, self.id)


class Receipt(models.Model):
    """What a call left: the same outcome has the same receipt, however often it came about."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    host_call_id = models.UUIDField()
    method = models.CharField(max_length=24)
    receipt_sha256 = _sha256()
    body = models.TextField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["authority", "receipt_sha256"], name="receipt_sha256")]


class Explanation(models.Model):
    """What one page of a query can be asked about. `issue`: their order; the token itself is not kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = _project()
    authority = _authority()
    issue = models.BigIntegerField()
    token_sha256 = _sha256()
    result_sha256 = _sha256()
    body = models.TextField()
    counted_bytes = models.IntegerField()
    expires_milliseconds = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["authority", "token_sha256"], name="explanation_token"),
            models.UniqueConstraint(fields=["authority", "issue"], name="explanation_issue"),
        ]
