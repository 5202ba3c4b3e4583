"""The audit trail: one row for each change, in the change's own transaction, sealed into a hash chain per project.

The row is written unchained, so that no two writers wait for each other. A sealer then links what has committed, in
the order it finds it, each row to the one before:

    chain_sha256 = SHA-256(previous chain_sha256 || canonical JSON of the row)

The chain is in sealing order: a row that commits late has a smaller number and a greater index than its neighbours.
A changed, removed, inserted or swapped row breaks the chain at that row; `find_chain_faults` names it. Removed rows at
the end show only against a head that was published before: the sealer logs each, and every export ends with one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models.query import QuerySet

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.credentials import hold_credential
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.kept_queries import insert_row
from memoryhub.models import AuditEvent
from memoryhub.request_context import current_request_id

log = structlog.get_logger("memoryhub.audit")

CHAIN_START_SHA256 = "0" * 64
SEAL_BATCH_ROWS = 1_000


class AuditAction(StrEnum):
    PROJECT_CREATED = "project.created"
    PROJECT_UPDATED = "project.updated"
    ENVIRONMENT_CREATED = "environment.created"
    ENVIRONMENT_UPDATED = "environment.updated"
    ENVIRONMENT_DELETED = "environment.deleted"
    MEMBER_JOINED = "member.joined"
    MEMBER_ROLE_CHANGED = "member.role_changed"
    MEMBER_REMOVED = "member.removed"
    MAIL_WISHES_CHANGED = "member.mail_wishes_changed"
    INVITATION_CREATED = "invitation.created"
    INVITATION_REVOKED = "invitation.revoked"
    USER_RENAMED = "user.renamed"
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
    RETENTION_CHANGED = "memory_store.retention_changed"
    OLD_VERSIONS_REMOVED = "memory_store.old_versions_removed"
    MEMORY_CREATED = "memory.created"
    MEMORY_UPDATED = "memory.updated"
    MEMORY_DELETED = "memory.deleted"
    MEMORY_FROZEN = "memory.frozen"
    MEMORY_UNFROZEN = "memory.unfrozen"
    MEMORY_RESTORED = "memory.restored"
    MEMORY_VERSION_REDACTED = "memory_version.redacted"
    TEXT_REDACTED = "text.redacted"
    SECRET_CREATED = "secret.created"
    SECRET_CHANGED = "secret.changed"
    SECRET_DELETED = "secret.deleted"
    WEBHOOK_CREATED = "webhook.created"
    WEBHOOK_UPDATED = "webhook.updated"
    WEBHOOK_ROTATED = "webhook.rotated"
    WEBHOOK_TESTED = "webhook.tested"
    WEBHOOK_REPLAYED = "webhook.replayed"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_DELETED = "webhook.deleted"
    DEPLOYMENT_CREATED = "deployment.created"
    DEPLOYMENT_PROMOTED = "deployment.promoted"
    SESSION_CREATED = "session.created"
    SESSION_ENDED = "session.ended"
    SESSION_TOKEN_CREATED = "session_token.created"
    SESSION_TOKEN_REVOKED = "session_token.revoked"
    SESSION_DELETED = "session.deleted"
    WORK_QUEUED = "work.queued"
    WORK_CLAIMED = "work.claimed"
    WORK_STOPPED = "work.stopped"
    BINDING_REVOKED = "binding.revoked"
    DOCUMENT_CHANGED = "document.changed"
    HTTP_OPERATION_CANCELLED = "http_operation.cancelled"
    ENDPOINT_CREATED = "endpoint.created"
    ENDPOINT_UPDATED = "endpoint.updated"
    ENDPOINT_DELETED = "endpoint.deleted"
    ENDPOINT_CREDENTIAL_CREATED = "endpoint_credential.created"
    ENDPOINT_CREDENTIAL_REVOKED = "endpoint_credential.revoked"
    EXTERNAL_PARTITION_FROZEN = "external_partition.frozen"
    EXTERNAL_PARTITION_UNFROZEN = "external_partition.unfrozen"
    EXTERNAL_PARTITION_DELETED = "external_partition.deleted"
    EXTERNAL_RECORD_UPDATED = "external_record.updated"
    EXTERNAL_RECORD_DELETED = "external_record.deleted"
    EXTERNAL_ITEM_DELETED = "external_item.deleted"
    RECORD_SAVED = "memory_record.saved"
    RECORD_FORGOTTEN = "memory_record.forgotten"
    RECORDS_IMPORTED = "memory_record.imported"
    EFFECT_RESOLVED = "memory_effect.resolved"
    RECORD_WRITE_APPROVED = "record_write.approved"
    RECORD_WRITE_REJECTED = "record_write.rejected"
    SPACE_CREATED = "space.created"
    SPACE_COMMITTED = "space.committed"
    SPACE_PURGED = "space.purged"
    AUTHORITY_CREATED = "authority.created"
    AUTHORITY_DELETED = "authority.deleted"
    AGENT_REMEMBERED = "authority.remembered"
    NOMINATION_ARRIVED = "nomination.arrived"
    NOMINATION_DECIDED = "nomination.decided"
    HOST_CALL_SUBMITTED = "host_call.submitted"
    HOST_CALL_WITHDRAWN = "host_call.withdrawn"
    HOST_CALL_FINISHED = "host_call.finished"


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last sealed row of a project's chain. Whoever keeps one can tell later that the chain still holds it."""

    project_id: UUID
    chain_index: int
    chain_sha256: str


