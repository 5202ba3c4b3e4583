"""Stores, the current memories of each, and every version there ever was.

A memory row is the head: its text stands in the version it points to, once. Versions have no foreign key to their
memory, so that they outlive it; they die with their store. The database refuses every change of a version but
redaction (migration 0002).
"""

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models.functions import Lower

from memoryhub import ids
from memoryhub.columns import ClockTimestamp, NextNumber
from memoryhub.models import Environment, Project, Session


class MemoryStore(models.Model):
    """`resource_id`: the store holds the documents of that resource, so its memories keep to the policy of documents.

    `content_bytes_max` is that resource's current limit; both are null for a store of its own. `history_from`: the
    history before it is not whole, since old versions were removed; null: nothing was.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="memory_stores")
    environment = models.ForeignKey(
        Environment, models.DO_NOTHING, db_constraint=False, related_name="memory_stores"
    )
    name = models.TextField()
    description = models.TextField()
    metadata = models.JSONField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    updated_at = models.DateTimeField(db_default=ClockTimestamp())
    archived_at = models.DateTimeField(null=True)
    frozen_at = models.DateTimeField(null=True)
    resource_id = models.CharField(max_length=128, null=True)
    content_bytes_max = models.IntegerField(null=True)
    history_from = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="memorystore_project_id"),
            models.UniqueConstraint(fields=["environment", "resource_id"], name="memorystore_resource"),
        ]
        indexes = [
            models.Index(fields=["environment", "-created_at", "-id"], name="memorystore_environment"),
            models.Index(fields=["project", "-created_at", "-id"], name="memorystore_project"),
            models.Index("environment", Lower("name"), "id", name="memorystore_name"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MEMORY_STORE, self.id)


class StoreTotals(models.Model):
    """What a store holds, counted in the background some seconds after it changed; lists are sorted by it."""

    store = models.OneToOneField(
        MemoryStore, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="totals"
    )
    project_id = models.UUIDField()
    environment_id = models.UUIDField()
    memories_count = models.IntegerField(default=0)
    size_bytes = models.BigIntegerField(default=0)
    changed_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["environment_id", "changed_at", "store"], name="storetotals_changed"),
            models.Index(fields=["environment_id", "size_bytes", "store"], name="storetotals_size"),
            models.Index(fields=["environment_id", "memories_count", "store"], name="storetotals_memories"),
        ]


class StoreRetention(models.Model):
    """How long the versions of a store are kept; no row: for ever.

    `versions_min`: of each memory its newest ones stay, however old. `ran_at`: when all that was to go last was gone.
    """

    store = models.OneToOneField(
        MemoryStore, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="retention"
    )
    project_id = models.UUIDField()
    days = models.IntegerField()
    versions_min = models.IntegerField()
    set_at = models.DateTimeField(db_default=ClockTimestamp())
    set_by_type = models.CharField(max_length=24)
    set_by_id = models.CharField(max_length=64)
    ran_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(days__gte=1, versions_min__gte=1), name="storeretention_bounds"
            )
        ]
        indexes = [models.Index(fields=["ran_at", "store"], name="storeretention_ran")]


class MemoryVersion(models.Model):
    """One accepted change. `number` orders the versions of a store.

    `title`, `summary` and `agent_writes` are those of a document; null in a store of its own. `work_id`: of the work item
    whose token wrote it. `follows_removed`: the version before it of the same memory was removed when it was old.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    number = models.BigIntegerField(db_default=NextNumber("stores_version_number"), unique=True)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    store = models.ForeignKey(
        MemoryStore, models.DO_NOTHING, db_constraint=False, related_name="versions", db_index=False
    )
    memory_id = models.UUIDField()
    operation = models.CharField(max_length=8)
    path = models.TextField(null=True)
    content = models.TextField(null=True)
    content_size_bytes = models.IntegerField(null=True)
    content_sha256 = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)
    redacted_at = models.DateTimeField(null=True)
    redacted_by_type = models.CharField(max_length=24, null=True)
    redacted_by_id = models.CharField(max_length=64, null=True)
    title = models.TextField(null=True)
    summary = models.TextField(null=True)
    agent_writes = models.BooleanField(null=True)
    work_id = models.UUIDField(null=True)
    follows_removed = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "id"], name="memoryversion_project_id")]
        indexes = [
            models.Index(fields=["store", "-number"], name="memoryversion_store"),
            models.Index(fields=["store", "memory_id", "-number"], name="memoryversion_memory"),
            models.Index(fields=["project", "content_sha256"], name="memoryversion_sha256"),
            # Few versions are redacted, and people ask for those alone.
            models.Index(
                fields=["project", "-redacted_at", "-id"],
                name="memoryversion_redacted",
                condition=models.Q(redacted_at__isnull=False),
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MEMORY_VERSION, self.id)

    @property
    def memory_wire_id(self) -> str:
        return ids.to_wire(ids.MEMORY, self.memory_id)


class Memory(models.Model):
    """The current head of one file. `path_key` is the path's bytes: order, ranges and uniqueness compare bytes."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    store = models.ForeignKey(
        MemoryStore, models.DO_NOTHING, db_constraint=False, related_name="memories", db_index=False
    )
    head = models.ForeignKey(
        MemoryVersion, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    path = models.TextField()
    path_key = models.BinaryField()
    content_size_bytes = models.IntegerField()
    content_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    frozen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["store", "path_key"], name="memory_store_path"),
            models.UniqueConstraint(fields=["project", "id"], name="memory_project_id"),
        ]
        # The database asks by it whether a version that is removed is the head of a memory.
        indexes = [models.Index(fields=["project", "head"], name="memory_head")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MEMORY, self.id)


class MemoryIndex(models.Model):
    """The search row of a current memory: narrow, since a query visits every row that matches.

    `terms` holds the lexemes of the path and the text, `length` counts their positions. Written and removed in the
    memory's own transaction, so that what is gone cannot be found.
    """

    memory = models.OneToOneField(
        Memory, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    project_id = models.UUIDField()
    environment_id = models.UUIDField()
    store_id = models.UUIDField()
    length = models.IntegerField()
    terms = SearchVectorField()


class UsedPath(models.Model):
    """The path of a deleted document: it is never used again. Nothing of the text is kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    store = models.ForeignKey(
        MemoryStore, models.DO_NOTHING, db_constraint=False, related_name="used_paths", db_index=False
    )
    path_key = models.BinaryField()
    deleted_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "path_key"], name="usedpath_store_path")]


