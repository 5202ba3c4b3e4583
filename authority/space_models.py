"""The rows of spaces. A space is append-only: its operations form a hash chain, and a record version says for which of
them it was current, so that the records at any head are one query.

`body` is always the canonical text that was hashed; a `jsonb` beside it is for filters only. The database refuses every
other change (migration 0002).
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


def sha256_column(*, null: bool = False) -> Any:
    """64 lowercase hexadecimal digits."""
    return models.CharField(max_length=64, null=null)


def project_key() -> Any:
    return models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )


def environment_key() -> Any:
    return models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")


class Space(models.Model):
    """One history. The four digests and numbers are its head; `purge_receipt` is what is left of an emptied one."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = project_key()
    environment = environment_key()
    space_id = models.CharField(max_length=128)
    realm_id = models.CharField(max_length=128)
    authority_id = models.CharField(max_length=128)
    profile_kind = models.CharField(max_length=16)
    binding_text = models.TextField()
    binding_sha256 = sha256_column()
    sequence = models.BigIntegerField(default=0)
    operation_sha256 = sha256_column(null=True)
    graph_revision_sha256 = sha256_column(null=True)
    records_sha256 = sha256_column()
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
    project = project_key()
    space = _space()
    sequence = models.BigIntegerField()
    operation_id = models.CharField(max_length=128)
    operation_sha256 = sha256_column()
    parent_sha256 = sha256_column(null=True)
    graph_revision_sha256 = sha256_column()
    records_sha256 = sha256_column()
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
    project = project_key()
    space = _space()
    key = models.CharField(max_length=512, db_collation="C")
    from_sequence = models.BigIntegerField()
    to_sequence = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=64)
    record_sha256 = sha256_column()
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
        # What some operations changed.
        indexes = [
            models.Index(fields=["space", "from_sequence"], name="recordversion_begun"),
            models.Index(
                fields=["space", "to_sequence"],
                name="recordversion_ended",
                condition=Q(to_sequence__isnull=False),
            ),
        ]
