"""Operations: atomic sets of changes, chained by their digests. Pure."""

from dataclasses import dataclass, field
from typing import Any

from authority.bindings import CONTRACT_ID
from authority.canonical import (
    array_text,
    has_exact_keys,
    is_code,
    is_digest,
    is_instant,
    is_integer,
    object_text,
    sealed_text,
    text_of,
)
from authority.failures import ValidationTypeError
from authority.graph import Change, Head, parse_change, sort_changes
from memoryhub.digests import sha256_hex

type Wire = dict[str, Any]

_OPERATION = frozenset(
    {
        "actorId",
        "changes",
        "contractId",
        "graphRevisionSha256",
        "instant",
        "operationId",
        "operationSha256",
        "parentOperationSha256",
        "recordsSha256",
        "sequence",
        "spaceId",
        "v",
    }
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One atomic set of changes. `text`: its canonical bytes, digest included."""

    space_id: str
    sequence: int
    operation_id: str
    actor_id: str
    instant: str
    changes: tuple[Change, ...] = field(repr=False)
    parent_sha256: str | None
    graph_revision_sha256: str
    records_sha256: str
    sha256: str
    text: bytes = field(repr=False)

    @property
    def head(self) -> Head:
        return Head(self.sequence, self.sha256, self.graph_revision_sha256, self.records_sha256)


@dataclass(frozen=True, slots=True)
class Signed:
    """Who commits what, and when."""

    space_id: str
    operation_id: str
    actor_id: str
    instant: str


def make_operation(
    prior: Head, signed: Signed, changes: tuple[Change, ...], *, records_sha256: str
) -> Operation:
    """The operation after `prior`, of sorted changes. `records_sha256`: of the records after it."""
    sequence = prior.sequence + 1
    changes_text = array_text(change.text() for change in changes)
    revision = graph_revision(
        prior, changes_text, operation_id=signed.operation_id, records_sha256=records_sha256
    )
    return _seal_operation(
        signed, changes, changes_text, sequence, prior.operation_sha256, revision, records_sha256
    )


def graph_revision(prior: Head, changes_text: bytes, *, operation_id: str, records_sha256: str) -> str:
    fields = {
        "changes": changes_text,
        "operationId": text_of(operation_id),
        "parentGraphRevisionSha256": text_of(prior.graph_revision_sha256),
        "recordsSha256": text_of(records_sha256),
        "revision": text_of(prior.sequence + 1),
        "v": b"1",
    }
    return sha256_hex(object_text(fields))


def _seal_operation(
    signed: Signed,
    changes: tuple[Change, ...],
    changes_text: bytes,
    sequence: int,
    parent_sha256: str | None,
    revision_sha256: str,
    records_sha256: str,
) -> Operation:
    fields = {
        "actorId": text_of(signed.actor_id),
        "changes": changes_text,
        "contractId": text_of(CONTRACT_ID),
        "graphRevisionSha256": text_of(revision_sha256),
        "instant": text_of(signed.instant),
        "operationId": text_of(signed.operation_id),
        "parentOperationSha256": text_of(parent_sha256),
        "recordsSha256": text_of(records_sha256),
        "sequence": text_of(sequence),
        "spaceId": text_of(signed.space_id),
        "v": b"1",
    }
    sha256, text = sealed_text(fields, "operationSha256")
    return Operation(
        signed.space_id,
        sequence,
        signed.operation_id,
        signed.actor_id,
        signed.instant,
        changes,
        parent_sha256,
        revision_sha256,
        records_sha256,
        sha256,
        text,
    )


def parse_operation(value: Any) -> Operation:
    """Raises: ValidationTypeError, also for a digest that is not the operation's; CapacityError."""
    if not has_exact_keys(value, _OPERATION) or not _is_operation_head(value):
        raise ValidationTypeError("Invalid graph operation.")
    if type(value["changes"]) is not list:
        raise ValidationTypeError("Invalid graph operation.")
    given = [parse_change(change) for change in value["changes"]]
    changes = sort_changes(given)
    if list(changes) != given:
        raise ValidationTypeError("Invalid graph operation.")
    operation = _seal_operation(
        Signed(value["spaceId"], value["operationId"], value["actorId"], value["instant"]),
        changes,
        array_text(change.text() for change in changes),
        value["sequence"],
        value["parentOperationSha256"],
        value["graphRevisionSha256"],
        value["recordsSha256"],
    )
    if operation.sha256 != value["operationSha256"]:
        raise ValidationTypeError("Invalid graph operation.")
    return operation


def _is_operation_head(value: Wire) -> bool:
    first = value["sequence"] == 1
    parent = value["parentOperationSha256"]
    return (
        is_integer(value["sequence"], 1)
        and (parent is None if first else is_digest(parent))
        and value["contractId"] == CONTRACT_ID
        and all(is_code(value[name]) for name in ("actorId", "operationId", "spaceId"))
        and all(is_digest(value[name]) for name in ("graphRevisionSha256", "recordsSha256"))
        and is_instant(value["instant"])
    )
