"""The rows of endpoints: this hub as the memory service of other hosts. Partitions are external: their hosts name them."""

from django.contrib.postgres.search import SearchVectorField
from django.db import models

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Project
from providers.limits import RECALL_BYTES_DEFAULT

OWN, PROVIDER = "own", "provider"
UNDER_WAY = 0  # in place of a status


class Endpoint(models.Model):
    """A memory service at `/oc-memory/{id}`. `bytes_max`: of one recall. `retention_days` null: records are kept.

    `backing`: `own` when its records stand in partitions here, `provider` when the memory provider of its environment keeps them.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="endpoints")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    name = models.CharField(max_length=64)
    backing = models.CharField(max_length=16, default=OWN)
    bytes_max = models.PositiveIntegerField(default=RECALL_BYTES_DEFAULT)
    retention_days = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="endpoint_project_id"),
            models.UniqueConstraint(fields=["environment", "name"], name="endpoint_name"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.ENDPOINT, self.id)

    @property
    def has_provider(self) -> bool:
        return self.backing == PROVIDER


class EndpointCredential(models.Model):
    """What a host presents; it belongs to one endpoint. `scope`: memory, or ingest for conversations and nothing else."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    endpoint = models.ForeignKey(Endpoint, models.DO_NOTHING, db_constraint=False, related_name="credentials")
    name = models.CharField(max_length=64)
    scope = models.CharField(max_length=16)
    token_sha256 = models.BinaryField(max_length=32)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="endpointcredential_project_id")
        ]
        indexes = [models.Index(fields=["endpoint", "-id"], name="endpointcredential_endpoint")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.ENDPOINT_CREDENTIAL, self.id)


class ExternalPartition(models.Model):
    """What one namespace of a host is here, from its first write on. `revision` rises with each write in it.

    `erasing_at`: since when all that a memory provider keeps of it is being forgotten; once it is, the row goes.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    endpoint = models.ForeignKey(Endpoint, models.DO_NOTHING, db_constraint=False, related_name="partitions")
    partition = models.CharField(max_length=200)
    revision = models.PositiveBigIntegerField(default=0)
    frozen_at = models.DateTimeField(null=True)
    erasing_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    changed_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="externalpartition_project_id"),
            models.UniqueConstraint(fields=["endpoint", "partition"], name="externalpartition_name"),
        ]
        indexes = [
            models.Index(
                fields=["erasing_at"],
                name="externalpartition_erasing",
                condition=models.Q(erasing_at__isnull=False),
            )
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.EXTERNAL_PARTITION, self.id)


class ExternalRecord(models.Model):
    """One fact in a partition. `revision`: of the partition, at the record's last change. `terms`, `length`: see ranking."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    partition = models.ForeignKey(
        ExternalPartition, models.DO_NOTHING, db_constraint=False, related_name="records"
    )
    text = models.TextField()
    revision = models.PositiveBigIntegerField()
    terms = SearchVectorField(null=True)
    length = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    changed_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "id"], name="externalrecord_project_id")]
        indexes = [models.Index(fields=["partition", "-changed_at", "-id"], name="externalrecord_partition")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.EXTERNAL_RECORD, self.id)


class EndpointOperation(models.Model):
    """A write that was answered: the same operation again gets the same bytes, another one under its id is refused.

    `fingerprint`: sealed with a key of the hub, so that no text can be guessed from it. `record_id`: what it wrote; when
    that is erased, so is the answer. `status` UNDER_WAY: a memory provider was asked, and the ledger of effects knows how far it came.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    partition = models.ForeignKey(
        ExternalPartition, models.DO_NOTHING, db_constraint=False, related_name="operations"
    )
    operation_id = models.CharField(max_length=512)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.BinaryField()
    record_id = models.UUIDField(null=True)
    erased_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partition", "operation_id"], name="endpointoperation_operation_id"
            )
        ]
        indexes = [models.Index(fields=["created_at"], name="endpointoperation_created")]


class ExternalItem(models.Model):
    """An item of a conversation that a host ingested, kept for later extraction. The memory protocol never sees it."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    partition = models.ForeignKey(
        ExternalPartition, models.DO_NOTHING, db_constraint=False, related_name="items"
    )
    role = models.CharField(max_length=16)
    text = models.TextField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        indexes = [models.Index(fields=["partition", "id"], name="externalitem_partition")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.EXTERNAL_ITEM, self.id)
