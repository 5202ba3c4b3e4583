"""The audit trail: one row for each change, in the change's own transaction, sealed into a hash chain per project.

The row is written unchained, so that no two writers wait for each other. `seal` then links committed rows, in the
order of their numbers as far as they have committed, each to the one before:

    chain_sha256 = SHA-256(previous chain_sha256 || canonical JSON of the row)

A changed, removed, inserted or swapped row breaks the chain at that row; `verify` names it.
"""

from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memoryhub.actors import Actor
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.models import AuditEvent, Project
from memoryhub.request_context import current_request_id

CHAIN_START_SHA256 = "0" * 64
SEAL_BATCH_ROWS = 1_000


class AuditAction(StrEnum):
    PROJECT_CREATED = "project.created"
    PROJECT_UPDATED = "project.updated"
    ENVIRONMENT_CREATED = "environment.created"
    ENVIRONMENT_UPDATED = "environment.updated"
    MEMBER_JOINED = "member.joined"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_REMOVED = "member.removed"
    INVITATION_CREATED = "invitation.created"
    INVITATION_REVOKED = "invitation.revoked"
    PASSWORD_CHANGED = "user.password_changed"
    API_KEY_CREATED = "api_key.created"
    API_KEY_ROTATED = "api_key.rotated"
    API_KEY_REVOKED = "api_key.revoked"
    MEMORY_STORE_CREATED = "memory_store.created"
    MEMORY_STORE_UPDATED = "memory_store.updated"
    MEMORY_STORE_ARCHIVED = "memory_store.archived"
    MEMORY_STORE_DELETED = "memory_store.deleted"
    MEMORY_STORE_FROZEN = "memory_store.frozen"
    MEMORY_STORE_UNFROZEN = "memory_store.unfrozen"
    MEMORY_STORE_IMPORTED = "memory_store.imported"
    MEMORY_CREATED = "memory.created"
    MEMORY_UPDATED = "memory.updated"
    MEMORY_DELETED = "memory.deleted"
    MEMORY_FROZEN = "memory.frozen"
    MEMORY_UNFROZEN = "memory.unfrozen"
    MEMORY_RESTORED = "memory.restored"
    MEMORY_VERSION_REDACTED = "memory_version.redacted"
    TEXT_REDACTED = "text.redacted"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first row of a project's chain that does not fit."""

    project_id: UUID
    chain_index: int
    reason: str


def record(
    action: AuditAction,
    subject_id: str,
    *,
    environment_id: UUID | None,
    parent_id: str | None = None,
    details: dict[str, Any] | None = None,
    actor: Actor,
) -> None:
    """Write one row in the caller's transaction. `details` holds ids, sizes and counts, never content or its digest."""
    AuditEvent.objects.create(
        project_id=actor.project_id,
        environment_id=environment_id,
        action=action,
        actor_type=actor.type,
        actor_id=actor.actor_id,
        subject_id=subject_id,
        parent_id=parent_id,
        details=details or {},
        request_id=current_request_id(),
    )


def row_bytes(event: AuditEvent) -> bytes:
    """The bytes of a row that its seal covers."""
    return canonical_json(
        {
            "id": event.wire_id,
            "number": str(event.number),
            "project_id": event.project_id.hex,
            "environment_id": event.environment_id.hex if event.environment_id else None,
            "action": event.action,
            "actor_type": event.actor_type,
            "actor_id": event.actor_id,
            "subject_id": event.subject_id,
            "parent_id": event.parent_id,
            "details": event.details,
            "request_id": event.request_id,
            "created_at": event.created_at.astimezone(UTC).isoformat(),
            "chain_index": str(event.chain_index),
        }
    )


def seal_all() -> int:
    """Seal every project that has unsealed rows; the number of rows sealed. Any number of sealers may run at once."""
    projects = Project.objects.filter(audit_events__chain_index=None).distinct().values_list("id", flat=True)
    return sum(seal_project(project_id) for project_id in list(projects))


def seal_project(project_id: UUID) -> int:
    """Link all committed rows of one project; the number of rows sealed."""
    sealed = 0
    while batch := _seal_batch(project_id):
        sealed += batch
    return sealed


@transaction.atomic
def _seal_batch(project_id: UUID) -> int:
    # One sealer at a time per project, held to the end of the transaction.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memoryhub.audit.{project_id}"]
        )
    index, head_sha256 = chain_head(project_id)
    rows = AuditEvent.objects.filter(project_id=project_id, chain_index=None).order_by("number")[
        :SEAL_BATCH_ROWS
    ]
    sealed = []
    for event in rows:
        index += 1
        event.chain_index = index
        head_sha256 = event.chain_sha256 = sha256_hex(head_sha256.encode() + row_bytes(event))
        sealed.append(event)
    AuditEvent.objects.bulk_update(sealed, ["chain_index", "chain_sha256"])
    return len(sealed)


def chain_head(project_id: UUID) -> tuple[int, str]:
    """(index, sha256) of the last sealed row; (0, zeros) before the first."""
    sealed = AuditEvent.objects.filter(project_id=project_id, chain_index__isnull=False)
    last = sealed.order_by("-chain_index").values_list("chain_index", "chain_sha256").first()
    return (last[0] or 0, last[1] or "") if last else (0, CHAIN_START_SHA256)


def verify_project(project_id: UUID, *, expected_head: tuple[int, str] | None = None) -> ChainFault | None:
    """Walk a project's chain. `expected_head`: one published earlier, which a truncated chain no longer holds."""
    index, previous = 0, CHAIN_START_SHA256
    sealed = AuditEvent.objects.filter(project_id=project_id, chain_index__isnull=False).order_by(
        "chain_index"
    )
    for event in sealed.iterator(chunk_size=SEAL_BATCH_ROWS):
        index += 1
        if event.chain_index != index:
            return ChainFault(project_id, index, "a row is missing")
        if event.chain_sha256 != sha256_hex(previous.encode() + row_bytes(event)):
            return ChainFault(project_id, index, "the row is not what was sealed")
        previous = event.chain_sha256
        if expected_head and expected_head[0] == index and expected_head[1] != previous:
            return ChainFault(project_id, index, "the chain differs from a published head")
    if expected_head and expected_head[0] > index:
        return ChainFault(project_id, index + 1, "the chain ends before a published head")
    return None