class Attachment(models.Model):
    """A store that a session mounts. What stands here is frozen when the session begins; the memories are live.

    Gone with its session; the store cannot be deleted before.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, related_name="attachments")
    store = models.ForeignKey(MemoryStore, models.DO_NOTHING, db_constraint=False, related_name="attachments")
    position = models.SmallIntegerField()
    access = models.CharField(max_length=16)
    name = models.TextField()
    description = models.TextField()
    instructions = models.TextField(null=True)
    mount_path = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "store"], name="attachment_session_store"),
            models.UniqueConstraint(fields=["session", "mount_path"], name="attachment_session_path"),
        ]


class Work(models.Model):
    """A session that waits for a worker, or has one. A worker holds it by a lease, which each heartbeat extends.

    `claimed_at`: when a worker took it; until that acknowledges it the state stays queued. `token_id`: of the one token that
    may work for it now. `lease_expires_at` null: nobody has acknowledged it, or it stopped.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    environment = models.ForeignKey(
        Environment, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, related_name="work")
    state = models.CharField(max_length=16, default="queued")
    metadata = models.JSONField(default=dict)
    worker = models.CharField(max_length=256, blank=True)
    claims_count = models.IntegerField(default=0)
    token_id = models.UUIDField(null=True)
    ttl_seconds = models.IntegerField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    claimed_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    latest_heartbeat_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    stop_requested_at = models.DateTimeField(null=True)
    stopped_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="work_project_id"),
            models.UniqueConstraint(
                fields=["session"], name="work_live", condition=~models.Q(state="stopped")
            ),
            models.CheckConstraint(
                condition=models.Q(state="queued", lease_expires_at=None, stopped_at=None)
                | models.Q(
                    state__in=("starting", "active", "stopping"),
                    token_id__isnull=False,
                    lease_expires_at__isnull=False,
                    stopped_at=None,
                )
                | models.Q(state="stopped", token_id=None, lease_expires_at=None, stopped_at__isnull=False),
                name="work_state",
            ),
        ]
        indexes = [
            models.Index(fields=["environment", "-id"], name="work_environment"),
            models.Index(
                fields=["environment", "id"], name="work_waiting", condition=~models.Q(state="stopped")
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.WORK, self.id)


class WorkPoller(models.Model):
    """A worker that asks an environment for work, by the name that it gives itself, and when it last did."""

    pk = models.CompositePrimaryKey("environment_id", "worker")
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    environment_id = models.UUIDField()
    worker = models.CharField(max_length=256)
    polled_at = models.DateTimeField(db_default=ClockTimestamp())
