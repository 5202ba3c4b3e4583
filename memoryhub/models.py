"""The tables of the ground floor: who owns what, who may ask, and what was done.

Every row of a project carries `project_id`; composite foreign keys (in the migrations) make it part of each link.
"""

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q

import memoryhub.notice_models  # noqa: F401 - where Django looks for models
from memoryhub import ids
from memoryhub.columns import ClockTimestamp, NextNumber

NAME_LENGTH_MAX = 255


class User(AbstractBaseUser):
    """A person who signs in to the console. `is_operator`: may create projects on this hub."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    email = models.EmailField(unique=True, max_length=254)
    name = models.CharField(max_length=NAME_LENGTH_MAX, blank=True)
    is_active = models.BooleanField(default=True)
    is_operator = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    USERNAME_FIELD = "email"
    objects = BaseUserManager()

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.USER, self.id)


HTTP_MEMORY_STATES = ("enabled", "preview")


class Project(models.Model):
    """A tenant. Names may repeat: a refused name would tell of another tenant.

    `http_memory`: `preview` lets deployments declare HTTP memory, and no session bind it.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    name = models.CharField(max_length=64)
    http_memory = models.CharField(max_length=16, default="enabled")
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.PROJECT, self.id)


class Environment(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="environments")
    name = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="environment_project_id"),
            models.UniqueConstraint(fields=["project", "name"], name="environment_project_name"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.ENVIRONMENT, self.id)


class Membership(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="membership_project_id"),
            models.UniqueConstraint(fields=["project", "user"], name="membership_project_user"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.MEMBERSHIP, self.id)


class Invitation(models.Model):
    """An offer of membership. Only the SHA-256 of its token is kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=16)
    token_sha256 = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.INVITATION, self.id)


class SignInLink(models.Model):
    """A one-time way in for one person. Only the SHA-256 of its token is kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_in_links")
    token_sha256 = models.BinaryField(max_length=32, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class BrowserSession(AbstractBaseSession):
    """A browser that is signed in, or about to be. `session_key` is a digest of its cookie; `browser` says it in words."""

    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="browser_sessions")
    browser = models.CharField(max_length=64)
    signed_in_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField()


class ApiKey(models.Model):
    """A credential; its secret is never kept. `environment` null: all of the project. `session`, `work_id`: whose token it is."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    environment = models.ForeignKey(
        Environment, models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    session = models.ForeignKey(
        "Session", models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    work_id = models.UUIDField(null=True)
    name = models.CharField(max_length=NAME_LENGTH_MAX)
    scopes = ArrayField(models.CharField(max_length=16))
    secret_sha256 = models.BinaryField(max_length=32)
    secret_hint = models.CharField(max_length=8)
    stores = models.JSONField(null=True)
    record_scope = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24, null=True)
    created_by_id = models.CharField(max_length=64, null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "-id"], name="apikey_project")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.API_KEY, self.id)


class AuditEvent(models.Model):
    """What was done, by whom, to which thing; ids, sizes and counts only, never content.

    Written in the change's own transaction. The sealer then gives the row its place in the project's hash chain;
    the database refuses every other change.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    number = models.BigIntegerField(db_default=NextNumber("memoryhub_audit_number"), unique=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="audit_events")
    environment_id = models.UUIDField(null=True)
    action = models.CharField(max_length=64)
    actor_type = models.CharField(max_length=24)
    actor_id = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64)
    parent_id = models.CharField(max_length=64, null=True)
    details = models.JSONField()
    request_id = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    chain_index = models.BigIntegerField(null=True)
    chain_sha256 = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "chain_index"], name="auditevent_chain")]
        indexes = [
            models.Index(fields=["project", "-number"], name="auditevent_project"),
            models.Index(fields=["environment_id", "-number"], name="auditevent_environment"),
            models.Index(fields=["subject_id"], name="auditevent_subject"),
            models.Index(
                fields=["project", "number"], name="auditevent_unsealed", condition=Q(chain_index=None)
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.AUDIT_EVENT, self.id)


class TrailMark(models.Model):
    """How far a reader has come in a project's sealed trail."""

    pk = models.CompositePrimaryKey("project_id", "reader")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    reader = models.CharField(max_length=32)
    chain_index = models.BigIntegerField(default=0)


class ActivityDay(models.Model):
    """What an environment saw on one day in UTC: changes along the sealed trail; recalls and refused calls, by who keeps them."""

    pk = models.CompositePrimaryKey("environment_id", "day")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    environment_id = models.UUIDField()
    day = models.DateField()
    changes = models.BigIntegerField(db_default=0)
    recalls = models.BigIntegerField(db_default=0)
    refusals = models.BigIntegerField(db_default=0)


class Usage(models.Model):
    """What a project holds, counted in the background: quotas on history are checked against it."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="usage")
    memory_stores = models.BigIntegerField(default=0)
    memories = models.BigIntegerField(default=0)
    memory_versions = models.BigIntegerField(default=0)
    version_bytes = models.BigIntegerField(default=0)
    counted_at = models.DateTimeField(db_default=ClockTimestamp())


class Job(models.Model):
    """Long work that a person asked for. This row is the truth; the queue only rings for it.

    `claim`: the run that may write to the row now; whoever takes it away ends that run. `subject_id`: the thing whose text
    the file holds. `steps` null: not known. `file_bytes` null: there is no file.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    kind = models.CharField(max_length=32)
    arguments = models.JSONField()
    subject_id = models.UUIDField(null=True)
    asked_by = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    state = models.CharField(max_length=16, default="waiting")
    claim = models.UUIDField(null=True)
    tries = models.SmallIntegerField(default=0)
    steps_done = models.IntegerField(default=0)
    steps = models.IntegerField(null=True)
    outcome = models.JSONField(null=True)
    problem = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    file_name = models.TextField(null=True)
    file_bytes = models.BigIntegerField(null=True)
    file_removed = models.CharField(max_length=16, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="job_project_id"),
            models.CheckConstraint(
                condition=Q(state__in=("waiting", "done", "failed", "cancelled"), claim=None)
                | Q(state="running", claim__isnull=False, heartbeat_at__isnull=False),
                name="job_claim",
            ),
            models.CheckConstraint(
                condition=Q(state__in=("waiting", "running"), finished_at=None)
                | Q(state__in=("done", "failed", "cancelled"), finished_at__isnull=False),
                name="job_finished",
            ),
        ]
        indexes = [
            models.Index(fields=["environment", "-id"], name="job_environment"),
            models.Index(fields=["state"], name="job_unfinished", condition=Q(finished_at=None)),
            models.Index(fields=["subject_id"], name="job_subject", condition=Q(subject_id__isnull=False)),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.JOB, self.id)

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None


