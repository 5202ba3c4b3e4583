"""All records at one head, and the closure of some of them. Pure.

Both are functions of history alone, so the same head gives the same bytes for ever.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from authority.bindings import Binding, parse_binding
from authority.canonical import array_text, has_exact_keys, is_code, sealed_text, text_of
from authority.failures import (
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    DependencyError,
    ValidationTypeError,
)
from authority.graph import Head, Record, Reference, find_head, parse_record, records_digest
from authority.limits import (
    CLOSURE_BYTES_MAX,
    CLOSURE_COLLECTED_BYTES_MAX,
    CLOSURE_RECORDS_MAX,
    KEY_LENGTH_MAX,
    LANE_BYTES_MAX,
    LANE_RECORDS_MAX,
    ROOTS_MAX,
)
from memoryhub.errors import HubError

_SNAPSHOT = frozenset({"head", "records", "v"})
_CLOSURE = frozenset({"binding", "closureSha256", "head", "records", "roots", "v"})
_WIDEST = "f" * 64


# Snapshots.


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`records` by key, ascending."""

    head: Head
    records: Mapping[str, Record] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        return snapshot_bytes(self.head, [len(record.text) for record in self.records.values()])

    def find_digest(self, key: str) -> str | None:
        record = self.records.get(key)
        return None if record is None else record.sha256


def snapshot_bytes(head: Head, record_bytes: Sequence[int]) -> int:
    """The canonical size of a snapshot, of the sizes of its records."""
    envelope = len(text_of({"head": head.as_wire(), "records": [], "v": 1}))
    return envelope + sum(record_bytes) + max(0, len(record_bytes) - 1)


def widest_head(sequence: int) -> Head:
    """A head of that sequence that takes as many bytes as any."""
    return Head(sequence, _WIDEST, _WIDEST, _WIDEST)


def read_snapshot(value: Any, *, head: Head, label: str) -> Snapshot:
    """A store's answer, when it is the snapshot of that head. Raises: AuthorityIntegrityError, CapacityError."""
    if not has_exact_keys(value, _SNAPSHOT) or type(value["records"]) is not list:
        raise AuthorityIntegrityError(f"{label} returned an invalid snapshot envelope.")
    found = find_head(value["head"])
    if found is None:
        raise AuthorityIntegrityError(f"{label} returned an invalid snapshot head.")
    if found != head:
        raise AuthorityIntegrityError(f"{label} snapshot differs from its pinned head.")
    if len(value["records"]) > LANE_RECORDS_MAX:
        raise CapacityError(f"{label} snapshot exceeds its record bound.")
    snapshot = Snapshot(head, _read_records(value["records"], label))
    if snapshot.size_bytes > LANE_BYTES_MAX:
        raise BytesExceededError(f"{label} snapshot exceeds its canonical byte bound.")
    if records_digest(record.reference for record in snapshot.records.values()) != head.records_sha256:
        raise AuthorityIntegrityError(f"{label} returned invalid snapshot records.")
    return snapshot


def _read_records(values: list[Any], label: str) -> dict[str, Record]:
    try:
        records = [parse_record(value) for value in values]
    except HubError as error:
        raise AuthorityIntegrityError(f"{label} returned invalid snapshot records.") from error
    by_key = {record.key: record for record in records}
    complete = all(key in by_key for record in records for key in record.dependencies)
    if not _are_ascending([record.key for record in records]) or not complete:
        raise AuthorityIntegrityError(f"{label} returned invalid snapshot records.")
    return by_key


def _are_ascending(keys: Sequence[str]) -> bool:
    return all(first < second for first, second in pairwise(keys))


# Closures.


@dataclass(frozen=True, slots=True)
class Closure:
    """Records and all that they depend on. `text`: its canonical bytes, digest included."""

    binding: Binding
    head: Head
    roots: tuple[str, ...]
    records: tuple[Record, ...] = field(repr=False)
    sha256: str
    text: bytes = field(repr=False)


def sort_roots(roots: Sequence[str]) -> tuple[str, ...]:
    """Raises: CapacityError, ValidationTypeError."""
    if not 1 <= len(roots) <= ROOTS_MAX:
        raise CapacityError(f"A dependency closure needs 1 through {ROOTS_MAX} roots.")
    if not all(is_code(root, length_max=KEY_LENGTH_MAX) for root in roots):
        raise ValidationTypeError("Invalid dependency closure root.")
    if len(set(roots)) != len(roots):
        raise ValidationTypeError("Dependency closure roots must be unique.")
    return tuple(sorted(roots))


def reach(roots: Iterable[str], find: Callable[[str], Reference | None], *, records_max: int) -> list[str]:
    """The keys that are reachable from the roots, ascending. Raises: DependencyError, CapacityError."""
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        if key in reached:
            continue
        reference = find(key)
        if reference is None:
            raise DependencyError(f"Dependency closure record {key} is missing.")
        reached.add(key)
        if len(reached) > records_max:
            raise CapacityError("Dependency closure exceeds its record bound.")
        waiting.extend(reference.dependencies)
    return sorted(reached)


def require_closure_bytes(record_bytes: Iterable[int]) -> None:
    """Raises: CapacityError when records of these sizes are too large for one closure."""
    if sum(size + 1 for size in record_bytes) > CLOSURE_COLLECTED_BYTES_MAX:
        raise BytesExceededError("Dependency closure exceeds its canonical byte bound.")


def closure_text(binding: Binding, head: Head, roots: Sequence[str], records: Iterable[bytes]) -> bytes:
    """The canonical bytes of a closure, of those of its records in order. Raises: CapacityError."""
    return _seal_closure(binding, head, roots, records)[1]


def _seal_closure(
    binding: Binding, head: Head, roots: Sequence[str], records: Iterable[bytes]
) -> tuple[str, bytes]:
    fields = {
        "binding": binding.text,
        "head": text_of(head.as_wire()),
        "records": array_text(records),
        "roots": text_of(list(roots)),
        "v": b"1",
    }
    sha256, text = sealed_text(fields, "closureSha256")
    if len(text) > CLOSURE_BYTES_MAX:
        raise BytesExceededError("Dependency closure exceeds its canonical byte bound.")
    return sha256, text


def parse_closure(value: Any) -> Closure:
    """Raises: HubError for whatever is missing, too much, in another order or of another digest."""
    if not has_exact_keys(value, _CLOSURE):
        raise ValidationTypeError("Invalid dependency closure.")
    binding, head = parse_binding(value["binding"]), find_head(value["head"])
    if head is None or type(value["records"]) is not list or type(value["roots"]) is not list:
        raise ValidationTypeError("Invalid dependency closure.")
    roots, records = sort_roots(value["roots"]), [parse_record(record) for record in value["records"]]
    by_key = {record.key: record.reference for record in records}
    reached = reach(roots, by_key.get, records_max=CLOSURE_RECORDS_MAX)
    if list(roots) != value["roots"] or reached != [record.key for record in records]:
        raise ValidationTypeError("Invalid dependency closure.")
    require_closure_bytes(len(record.text) for record in records)
    sha256, text = _seal_closure(binding, head, roots, (record.text for record in records))
    if sha256 != value["closureSha256"]:
        raise ValidationTypeError("Invalid dependency closure.")
    return Closure(binding, head, roots, tuple(records), sha256, text)
