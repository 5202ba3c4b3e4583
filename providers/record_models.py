"""The rows of remember, recall, forget: scopes and what the host issued in them, records and their index, effects, calls."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Project
from providers.contract import principal_of


class RecordScope(models.Model):
    """Where records live: an agent's memory of one principal, in one environment. `namespace`: of the host's bindings in it."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="record_scopes")
    environment = models.ForeignKey(
        Environment, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    agent = models.TextField()
    scope = models.TextField()
    namespace = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="recordscope_project_id"),
            models.UniqueConstraint(fields=["environment", "agent", "scope"], name="recordscope_name"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.RECORD_SCOPE, self.id)

    @property
    def issuer(self) -> str:
        return principal_of(self.scope)[0]

    @property
    def subject(self) -> str:
        return principal_of(self.scope)[1]


class RecordBinding(models.Model):
    """That the host issued a binding to this scope and to no other. Written before a provider is called."""

    pk = models.CompositePrimaryKey("scope_id", "record_id")
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    record_id = models.CharField(max_length=64)


class MemoryRecord(models.Model):
    """A record of the built-in provider. When it is forgotten the row stays, with its id and digests and nothing of its text.

    `digest` is sealed with a key of the hub: it tells the same record from another, and no text can be guessed from it.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="records", db_index=False
    )
    record_id = models.CharField(max_length=64)
    version = models.CharField(max_length=64)
    key_sha256 = models.CharField(max_length=64)
    digest = models.BinaryField(max_length=32)
    text = models.TextField(null=True)
    origin = models.CharField(max_length=16)
    provenance = models.JSONField(null=True)
    namespace = models.TextField()
    binding_id = models.TextField()
    thread = models.TextField(null=True)
    author = models.TextField(null=True)
    title = models.TextField(null=True)
    tags = ArrayField(models.TextField(), null=True)
    occurred_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    forgotten_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="memoryrecord_project_id"),
            models.UniqueConstraint(fields=["scope", "record_id"], name="memoryrecord_record_id"),
        ]
        indexes = [models.Index(fields=["scope", "-id"], name="memoryrecord_scope")]


class RecordThread(models.Model):
    """How many records were written in one thread of a scope. `id`: sealed from its name, which stands in the records alone."""

    id = models.UUIDField(primary_key=True, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+")
    count = models.IntegerField()


class RecordIndex(models.Model):
    """What a record is found by: see `memoryhub.ranking`.

    `thread` of a record without one is its own id; `is_question`: it asks something in a thread, in few words.
    """

    record = models.OneToOneField(
        MemoryRecord, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="index"
    )
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    thread = models.UUIDField()
    position = models.IntegerField()
    author = models.TextField()
    is_question = models.BooleanField(default=False, db_default=False)
    length = models.IntegerField()
    terms = SearchVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "position"], name="recordindex_position")]


class RecordVector(models.Model):
    """What an embedding backend made of a record: see `providers.record_vectors`. It waits for one while it has none.

    `vector`: for each passage `dim` numbers of 16 bits, of length one. `content_sha256`: of the passages that were embedded. A hub
    with pgvector has a column `near` too, which no model names.
    """

    record = models.OneToOneField(
        MemoryRecord, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="vector"
    )
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    model = models.CharField(max_length=128, null=True)
    dim = models.PositiveSmallIntegerField(null=True)
    vector = models.BinaryField(null=True)
    content_sha256 = models.BinaryField(max_length=32, null=True)
    claimed_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    vector__isnull=True, model__isnull=True, dim__isnull=True, content_sha256__isnull=True
                )
                | Q(
                    vector__isnull=False, model__isnull=False, dim__isnull=False, content_sha256__isnull=False
                ),
                name="recordvector_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["scope", "-record"], name="recordvector_scope"),
            models.Index(
                fields=["claimed_until"], name="recordvector_waiting", condition=Q(vector__isnull=True)
            ),
        ]


class RecordStatistics(models.Model):
    """What was counted of a large scope, for recalls. `asked_at`: when a count was asked for last."""

    scope = models.OneToOneField(
        RecordScope, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="statistics"
    )
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    records = models.IntegerField(default=0)
    mean_length = models.FloatField(default=1)
    counted_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(db_default=ClockTimestamp())


class RecordTerm(models.Model):
    """How many records of a large scope hold a lexeme, when they were counted; those that one record holds are left out."""

    pk = models.CompositePrimaryKey("scope_id", "term")
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    term = models.TextField(db_collation="C")
    records = models.IntegerField()


class MemoryEffect(models.Model):
    """A write to a provider, from before it is sent. `payload`: what is sent again; gone once the outcome is certain.

    `key_sha256` and `digest` tell the same write from another; `claim`: whose turn it is to send, until `claimed_until`.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    provider = models.CharField(max_length=64)
    tool = models.CharField(max_length=16)
    key = models.TextField(null=True)
    key_sha256 = models.CharField(max_length=64)
    digest = models.BinaryField(max_length=32)
    effect_class = models.CharField(max_length=16)
    dedup_window_ms = models.BigIntegerField(null=True)
    payload = models.JSONField(null=True)
    state = models.CharField(max_length=16)
    attempts = models.IntegerField(db_default=1)
    first_sent_at = models.DateTimeField(db_default=ClockTimestamp())
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    outcome = models.JSONField(null=True)
    decision = models.CharField(max_length=16, null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by_type = models.CharField(max_length=24, null=True)
    decided_by_id = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "tool", "key_sha256"], name="memoryeffect_key"),
            models.CheckConstraint(
                condition=Q(state__in=("begun", "unknown")) | Q(payload__isnull=True, claim__isnull=True),
                name="memoryeffect_payload",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="memoryeffect_project"),
            models.Index(
                fields=["state", "claimed_until"],
                name="memoryeffect_open",
                condition=Q(state__in=("begun", "unknown")),
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MEMORY_EFFECT, self.id)


class ProviderCall(models.Model):
    """One call of a provider: counts and sizes, nothing of what was said. `code` null: it has not ended."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+")
    provider = models.CharField(max_length=64)
    method = models.CharField(max_length=16)
    key_sha256 = models.CharField(max_length=64, null=True)
    k = models.IntegerField(null=True)
    query_length = models.IntegerField(null=True)
    started_at = models.DateTimeField()
    duration_ms = models.FloatField(null=True)
    code = models.CharField(max_length=16, null=True)
    returned = models.IntegerField(null=True)
    kept = models.IntegerField(null=True)
    dropped = models.IntegerField(null=True)
    cut_by_k = models.IntegerField(null=True)
    cut_by_bytes = models.IntegerField(null=True)
    kept_bytes = models.IntegerField(null=True)


class ScopeViolation(models.Model):
    """A hit with a binding that the host did not issue to the scope: dropped. Never its text."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    scope = models.ForeignKey(RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+")
    provider = models.CharField(max_length=64)
    namespace = models.TextField()
    record_id = models.TextField()
    hit_id = models.TextField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.SCOPE_VIOLATION, self.id)
