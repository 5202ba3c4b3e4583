"""Records, the changes of them and heads, with their digests. Pure: nothing here reads or keeps anything.

Every digest is SHA-256 over canonical JSON, of the object without its own digest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from authority.canonical import (
    array_text,
    check,
    has_exact_keys,
    is_code,
    is_digest,
    is_integer,
    sealed_text,
    text_of,
)
from authority.failures import (
    BytesExceededError,
    CapacityError,
    ConflictError,
    DependencyError,
    ValidationTypeError,
)
from authority.limits import (
    CHANGES_MAX,
    DEPENDENCIES_MAX,
    KEY_LENGTH_MAX,
    KIND_LENGTH_MAX,
    SPACE_RECORDS_MAX,
    VALUE_BYTES_MAX,
)
from memoryhub.digests import sha256_hex

type Wire = dict[str, Any]

_RECORD = frozenset({"dependencies", "key", "kind", "recordSha256", "v", "value"})
_PUT = frozenset({"kind", "record", "v"})
_TOMBSTONE = frozenset({"key", "kind", "priorSha256", "v"})
_HEAD = frozenset({"generation", "graphRevisionSha256", "operationSha256", "recordsSha256", "sequence", "v"})
_REFERENCE = frozenset({"operationSha256", "sequence"})
EMPTY_SHA256 = sha256_hex(b"[]")


# Records.


@dataclass(frozen=True, slots=True)
class Reference:
    """What the digest of a set of records takes of each."""

    key: str
    kind: str
    dependencies: tuple[str, ...]
    sha256: str

    def text(self) -> bytes:
        """Its canonical bytes. Safe codes and digests need no escape."""
        named = ",".join(f'"{key}"' for key in self.dependencies)
        return (
            f'{{"dependencies":[{named}],"key":"{self.key}","kind":"{self.kind}","sha256":"{self.sha256}","v":1}}'
        ).encode()


@dataclass(frozen=True, slots=True)
class Record:
    """`text`: its canonical bytes, digest included."""

    key: str
    kind: str
    dependencies: tuple[str, ...]
    value: Any = field(compare=False)
    sha256: str
    text: bytes

    @property
    def reference(self) -> Reference:
        return Reference(self.key, self.kind, self.dependencies, self.sha256)


def make_record(key: Any, kind: Any, value: Any, dependencies: Any) -> Record:
    """A record of a checked value. Raises: ValidationTypeError, CapacityError."""
    if not is_code(key, length_max=KEY_LENGTH_MAX) or not is_code(kind, length_max=KIND_LENGTH_MAX):
        raise ValidationTypeError("Invalid graph record identity.")
    if not _are_dependencies(dependencies, key):
        raise ValidationTypeError("Graph dependencies must be ordered, unique, and non-reflexive.")
    value_text = text_of(value)
    if len(value_text) > VALUE_BYTES_MAX:
        raise BytesExceededError("Graph record value exceeds its canonical byte limit.")
    fields = {
        "dependencies": text_of(dependencies),
        "key": text_of(key),
        "kind": text_of(kind),
        "v": b"1",
        "value": value_text,
    }
    sha256, text = sealed_text(fields, "recordSha256")
    return Record(key, kind, tuple(dependencies), value, sha256, text)


def _are_dependencies(keys: Any, own: str) -> bool:
    return (
        type(keys) is list
        and len(keys) <= DEPENDENCIES_MAX
        and all(is_code(key, length_max=KEY_LENGTH_MAX) and key != own for key in keys)
        and all(first < second for first, second in pairwise(keys))
    )


def parse_record(value: Any) -> Record:
    """Raises: ValidationTypeError, also for a digest that is not the record's; CapacityError."""
    if not has_exact_keys(value, _RECORD):
        raise ValidationTypeError("Invalid graph record input.")
    try:
        check(value["value"])
    except ValueError as error:
        raise ValidationTypeError("Invalid graph record input.") from error
    record = make_record(value["key"], value["kind"], value["value"], value["dependencies"])
    if record.sha256 != value["recordSha256"]:
        raise ValidationTypeError("Invalid graph record identity.")
    return record


def records_digest(references: Iterable[Reference]) -> str:
    """Of references ascending by key."""
    return sha256_hex(array_text(reference.text() for reference in references))


# Changes.


@dataclass(frozen=True, slots=True)
class Put:
    record: Record

    @property
    def key(self) -> str:
        return self.record.key

    def text(self) -> bytes:
        return b'{"kind":"put","record":' + self.record.text + b',"v":1}'


