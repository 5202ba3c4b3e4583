"""What deployments declare, what sessions bind, and what each model request was given.

Every row carries its project; composite foreign keys (migration 0002) make the tenant part of each link.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Project, Session
from providers.endpoint_models import (  # noqa: F401 - where Django looks for models
    Endpoint,
    EndpointCredential,
    EndpointOperation,
    ExternalItem,
    ExternalPartition,
    ExternalRecord,
)
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.record_models import (  # noqa: F401 - where Django looks for models
    MemoryEffect,
    MemoryRecord,
    ProviderCall,
    RecordBinding,
    RecordIndex,
    RecordScope,
    RecordStatistics,
    RecordTerm,
    RecordThread,
    RecordVector,
    ScopeViolation,
)
from providers.record_session_models import (  # noqa: F401 - where Django looks for models
    RecalledItem,
    RecordWrite,
)
from providers.remote_models import RemoteRecord, RemoteScope  # noqa: F401 - where Django looks for models
from stores.models import MemoryStore


class Deployment(models.Model):
    """An immutable build of one agent. `manifest` is its canonical form; `environment` null: of the whole project."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="deployments")
    environment = models.ForeignKey(
        Environment, models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    agent_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX)
    manifest = models.JSONField()
    manifest_sha256 = models.CharField(max_length=64)
    warnings = models.JSONField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "id"], name="deployment_project_id")]
        indexes = [models.Index(fields=["project", "agent_id", "-id"], name="deployment_agent")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.DEPLOYMENT, self.id)


class Promotion(models.Model):
    """A deployment made the one that an environment runs for its agent. The newest of an agent is the active one."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    deployment = models.ForeignKey(
        Deployment, models.DO_NOTHING, db_constraint=False, related_name="promotions"
    )
    agent_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX)
    is_active = models.BooleanField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["environment", "agent_id"],
                condition=models.Q(is_active=True),
                name="promotion_active",
            )
        ]


class Resource(models.Model):
    """A declared memory of an environment, from its first promotion on: its kind for ever, its limits as of the last.

    `provider` is the declaration of the last promotion. `store` holds the documents of a document resource.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    resource_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX)
    kind = models.CharField(max_length=16)
    description = models.TextField()
    provider = models.JSONField()
    store = models.ForeignKey(
        MemoryStore, models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    updated_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="resource_project_id"),
            models.UniqueConstraint(fields=["environment", "resource_id"], name="resource_environment_id"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.RESOURCE, self.id)


class Namespace(models.Model):
    """The unit of isolation under an HTTP resource. The partition that was stored first always wins."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    resource = models.ForeignKey(Resource, models.DO_NOTHING, db_constraint=False, related_name="namespaces")
    namespace_id = models.CharField(max_length=128)
    partition = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="namespace_project_id"),
            models.UniqueConstraint(fields=["resource", "namespace_id"], name="namespace_resource_id"),
        ]


class PinnedDeployment(models.Model):
    """The deployment that a session keeps for life; a session with attached stores only has none. `principal`: whose it is."""

    session = models.OneToOneField(
        Session, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="pinned"
    )
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    deployment = models.ForeignKey(
        Deployment, models.DO_NOTHING, db_constraint=False, related_name="sessions"
    )
    principal = models.JSONField(null=True)


class Binding(models.Model):
    """What a session may reach of one resource; fixed when it begins, and at most revoked.

    `target_id`: a document's or a namespace's id; empty for a collection and for records.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, related_name="bindings")
    resource = models.ForeignKey(Resource, models.DO_NOTHING, db_constraint=False, related_name="bindings")
    scope = models.CharField(max_length=16)
    target_id = models.CharField(max_length=128, blank=True)
    namespace = models.ForeignKey(
        Namespace, models.DO_NOTHING, null=True, db_constraint=False, related_name="bindings"
    )
    access = models.CharField(max_length=16)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="binding_project_id"),
            models.UniqueConstraint(fields=["session", "resource"], name="binding_session_resource"),
        ]


class ModelRequest(models.Model):
    """One recall, render and inference. `state`: recalling, accepted or recall_failed; or token, of the hub's own.

    `selected`: the resources that the render chose, null until it has. `input_text` is kept while a recall may need it.
    `round`: how often everything was recalled for it, the last time counted. `principal`: whose input it is, null for the session's;
    `has_input`: it came with one; `has_untrusted`: its application says that others had a say in what the model is given.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    session = models.ForeignKey(
        Session, models.DO_NOTHING, db_constraint=False, related_name="model_requests"
    )
    client_request_id = models.CharField(max_length=256)
    state = models.CharField(max_length=16)
    input_text = models.TextField(null=True)
    round = models.PositiveIntegerField(default=1)
    principal = models.JSONField(null=True)
    has_input = models.BooleanField(db_default=False)
    has_untrusted = models.BooleanField(db_default=False)
    cause = models.JSONField(null=True)
    selected = ArrayField(models.TextField(), null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    accepted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="modelrequest_project_id"),
            models.UniqueConstraint(fields=["session", "client_request_id"], name="modelrequest_client_id"),
        ]
        indexes = [models.Index(fields=["session", "-id"], name="modelrequest_session")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MODEL_REQUEST, self.id)


class Projection(models.Model):
    """What recall returned of one resource, as the model was given it. `cursor` never leaves the hub.

    `version_ids`: the memory versions whose text or title stands in it; when one is erased, so is this.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    model_request = models.ForeignKey(
        ModelRequest, models.DO_NOTHING, db_constraint=False, related_name="projections"
    )
    resource_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX)
    text = models.TextField()
    sources = models.JSONField()
    writable = models.BooleanField()
    cursor = models.TextField(null=True)
    version_ids = ArrayField(models.UUIDField(), default=list)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model_request", "resource_id"], name="projection_resource")
        ]
        indexes = [GinIndex(fields=["version_ids"], name="projection_versions")]


