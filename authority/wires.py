"""The room's own resources as JSON, under the names of the contract."""

from typing import Any

from authority.canonical import parse
from authority.models import Authority, HostCall, Nomination, Receipt, Space
from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import to_wire

type Wire = dict[str, Any]


def space_wire(space: Space) -> Wire:
    return {
        "id": space.wire_id,
        "type": "space",
        "environmentId": ids.to_wire(ids.ENVIRONMENT, space.environment_id),
        "spaceId": space.space_id,
        "authorityId": space.authority_id,
        "binding": parse(space.binding_text),
        "head": space.head.as_wire(),
        "purge": None if space.purge_receipt is None else parse(space.purge_receipt),
        "createdAt": to_wire(space.created_at),
    }


def authority_wire(authority: Authority, *, queued: int) -> Wire:
    """`distance`: operations of the reviewed memory that the pin has not reached."""
    return {
        "id": authority.wire_id,
        "type": "authority",
        "environmentId": ids.to_wire(ids.ENVIRONMENT, authority.environment_id),
        "canonical": _lane_wire(authority.canonical),
        "working": _lane_wire(authority.working),
        "actorId": authority.actor_id,
        "adoptionActorId": authority.adoption_actor_id,
        "pin": authority.pin.as_wire(),
        "storeHead": authority.canonical.head.as_wire(),
        "distance": authority.canonical.sequence - authority.pin_sequence,
        "queuedCalls": queued,
        "maximumCanonicalOperationBytes": authority.operation_bytes_max,
        "explanationLifetimeMs": authority.explanation_milliseconds,
        "createdAt": to_wire(authority.created_at),
    }


def _lane_wire(space: Space) -> Wire:
    return {"space": space.wire_id, "authorityId": space.authority_id, "bindingSha256": space.binding_sha256}


def call_wire(call: HostCall, receipt: Receipt | None) -> Wire:
    error = None
    if call.error is not None:
        error = {name: value for name, value in call.error.items() if name not in ("status", "type")}
    return {
        "callId": call.wire_id,
        "method": call.method,
        "ordinal": call.ordinal,
        "state": call.state,
        "nominationSha256": call.nomination_sha256,
        "submittedAt": to_wire(call.submitted_at),
        "submittedBy": actor_wire(call.submitted_by_type, call.submitted_by_id),
        "startedAt": None if call.started_at is None else to_wire(call.started_at),
        "finishedAt": None if call.finished_at is None else to_wire(call.finished_at),
        "requestSha256": call.request_sha256,
        "receipt": None if receipt is None else parse(receipt.body),
        "error": error,
    }


def nomination_wire(nomination: Nomination) -> Wire:
    return {
        "nominationSha256": nomination.nomination_sha256,
        "nominationId": nomination.nomination_id,
        "destinationPurpose": nomination.destination_purpose,
        "sourceSequence": nomination.source_sequence,
        "records": nomination.records_count,
        "bytes": nomination.body_bytes,
        "state": nomination.state,
        "note": nomination.note,
        "decidedAt": None if nomination.decided_at is None else to_wire(nomination.decided_at),
        "decidedBy": actor_wire(nomination.decided_by_type, nomination.decided_by_id),
        "createdAt": to_wire(nomination.created_at),
        "createdBy": actor_wire(nomination.created_by_type, nomination.created_by_id),
    }