@dataclass(frozen=True, slots=True)
class Tombstone:
    """`prior_sha256`: the digest of the record that goes."""

    key: str
    prior_sha256: str

    def text(self) -> bytes:
        return f'{{"key":"{self.key}","kind":"tombstone","priorSha256":"{self.prior_sha256}","v":1}}'.encode()


type Change = Put | Tombstone


def parse_change(value: Any) -> Change:
    """Raises: ValidationTypeError, CapacityError."""
    if has_exact_keys(value, _PUT) and value["kind"] == "put":
        return Put(parse_record(value["record"]))
    if (
        has_exact_keys(value, _TOMBSTONE)
        and value["kind"] == "tombstone"
        and is_code(value["key"], length_max=KEY_LENGTH_MAX)
        and is_digest(value["priorSha256"])
    ):
        return Tombstone(value["key"], value["priorSha256"])
    raise ValidationTypeError("Invalid graph change.")


def sort_changes(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Raises: CapacityError for none or too many, ValidationTypeError for two of one key."""
    if not 1 <= len(changes) <= CHANGES_MAX:
        raise CapacityError(f"A commit needs 1 through {CHANGES_MAX} changes.")
    ordered = tuple(sorted(changes, key=lambda change: change.key))
    if any(first.key == second.key for first, second in pairwise(ordered)):
        raise ValidationTypeError("An operation changes each key once.")
    return ordered


def apply_changes(references: Mapping[str, Reference], changes: Iterable[Change]) -> dict[str, Reference]:
    """The records after the changes, ascending by key. Raises: ConflictError, CapacityError, DependencyError."""
    after = dict(references)
    for change in changes:
        if isinstance(change, Put):
            after[change.key] = change.record.reference
            continue
        prior = after.pop(change.key, None)
        if prior is None or prior.sha256 != change.prior_sha256:
            raise ConflictError(f"The prior digest for {change.key} does not match the current record.")
    if len(after) > SPACE_RECORDS_MAX:
        raise CapacityError("Graph transition exceeds its record snapshot limit.")
    require_dependencies(after)
    return {key: after[key] for key in sorted(after)}


def require_dependencies(references: Mapping[str, Reference]) -> None:
    """Raises: DependencyError."""
    for reference in references.values():
        for key in reference.dependencies:
            if key not in references:
                raise DependencyError(f"Missing dependency {key} for {reference.key}.")


# Heads.


@dataclass(frozen=True, slots=True)
class HeadReference:
    sequence: int
    operation_sha256: str | None

    def as_wire(self) -> Wire:
        return {"operationSha256": self.operation_sha256, "sequence": self.sequence}


@dataclass(frozen=True, slots=True)
class Head:
    """An operation and the records after it. Its generation is its sequence, so four fields are all six."""

    sequence: int
    operation_sha256: str | None
    graph_revision_sha256: str | None
    records_sha256: str

    @property
    def reference(self) -> HeadReference:
        return HeadReference(self.sequence, self.operation_sha256)

    def as_wire(self) -> Wire:
        return {
            "generation": self.sequence,
            "graphRevisionSha256": self.graph_revision_sha256,
            "operationSha256": self.operation_sha256,
            "recordsSha256": self.records_sha256,
            "sequence": self.sequence,
            "v": 1,
        }


EMPTY_HEAD = Head(0, None, None, EMPTY_SHA256)


def find_head(value: Any) -> Head | None:
    """The head that a full head's fields say, or None."""
    if not has_exact_keys(value, _HEAD) or not is_integer(value["sequence"], 0):
        return None
    if not is_integer(value["generation"], value["sequence"], value["sequence"]):
        return None
    if not is_digest(value["recordsSha256"]):
        return None
    head = Head(
        value["sequence"], value["operationSha256"], value["graphRevisionSha256"], value["recordsSha256"]
    )
    if head.sequence == 0:
        return head if head == EMPTY_HEAD else None
    both = is_digest(head.operation_sha256) and is_digest(head.graph_revision_sha256)
    return head if both else None


def find_reference(value: Any) -> HeadReference | None:
    """The operation that a reference or a full head names, or None."""
    if has_exact_keys(value, _HEAD):
        head = find_head(value)
        return None if head is None else head.reference
    if not has_exact_keys(value, _REFERENCE) or not is_integer(value["sequence"], 0):
        return None
    sequence, sha256 = value["sequence"], value["operationSha256"]
    fits = sha256 is None if sequence == 0 else is_digest(sha256)
    return HeadReference(sequence, sha256) if fits else None
