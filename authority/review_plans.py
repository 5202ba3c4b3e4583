"""What a reviewer must see before they decide: a nomination against the pin.

Computed anew each time and kept nowhere. The heads are read once, and everything else at them, so that a plan is of one
moment; it names them, and a decision that was made for others meets a conflict.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from authority.authorities import get_authority
from authority.canonical import load, text_of
from authority.failures import PurgedSpaceError
from authority.graph import Head, Wire, find_head
from authority.limits import (
    ADVANCE_OPERATIONS_MAX,
    CLOSURE_RECORDS_MAX,
    LANE_BYTES_MAX,
    LANE_RECORDS_MAX,
    REPLACEMENTS_MAX,
)
from authority.models import Authority, Nomination
from authority.nominations_kept import find_nomination
from authority.operations import Signed, make_operation
from authority.plan_facts import (
    PassedOperation,
    Provenance,
    Standing,
    find_dependents,
    head_of,
    list_passed,
    read_digests,
    read_provenance,
    read_standing,
)
from authority.snapshots import snapshot_bytes, widest_head
from authority.space_history import export_closure
from memoryhub.actors import Actor
from memoryhub.errors import HubError

type State = Literal["replace", "insert", "unchanged"]
type Reexport = Literal["same", "mismatch", "purged"]

STATES: tuple[State, ...] = ("replace", "insert", "unchanged")  # in the order in which they are shown
_PUT_BYTES = len(b'{"kind":"put","record":,"v":1}')
_INSTANT = "2000-01-01T00:00:00.000Z"  # as many bytes as any
_WIDEST = "f" * 64


@dataclass(frozen=True, slots=True)
class PlannedRecord:
    """A nominated record. `needed_by`: nominated ones that depend on it; `dependents`: reviewed ones that do.

    `has_changed`: the working memory has another by now, or none; None when it was emptied.
    """

    wire: Wire
    size_bytes: int
    is_root: bool
    needed_by: list[str]
    state: State
    canonical_sha256: str | None
    has_changed: bool | None
    provenance: Provenance | None
    dependents: list[str]

    @property
    def key(self) -> str:
        key: str = self.wire["key"]
        return key


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the reviewed memory would hold after an adoption, and the size of its operation."""

    records: int
    size_bytes: int
    operation_bytes: int
    operation_bytes_max: int


@dataclass(frozen=True)
class Plan:
    """`records`: by state, then by key. `next_head`: as far as the pin can go in one step, None when it is there."""

    authority: Authority
    nomination: Nomination
    source_head: Head
    working_head: Head
    pin: Head
    store_head: Head
    passed: list[PassedOperation]
    next_head: Head | None
    reexport: Reexport
    records: list[PlannedRecord]
    capacity: Capacity

    def of_state(self, state: State) -> list[PlannedRecord]:
        return [one for one in self.records if one.state == state]

    @property
    def distance(self) -> int:
        return self.store_head.sequence - self.pin.sequence

    @cached_property
    def replacements(self) -> list[Wire]:
        """The claims that an adoption needs."""
        return [
            {"expectedPriorRecordSha256": one.canonical_sha256, "key": one.key, "v": 1}
            for one in self.of_state("replace")
        ]

    @cached_property
    def blockers(self) -> list[str]:
        """Why nothing can be adopted now, by name; a page has a sentence for each."""
        capacity = self.capacity
        found = {
            "pin_behind": self.pin != self.store_head,
            "space_purged": self.reexport == "purged",
            "reexport_mismatch": self.reexport == "mismatch",
            "too_many_replacements": len(self.replacements) > REPLACEMENTS_MAX,
            "too_many_records": capacity.records > LANE_RECORDS_MAX,
            "too_many_bytes": capacity.size_bytes > LANE_BYTES_MAX,
            "operation_too_large": capacity.operation_bytes > capacity.operation_bytes_max,
        }
        return [name for name, holds in found.items() if holds]

    @property
    def changes_nothing(self) -> bool:
        return all(one.state == "unchanged" for one in self.records)


