"""Receipts and conflicts: what a call on an authority leaves. Pure.

No receipt carries the time of the call, so the same outcome has the same digest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from authority.bindings import sealed
from authority.canonical import digest_of, text_of
from authority.failures import AdoptionConflictError
from authority.graph import Head
from authority.limits import CONFLICTS_REPORTED_MAX
from authority.operations import Operation

type Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One memory of an authority, as receipts name it."""

    authority_id: str
    binding_sha256: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """`text`: its canonical bytes, digest included. `head`: where the memory stood after the call."""

    status: str
    head: Head
    sha256: str
    text: bytes
    wire: Wire


def _receipt(fields: Wire, head: Head) -> Receipt:
    wire = sealed(fields, "receiptSha256")
    return Receipt(fields["status"], head, wire["receiptSha256"], text_of(wire), wire)


def advance_receipt(canonical: Side, *, prior: Head, head: Head) -> Receipt:
    fields = {
        "authorityId": canonical.authority_id,
        "bindingSha256": canonical.binding_sha256,
        "head": head.as_wire(),
        "priorHead": prior.as_wire(),
        "status": "unchanged" if head == prior else "advanced",
        "v": 1,
    }
    return _receipt(fields, head)


def adoption_receipt(
    canonical: Side,
    *,
    actor_id: str,
    nomination_sha256: str,
    operation_sha256: str | None,
    prior: Head,
    head: Head,
) -> Receipt:
    """`operation_sha256` None: all of it was there already."""
    fields = {
        "actorId": actor_id,
        "authorityId": canonical.authority_id,
        "bindingSha256": canonical.binding_sha256,
        "head": head.as_wire(),
        "nominationSha256": nomination_sha256,
        "operationSha256": operation_sha256,
        "priorHead": prior.as_wire(),
        "status": "already-present" if operation_sha256 is None else "adopted",
        "v": 1,
    }
    return _receipt(fields, head)


def remember_receipt(working: Side, operation: Operation, *, request_id: str) -> Receipt:
    fields = {
        "actorId": operation.actor_id,
        "authorityId": working.authority_id,
        "bindingSha256": working.binding_sha256,
        "head": operation.head.as_wire(),
        "instant": operation.instant,
        "lane": "working",
        "operationSha256": operation.sha256,
        "requestId": request_id,
        "status": "committed",
        "v": 1,
    }
    return _receipt(fields, operation.head)


def purge_receipt(binding_sha256: str, *, space_id: str, prior: Head, purged_at: str) -> Wire:
    fields = {
        "bindingSha256": binding_sha256,
        "priorHead": prior.as_wire(),
        "purgedAt": purged_at,
        "spaceId": space_id,
        "v": 1,
    }
    return sealed(fields, "receiptSha256")


@dataclass(frozen=True, slots=True, order=True)
class ConflictEntry:
    """`canonical_sha256` None: the key is absent from the reviewed memory."""

    key: str
    canonical_sha256: str | None
    nominated_sha256: str

    def as_wire(self) -> Wire:
        return {
            "canonicalRecordSha256": self.canonical_sha256,
            "key": self.key,
            "nominatedRecordSha256": self.nominated_sha256,
            "v": 1,
        }


def adoption_conflict(
    entries: Sequence[ConflictEntry], *, expected: Head, actual: Head
) -> AdoptionConflictError:
    """The digest covers every entry; the first of them are shown."""
    wire = [entry.as_wire() for entry in sorted(entries, key=lambda entry: entry.key)]
    return AdoptionConflictError(
        {
            "actualHead": actual.as_wire(),
            "conflicts": wire[:CONFLICTS_REPORTED_MAX],
            "conflictsSha256": digest_of({"conflicts": wire, "v": 1}),
            "expectedHead": expected.as_wire(),
            "reportedConflicts": min(len(wire), CONFLICTS_REPORTED_MAX),
            "totalConflicts": len(wire),
            "truncated": len(wire) > CONFLICTS_REPORTED_MAX,
            "v": 1,
        }
    )