class JobChunk(models.Model):
    """A piece of a job's file. In the database, since the web server and the workers need not share a disk."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    job = models.ForeignKey(Job, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False)
    position = models.IntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "position"], name="jobchunk_position")]


class Worker(models.Model):
    """A worker that runs, or ran: it says so every few seconds."""

    name = models.CharField(primary_key=True, max_length=255)
    version = models.CharField(max_length=32)
    started_at = models.DateTimeField(db_default=ClockTimestamp())
    seen_at = models.DateTimeField(db_default=ClockTimestamp())


class Sweep(models.Model):
    """When a job that nobody asks for ran last."""

    name = models.CharField(primary_key=True, max_length=64)
    ran_at = models.DateTimeField(db_default=ClockTimestamp())


class Session(models.Model):
    """A conversation of an agent. What it pins is held by the rooms: its deployment and bindings, its attached stores.

    `request_sha256`: of what was asked for under `idempotency_key`, so that the same request finds it again.
    `events_count`: the number of the last event; counted under the row's lock, so that no reader skips one.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="agent_sessions")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    title = models.CharField(max_length=NAME_LENGTH_MAX, blank=True)
    idempotency_key = models.CharField(max_length=256, null=True)
    request_sha256 = models.CharField(max_length=64)
    events_count = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    created_by_type = models.CharField(max_length=24)
    created_by_id = models.CharField(max_length=64)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "id"], name="session_project_id"),
            models.UniqueConstraint(fields=["environment", "idempotency_key"], name="session_idempotency"),
        ]
        indexes = [
            models.Index(fields=["environment", "-id"], name="session_environment"),
            models.Index(fields=["project", "-id"], name="session_project"),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.SESSION, self.id)


class SessionEvent(models.Model):
    """What happened in a session, in order: ids, sizes and names by the hub, anything by the application."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.DO_NOTHING, db_constraint=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, related_name="events")
    number = models.BigIntegerField()
    type = models.CharField(max_length=64)
    data = models.JSONField()
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="sessionevent_number")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.SESSION_EVENT, self.id)


class Secret(models.Model):
    """A value that connections send and nobody reads back. `agent_id` empty: for every agent of the environment.

    `sealed` is bound to the row, so that it opens in no other; `sealed_with` names the key that sealed it.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="secrets")
    environment = models.ForeignKey(Environment, models.DO_NOTHING, db_constraint=False, related_name="+")
    name = models.CharField(max_length=128)
    agent_id = models.CharField(max_length=128, blank=True)
    sealed = models.BinaryField()
    sealed_with = models.CharField(max_length=16)
    allowed_origins = ArrayField(models.TextField())
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    changed_at = models.DateTimeField(db_default=ClockTimestamp())
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["environment", "agent_id", "name"], name="secret_name"),
        ]
        indexes = [models.Index(fields=["sealed_with"], name="secret_key")]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.SECRET, self.id)
