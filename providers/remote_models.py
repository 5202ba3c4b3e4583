"""The rows of what other services keep of records: which scope is called what there, and which record is which there. No texts."""

from django.db import models

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Project
from providers.record_models import RecordScope


class RemoteScope(models.Model):
    """That a service may hold records of a scope. `identity`: what the service knows it by; `home`: the id of its place there,
    where the service gives one. `refused_at`: since when it refuses the hub's credential for it."""

    pk = models.CompositePrimaryKey("scope_id", "provider")
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    provider = models.CharField(max_length=64)
    origin = models.CharField(max_length=320)
    identity = models.CharField(max_length=64)
    home = models.CharField(max_length=256, null=True)
    refused_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())


class RemoteRecord(models.Model):
    """A record at a service, from before it is sent there. `name`: what its key is called there; `digest`: sealed, of the record;
    `text_seal`: of its text alone, by which an erasure finds it.

    `saved_at` null: nobody knows whether it is there. `external_id` null: the service has not said its id.
    `forgetting_at`: a forget may have been sent; `forgotten_at`: it was done. `correction_sha256`: of the key under which another
    record was begun to stand in its place. `claim`: whose turn it is to send, until `claimed_until`.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    provider = models.CharField(max_length=64)
    record_id = models.CharField(max_length=64)
    external_id = models.CharField(max_length=256, null=True)
    name = models.CharField(max_length=64)
    digest = models.BinaryField(max_length=32)
    text_seal = models.CharField(max_length=32, null=True)
    namespace = models.TextField()
    binding_id = models.TextField()
    origin = models.CharField(max_length=16)
    version = models.CharField(max_length=64)
    sends = models.IntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    saved_at = models.DateTimeField(null=True)
    forget_name = models.CharField(max_length=64, null=True)
    correction_sha256 = models.CharField(max_length=64, null=True)
    forgetting_at = models.DateTimeField(null=True)
    forgotten_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "provider", "record_id"], name="remoterecord_record_id"),
            models.UniqueConstraint(
                fields=["scope", "provider", "external_id"], name="remoterecord_external_id"
            ),
            models.UniqueConstraint(fields=["scope", "provider", "name"], name="remoterecord_name"),
        ]
        indexes = [
            models.Index(fields=["scope", "provider", "forget_name"], name="remoterecord_forget"),
            models.Index(fields=["text_seal"], name="remoterecord_text"),
        ]