@dataclass(frozen=True, slots=True)
class ChainFault:
    """A row of a project's chain that does not fit, or the place where one is missing."""

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
    """Write one row in the caller's transaction, and hold the actor's credential to its end.

    `details` holds ids, sizes and counts, never content or its digest; `token_id` too where the actor came with one of several.
    Raises: AuthenticationFailed for a credential
    that was revoked meanwhile, so that nothing commits after the revoking answer.
    """
    hold_credential(actor)
    record_accepted(
        action, subject_id, environment_id=environment_id, parent_id=parent_id, details=details, actor=actor
    )


def record_accepted(
    action: AuditAction,
    subject_id: str,
    *,
    environment_id: UUID | None,
    parent_id: str | None = None,
    details: dict[str, Any] | None = None,
    actor: Actor,
) -> None:
    """The same of the outcome of what was accepted before: by now the credential that asked may be gone."""
    if actor.token_id is not None:
        details = {**(details or {}), "token_id": actor.credential_id}
    event = AuditEvent(
        project_id=actor.project_id,
        environment_id=environment_id,
        action=action,
        actor_type=actor.type,
        actor_id=actor.actor_id,
        subject_id=subject_id,
        parent_id=parent_id,
        details=(details or {}) | _token_of(actor),
        request_id=current_request_id(),
    )
    insert_row(event)


def _token_of(actor: Actor) -> dict[str, str]:
    """Which token of a session did it, and for which work: the actor alone is the session."""
    told = {}
    if actor.token_id is not None:
        told["token_id"] = ids.to_wire(ids.API_KEY, actor.token_id)
    if actor.work_id is not None:
        told["work_id"] = ids.to_wire(ids.WORK, actor.work_id)
    return told