def compute_plan(authority_id: str, nomination_sha256: str, *, actor: Actor) -> Plan:
    """Raises: NotFound."""
    authority = get_authority(authority_id, actor=actor)
    nomination = find_nomination(authority, nomination_sha256)
    value = load(nomination.body)
    closure, pin, store_head = value["closure"], authority.pin, authority.canonical.head
    source_head = find_head(closure["head"])
    assert source_head is not None
    standing = read_standing(authority.canonical_id, pin)
    reexport = _export_again(authority, closure, source_head)
    records = _plan_records(authority, closure, source_head, standing, is_purged=reexport == "purged")
    return Plan(
        authority=authority,
        nomination=nomination,
        source_head=source_head,
        working_head=authority.working.head,
        pin=pin,
        store_head=store_head,
        passed=list_passed(authority.canonical_id, pin.sequence, store_head.sequence),
        next_head=find_next_head(authority),
        reexport=reexport,
        records=records,
        capacity=_measure(authority, records, standing),
    )


def find_next_head(authority: Authority) -> Head | None:
    """The furthest head that the pin can go to in one step; None when it stands at the store's."""
    store_head, furthest = authority.canonical.head, authority.pin_sequence + ADVANCE_OPERATIONS_MAX
    if store_head == authority.pin:
        return None
    return store_head if store_head.sequence <= furthest else head_of(authority.canonical_id, furthest)


def _export_again(authority: Authority, closure: Wire, head: Head) -> Reexport:
    """Whether the working memory gives the nominated bytes out, now."""
    try:
        text = export_closure(
            authority.working_id, closure["roots"], head.reference, records_max=CLOSURE_RECORDS_MAX
        )
    except PurgedSpaceError:
        return "purged"
    except HubError:  # the head or a record is not there
        return "mismatch"
    return "same" if text == text_of(closure) else "mismatch"


def _plan_records(
    authority: Authority, closure: Wire, head: Head, standing: dict[str, Standing], *, is_purged: bool
) -> list[PlannedRecord]:
    wires: list[Wire] = closure["records"]
    keys, roots = [wire["key"] for wire in wires], set(closure["roots"])
    written = {} if is_purged else read_provenance(authority.working_id, head, keys)
    current = {} if is_purged else read_digests(authority.working_id, authority.working.head, keys)
    needed_by = _who_needs(wires)
    replaced = [wire["key"] for wire in wires if _state_of(wire, standing) == "replace"]
    dependents = find_dependents(standing, replaced)
    planned = [
        PlannedRecord(
            wire=wire,
            size_bytes=len(text_of(wire)),
            is_root=wire["key"] in roots,
            needed_by=needed_by[wire["key"]],
            state=_state_of(wire, standing),
            canonical_sha256=standing[wire["key"]].sha256 if wire["key"] in standing else None,
            has_changed=None if is_purged else current.get(wire["key"]) != wire["recordSha256"],
            provenance=written.get(wire["key"]),
            dependents=dependents.get(wire["key"], []),
        )
        for wire in wires
    ]
    return sorted(planned, key=position_of)


def _state_of(wire: Wire, standing: dict[str, Standing]) -> State:
    known = standing.get(wire["key"])
    if known is None:
        return "insert"
    return "unchanged" if known.sha256 == wire["recordSha256"] else "replace"


def position_of(record: PlannedRecord) -> tuple[int, str]:
    return STATES.index(record.state), record.key


def _who_needs(wires: list[Wire]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for wire in wires:
        for dependency in wire["dependencies"]:
            found[dependency].append(wire["key"])
    return found


def _measure(authority: Authority, records: list[PlannedRecord], standing: dict[str, Standing]) -> Capacity:
    changed = {one.key: one.size_bytes for one in records if one.state != "unchanged"}
    sizes = {key: one.size_bytes for key, one in standing.items()} | changed
    sequence = authority.pin_sequence + 1
    return Capacity(
        len(sizes),
        snapshot_bytes(widest_head(sequence), list(sizes.values())),
        _operation_bytes(authority, list(changed.values())),
        authority.operation_bytes_max,
    )


def _operation_bytes(authority: Authority, sizes: list[int]) -> int:
    """The canonical size of the adoption's operation, which is not made for this; 0 when nothing would be written."""
    if not sizes:
        return 0
    signed = Signed(
        authority.canonical.space_id, f"memory_adopt_{_WIDEST[:48]}", authority.adoption_actor_id, _INSTANT
    )
    around = len(make_operation(authority.pin, signed, (), records_sha256=_WIDEST).text)
    return around + sum(sizes) + _PUT_BYTES * len(sizes) + len(sizes) - 1