class ToolCall(models.Model):
    """One call of a tool by a model: one outcome for one call id, whatever is repeated.

    `state`: started or done. `arguments` and `output` are blanked when a text they hold is erased. `origin`: of what a write of
    records would keep, as it was when the model called.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    model_request = models.ForeignKey(
        ModelRequest, models.DO_NOTHING, db_constraint=False, related_name="tool_calls"
    )
    call_id = models.CharField(max_length=256)
    name = models.CharField(max_length=64)
    arguments = models.JSONField(null=True)
    request_sha256 = models.CharField(max_length=64, null=True)
    resource_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX, null=True)
    origin = models.CharField(max_length=16, null=True)
    state = models.CharField(max_length=16)
    is_error = models.BooleanField(null=True)
    output = models.JSONField(null=True)
    version_ids = ArrayField(models.UUIDField(), default=list)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    finished_at = models.DateTimeField(null=True)
    erased_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="toolcall_project_id"),
            models.UniqueConstraint(fields=["model_request", "call_id"], name="toolcall_call_id"),
        ]
        indexes = [
            GinIndex(fields=["version_ids"], name="toolcall_versions"),
            models.Index(fields=["created_at"], condition=models.Q(state="started"), name="toolcall_started"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.TOOL_CALL, self.id)


class TurnMark(models.Model):
    """One row: up to which id model requests and tool calls are counted into the days of their environments."""

    id = models.SmallIntegerField(primary_key=True)
    until = models.UUIDField()


class HttpOperation(models.Model):
    """One recall or one tool call at an endpoint, with all its attempts. The row is the truth, a message only rings.

    `state`: ready, sending, waiting (between attempts) or done. `body`: the very bytes of every attempt, kept for a while.
    `claim`: the run that holds it, which says by `beat_at` that it lives; its own id while it waits for one (handovers.py). `outcome`: a recall's answer until its request is
    accepted. `code`: of how it ended: ok, uncertain, rejected or the code of its error.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    session = models.ForeignKey(
        Session, models.DO_NOTHING, db_constraint=False, related_name="http_operations"
    )
    model_request = models.ForeignKey(
        ModelRequest, models.DO_NOTHING, db_constraint=False, related_name="http_operations"
    )
    tool_call = models.ForeignKey(
        ToolCall, models.DO_NOTHING, null=True, db_constraint=False, related_name="http_operations"
    )
    binding = models.ForeignKey(Binding, models.DO_NOTHING, db_constraint=False, related_name="+")
    resource_id = models.CharField(max_length=RESOURCE_ID_LENGTH_MAX)
    operation_id = models.CharField(max_length=256)
    round = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    tool = models.CharField(max_length=32, blank=True)
    is_idempotent = models.BooleanField()
    origin = models.CharField(max_length=320)
    state = models.CharField(max_length=16)
    attempt = models.PositiveSmallIntegerField(default=0)
    body = models.BinaryField(null=True)
    claim = models.UUIDField(null=True)
    beat_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    next_attempt_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    code = models.CharField(max_length=256, null=True)
    outcome = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="httpoperation_project_id"),
            models.UniqueConstraint(fields=["operation_id", "round"], name="httpoperation_operation_id"),
        ]
        indexes = [
            models.Index(fields=["session", "-id"], name="httpoperation_session"),
            models.Index(fields=["environment", "resource_id", "-id"], name="httpoperation_resource"),
            models.Index(fields=["model_request"], name="httpoperation_request"),
            models.Index(
                fields=["state", "id"], condition=~models.Q(state="done"), name="httpoperation_unfinished"
            ),
            models.Index(
                fields=["finished_at"], condition=models.Q(state="done"), name="httpoperation_finished"
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.HTTP_OPERATION, self.id)

    @property
    def is_untaken(self) -> bool:
        """Whether it was handed over and waits for the run that sends it."""
        return self.state == "sending" and self.claim == self.id

    @property
    def shown_state(self) -> str:
        """`state` as people and applications are told it."""
        return "ready" if self.is_untaken else self.state


class HttpAttempt(models.Model):
    """One attempt of an operation: when, whom, how it went; no header, no body, no secret. `event`: of the decision table."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    operation = models.ForeignKey(
        HttpOperation, models.DO_NOTHING, db_constraint=False, related_name="attempts"
    )
    number = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(db_default=ClockTimestamp())
    event = models.CharField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    answer_bytes = models.PositiveIntegerField(null=True)
    address = models.CharField(max_length=64, null=True)
    delay_seconds = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["operation", "number"], name="httpattempt_number")]