def sealed_row(event: AuditEvent) -> dict[str, Any]:
    """What the seal of a row covers, before it is made canonical."""
    return {
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


def chain_sha256(previous_sha256: str, event: AuditEvent) -> str:
    """Raises: ValueError for a row that has no canonical form; none that the hub writes is such a row."""
    return sha256_hex(previous_sha256.encode() + canonical_json(sealed_row(event)))


def seal_all() -> int:
    """Seal every project that has unsealed rows; the number of rows sealed. Any number of sealers may run at once."""
    projects = AuditEvent.objects.filter(chain_index=None).values_list("project_id", flat=True).distinct()
    return sum(seal_project(project_id) for project_id in list(projects))


def seal_project(project_id: UUID) -> int:
    """Link all committed rows of one project and publish the new head in the log; the number of rows sealed."""
    sealed = 0
    while batch := _seal_batch(project_id):
        sealed += batch
    if sealed:
        head = get_chain_head(project_id)
        log.info(
            "audit_sealed",
            project_id=project_id.hex,
            chain_index=head.chain_index,
            chain_sha256=head.chain_sha256,
        )
    return sealed


_SEAL = """
UPDATE memoryhub_auditevent AS event SET chain_index = link.chain_index, chain_sha256 = link.chain_sha256
  FROM unnest(%s::uuid[], %s::bigint[], %s::text[]) AS link (id, chain_index, chain_sha256)
 WHERE event.id = link.id
"""


@transaction.atomic
def _seal_batch(project_id: UUID) -> int:
    # One sealer at a time per project, held to the end of the transaction; the next one's reads begin after its commit.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memoryhub.audit.{project_id}"]
        )
        head = get_chain_head(project_id)
        events = list(
            AuditEvent.objects.filter(project_id=project_id, chain_index=None).order_by("number")[
                :SEAL_BATCH_ROWS
            ]
        )
        link_events(events, head)
        links = [(event.id, event.chain_index, event.chain_sha256) for event in events]
        if links:
            cursor.execute(_SEAL, [list(column) for column in zip(*links, strict=True)])
    return len(links)


def link_events(events: list[AuditEvent], head: ChainHead) -> None:
    """Give each event its place after the head, in order; nothing is saved."""
    previous_sha256 = head.chain_sha256
    for chain_index, event in enumerate(events, start=head.chain_index + 1):
        event.chain_index = chain_index
        previous_sha256 = event.chain_sha256 = chain_sha256(previous_sha256, event)


def get_chain_head(project_id: UUID, *, chain_index: int | None = None) -> ChainHead:
    """The head, or what it was when `chain_index` was the last row; index 0 and zeros before the first seal."""
    sealed = sealed_events(project_id)
    if chain_index is not None:
        sealed = sealed.filter(chain_index__lte=chain_index)
    last = sealed.order_by("-chain_index").first()
    if last is None:
        return ChainHead(project_id, 0, CHAIN_START_SHA256)
    return ChainHead(project_id, last.chain_index or 0, last.chain_sha256 or "")


def sealed_events(project_id: UUID) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(project_id=project_id, chain_index__isnull=False).order_by("chain_index")


def find_chain_faults(project_id: UUID, *, expected_head: ChainHead | None = None) -> Iterator[ChainFault]:
    """Walk a project's chain and name every row that does not fit; each is judged by the seal stored before it.

    `expected_head`: one published earlier, which a chain that was cut or written anew does not hold.
    """
    index, previous_sha256, expected_seen = 0, CHAIN_START_SHA256, expected_head is None
    for event in sealed_events(project_id).iterator(chunk_size=SEAL_BATCH_ROWS):
        found = event.chain_index or 0
        if found != index + 1:
            yield ChainFault(project_id, index + 1, "rows are missing here")
        elif not _fits(event, previous_sha256):
            yield ChainFault(project_id, found, "the row is not what was sealed")
        index, previous_sha256 = found, event.chain_sha256 or ""
        if expected_head is not None and expected_head.chain_index == found:
            expected_seen = expected_head.chain_sha256 == previous_sha256
    if not expected_seen and expected_head is not None:
        yield _head_fault(expected_head, index)


def _fits(event: AuditEvent, previous_sha256: str) -> bool:
    try:
        return event.chain_sha256 == chain_sha256(previous_sha256, event)
    except ValueError:  # tampered details need not have a canonical form
        return False


def _head_fault(expected: ChainHead, last_index: int) -> ChainFault:
    if expected.chain_index > last_index:
        return ChainFault(expected.project_id, last_index + 1, "the chain ends before a published head")
    return ChainFault(expected.project_id, expected.chain_index, "the chain differs from a published head")
