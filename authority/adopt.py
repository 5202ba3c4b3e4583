"""Take nominated records over into reviewed memory. Pure: the store is asked, and whoever calls publishes the pin.

The order of the steps is the promise. Nothing is written before the working memory has given the same closure out again,
every record is there, equal, or may be replaced, and the reviewed memory, the pin and the host's expectation are one
head. One commit is sent, once. What comes after it is looked at again before anything is believed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from authority.canonical import digest_of, text_of
from authority.failures import (
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    ConflictError,
    ProfileError,
    ReexportError,
    ValidationTypeError,
)
from authority.graph import Change, Head, Put, find_head
from authority.host_requests import AdoptionRequest
from authority.limits import (
    CLOSURE_BYTES_MAX,
    CLOSURE_RECORDS_MAX,
    INTEGER_MAX,
    LANE_BYTES_MAX,
    LANE_RECORDS_MAX,
    OPERATION_BYTES_MAX,
)
from authority.nominations import Nomination
from authority.operations import Operation, parse_operation
from authority.ports import Commit
from authority.proof import load_snapshot, prove
from authority.receipts import ConflictEntry, Receipt, adoption_conflict, adoption_receipt
from authority.snapshots import Snapshot, snapshot_bytes, widest_head
from authority.terms import Terms
from memoryhub.errors import HubError

type Look = Callable[[str], None]


def _pass(_: str) -> None:
    """Nothing looks on."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """One adoption: what was asked, and the pin at the start of its turn. `reach` is told of each named point."""

    terms: Terms
    pin: Head
    request: AdoptionRequest
    reach: Look = field(default=_pass)

    @property
    def nomination(self) -> Nomination:
        return self.request.nomination


def adopt(adoption: Adoption) -> Receipt:
    """The receipt, whose head is where the pin belongs.

    Raises: ProfileError, ReexportError, AdoptionConflictError, ConflictError, CapacityError, AuthorityIntegrityError,
    and whatever a store raises.
    """
    _require_route(adoption)
    _require_same_closure(adoption)
    head = find_head(adoption.terms.canonical.head())
    if head is None:
        raise ValidationTypeError("Invalid physical canonical memory head.")
    if head != adoption.pin:
        return _adopt_ahead(adoption, head)
    snapshot = load_snapshot(adoption.terms.canonical, head)
    missing = find_differences(adoption.nomination, snapshot)
    if not missing:
        _require_none(adoption, _claim_conflicts(adoption, snapshot), head)
        return _already_present(adoption, head)
    if adoption.request.expected != head:
        _require_none(adoption, missing, head)
    _require_none(adoption, _unauthorised(adoption, snapshot, snapshot), head)
    return _write(adoption, snapshot, missing)


# Before anything is compared.


def _require_route(adoption: Adoption) -> None:
    nomination, working = adoption.nomination, adoption.terms.working_side
    if adoption.terms.routes.get(nomination.route) != nomination.destination_purpose:
        raise ProfileError("The memory nomination is not bound to this adoption route.")
    # The closure's binding is the source's: the nomination's parser held them to be equal.
    if (nomination.authority_id, nomination.closure.binding.sha256) != (
        working.authority_id,
        working.binding_sha256,
    ):
        raise ProfileError("The memory nomination is not from the bound working authority.")


def _require_same_closure(adoption: Adoption) -> None:
    """The working memory gives the nominated bytes out again, of its history. Raises: ReexportError."""
    closure = adoption.nomination.closure
    answer = adoption.terms.working.export_dependency_closure(
        list(closure.roots), closure.head.reference, records_max=CLOSURE_RECORDS_MAX
    )
    if _bytes_of(answer) != closure.text:
        raise ReexportError


def _bytes_of(answer: Any) -> bytes | None:
    """Canonical bytes, or None of what has none or too many."""
    try:
        text = text_of(answer)
    except (ValueError, TypeError, RecursionError):
        return None
    return text if len(text) <= CLOSURE_BYTES_MAX else None


# What differs, and what may.


def find_differences(nomination: Nomination, snapshot: Snapshot) -> list[ConflictEntry]:
    """The nominated records that are absent from a snapshot, or others there."""
    entries = [
        ConflictEntry(record.key, snapshot.find_digest(record.key), record.sha256)
        for record in nomination.records
    ]
    return [entry for entry in entries if entry.canonical_sha256 != entry.nominated_sha256]


def _claim_conflicts(adoption: Adoption, snapshot: Snapshot) -> list[ConflictEntry]:
    """Claims are about what was reviewed, and that is what was there at the expected head."""
    if not adoption.request.claims:
        return []
    expected = adoption.request.expected
    reviewed = snapshot if expected == snapshot.head else load_snapshot(adoption.terms.canonical, expected)
    return _unauthorised(adoption, reviewed, snapshot)


def _unauthorised(adoption: Adoption, reviewed: Snapshot, current: Snapshot) -> list[ConflictEntry]:
    """Records without leave, judged by the reviewed snapshot, shown with the digests of the current one."""
    entries = []
    for record in adoption.nomination.records:
        claim = adoption.request.claims.get(record.key)
        if not is_authorised(reviewed.find_digest(record.key), record.sha256, claim):
            entries.append(ConflictEntry(record.key, current.find_digest(record.key), record.sha256))
    return entries


def is_authorised(reviewed: str | None, nominated: str, claim: str | None) -> bool:
    """A claim names what may be replaced; it never permits an insert, and need not name what stays."""
    if reviewed is None:
        return claim is None
    if reviewed == nominated:
        return claim is None or claim == reviewed
    return claim == reviewed


def _require_none(adoption: Adoption, entries: Sequence[ConflictEntry], actual: Head) -> None:
    if entries:
        raise adoption_conflict(entries, expected=adoption.request.expected, actual=actual)


# Outcomes without a write.


def _adopt_ahead(adoption: Adoption, head: Head) -> Receipt:
    """The reviewed memory is not where the pin is: nothing may be written, and what is there may be found."""
    snapshot = prove(adoption.terms.canonical, adoption.pin, head)
    _require_none(adoption, find_differences(adoption.nomination, snapshot), head)
    _require_none(adoption, _claim_conflicts(adoption, snapshot), head)
    return _already_present(adoption, head)


def _already_present(adoption: Adoption, head: Head) -> Receipt:
    return _receipt(adoption, head, operation_sha256=None)


def _receipt(adoption: Adoption, head: Head, *, operation_sha256: str | None) -> Receipt:
    return adoption_receipt(
        adoption.terms.canonical_side,
        actor_id=adoption.terms.adoption_actor_id,
        nomination_sha256=adoption.nomination.sha256,
        operation_sha256=operation_sha256,
        prior=adoption.pin,
        head=head,
    )


# The write.


def _write(adoption: Adoption, snapshot: Snapshot, missing: Sequence[ConflictEntry]) -> Receipt:
    keys = {entry.key for entry in missing}
    changes = tuple(Put(record) for record in adoption.nomination.records if record.key in keys)
    _require_capacity(snapshot, changes)
    commit = Commit(
        actor_id=adoption.terms.adoption_actor_id,
        operation_id=adoption_operation_id(adoption),
        changes=changes,
        expected=adoption.pin.reference,
        instant=None,
        operation_bytes_max=adoption.terms.operation_bytes_max,
    )
    adoption.reach("before_commit")
    try:
        answer = adoption.terms.canonical.commit(commit)
    except ConflictError as error:
        return _reconcile(adoption, _read_head(adoption), None, error)
    adoption.reach("after_commit")
    committed = _read_committed(adoption, commit, answer).head
    actual = _read_head(adoption)
    if actual == committed:
        return _receipt(adoption, committed, operation_sha256=committed.operation_sha256)
    return _reconcile(adoption, actual, committed, None)


def adoption_operation_id(adoption: Adoption) -> str:
    """The same nomination at the same pin has the same; so one sent again is found to be there."""
    fields = {
        "actorId": adoption.terms.adoption_actor_id,
        "bindingSha256": adoption.terms.canonical_side.binding_sha256,
        "nominationSha256": adoption.nomination.sha256,
        "priorHead": adoption.pin.as_wire(),
        "v": 1,
    }
    return f"memory_adopt_{digest_of(fields)[:48]}"


def _require_capacity(snapshot: Snapshot, changes: Sequence[Change]) -> None:
    sizes = {key: len(record.text) for key, record in snapshot.records.items()}
    sizes |= {change.key: len(change.record.text) for change in changes if isinstance(change, Put)}
    if len(sizes) > LANE_RECORDS_MAX:
        raise CapacityError("The adopted canonical memory would exceed its record snapshot bound.")
    sequence = snapshot.head.sequence + 1
    if sequence > INTEGER_MAX:
        raise CapacityError("The adopted canonical memory would exceed its head sequence bound.")
    if snapshot_bytes(widest_head(sequence), list(sizes.values())) > LANE_BYTES_MAX:
        raise BytesExceededError(
            "The adopted canonical memory would exceed its canonical snapshot byte bound."
        )


def _read_head(adoption: Adoption) -> Head:
    head = find_head(adoption.terms.canonical.head())
    if head is None:
        raise ValidationTypeError("Invalid physical canonical memory head.")
    return head


def _read_committed(adoption: Adoption, commit: Commit, answer: Any) -> Operation:
    """The operation that was asked for. Raises: AuthorityIntegrityError; the write may have landed."""
    different = "The canonical authority returned a different adoption operation."
    try:
        operation = parse_operation(answer)
    except HubError as error:
        raise AuthorityIntegrityError(different) from error
    if len(operation.text) > OPERATION_BYTES_MAX or (
        operation.actor_id,
        operation.operation_id,
        operation.space_id,
        operation.parent_sha256,
        operation.sequence,
        operation.changes,
    ) != (
        commit.actor_id,
        commit.operation_id,
        adoption.terms.canonical.binding.space_id,
        adoption.pin.operation_sha256,
        adoption.pin.sequence + 1,
        commit.changes,
    ):
        raise AuthorityIntegrityError(different)
    return operation


def _reconcile(
    adoption: Adoption, actual: Head, committed: Head | None, cause: ConflictError | None
) -> Receipt:
    """Somebody else wrote meanwhile: what is there now decides, once it is proven to follow from the pin."""
    store = adoption.terms.canonical
    if actual == adoption.pin:
        snapshot = load_snapshot(store, actual)
    else:
        snapshot = prove(store, adoption.pin, actual, first=committed)
    differences = find_differences(adoption.nomination, snapshot)
    if differences:
        raise adoption_conflict(differences, expected=adoption.request.expected, actual=actual) from cause
    return _already_present(adoption, actual)
