"""What is tried to be reached: one environment with one of everything in it, each text of it a canary."""

import io
import uuid
from dataclasses import dataclass, field
from uuid import UUID

from memoryhub import activity, audit, ids, invitations, keys
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Job, JobChunk, Membership
from stores import exports, memories, memory_stores, totals
from stores.models import MemoryVersion
from tests.world import Caller, Tenant


@dataclass
class Plot:
    """Wire ids of what stands in one environment. `canary` is in every name and text of it, and in nothing else."""

    tenant: Tenant
    environment: Environment
    canary: str = field(default_factory=lambda: f"canary{uuid.uuid4().hex}")
    key_id: str = ""
    member_id: str = ""
    invitation_id: str = ""
    store_id: str = ""
    memory_id: str = ""
    memory_path: str = ""
    memory_sha256: str = ""
    old_version_id: str = ""
    head_version_id: str = ""
    job_id: str = ""
    archive: bytes = field(default=b"", repr=False)
    callers: dict[str, Caller] = field(default_factory=dict, repr=False)  # by kind of credential

    @property
    def path_ids(self) -> dict[str, str]:
        """By the names that URLs give them."""
        return {
            "project_id": self.tenant.project.wire_id,
            "environment_id": self.environment.wire_id,
            "key_id": self.key_id,
            "member_id": self.member_id,
            "invitation_id": self.invitation_id,
            "store_id": self.store_id,
            "memory_id": self.memory_id,
            "version_id": self.old_version_id,
        }

    @property
    def store_key(self) -> UUID:
        key = ids.from_wire(ids.MEMORY_STORE, self.store_id)
        assert key is not None
        return key

    @property
    def secrets(self) -> list[bytes]:
        """What no answer to a stranger may hold: the canary, digests, and ids of what stands here."""
        shown = [
            self.canary,
            self.memory_sha256,
            self.store_id,
            self.memory_id,
            self.old_version_id,
            self.key_id,
        ]
        return [text.encode() for text in shown]


def make_plot(tenant: Tenant, environment: Environment) -> Plot:
    plot = Plot(tenant, environment)
    _add_people(plot)
    plot.key_id = keys.create_key(
        environment=environment.wire_id, name=plot.canary, scopes=["read"], actor=tenant.actor
    ).key.wire_id
    _add_store(plot)
    _add_job(plot)
    audit.seal_project(tenant.project.id)
    activity.count_activity()
    totals.count_totals()
    return plot


def _add_people(plot: Plot) -> None:
    actor = plot.tenant.actor
    issued = invitations.create_invitation(email=f"{plot.canary}@example.com", role="developer", actor=actor)
    user = invitations.accept_invitation(issued.token, name=plot.canary, password="correct horse battery")
    plot.member_id = Membership.objects.get(project_id=actor.project_id, user=user).wire_id
    opened = invitations.create_invitation(
        email=f"open-{plot.canary}@example.com", role="viewer", actor=actor
    )
    plot.invitation_id = opened.invitation.wire_id


def _add_store(plot: Plot) -> None:
    actor, canary = plot.tenant.actor, plot.canary
    store = memory_stores.create_store(
        environment=plot.environment.wire_id,
        name=canary,
        description=canary,
        metadata={canary: canary},
        actor=actor,
    )
    plot.store_id, plot.memory_path = store.wire_id, f"/{canary}/note.md"
    memory = memories.create_memory(
        store.wire_id, path=plot.memory_path, content=f"first {canary}", actor=actor
    )
    plot.memory_id = memory.wire_id
    plot.old_version_id = ids.to_wire(ids.MEMORY_VERSION, memory.head_id)
    changed = memories.update_memory(store.wire_id, memory.wire_id, content=f"second {canary}", actor=actor)
    plot.head_version_id = ids.to_wire(ids.MEMORY_VERSION, changed.head_id)
    plot.memory_sha256 = changed.content_sha256
    assert MemoryVersion.objects.filter(memory_id=memory.id).count() == 2
    spool = io.BytesIO()
    exports.export_store(store.wire_id, spool, bytes_max=None, actor=actor)
    plot.archive = spool.getvalue()


def _add_job(plot: Plot) -> None:
    """An export of the store that is done, with its file."""
    job = Job.objects.create(
        project=plot.tenant.project,
        environment=plot.environment,
        kind="export_store",
        arguments={"store_id": plot.store_id},
        subject_id=plot.store_key,
        asked_by=plot.tenant.owner,
        state="done",
        finished_at=ClockTimestamp(),
        file_name=f"{plot.canary}.tar",
        file_bytes=len(plot.archive),
    )
    JobChunk.objects.create(project_id=job.project_id, job_id=job.id, position=0, content=plot.archive)
    plot.job_id = job.wire_id
