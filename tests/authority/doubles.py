"""A store in memory behind both ports, and what may go wrong with one."""

from collections.abc import Callable
from typing import Any

from authority.bindings import ProfileKind, make_binding
from authority.canonical import parse
from authority.failures import CapacityError, ConflictError
from authority.graph import (
    EMPTY_HEAD,
    Head,
    HeadReference,
    Put,
    Record,
    Tombstone,
    apply_changes,
    make_record,
    records_digest,
    sort_changes,
)
from authority.local import LocalAuthority
from authority.nominations import Nomination, make_nomination
from authority.operations import Operation, Signed, make_operation
from authority.ports import Commit
from authority.receipts import Side
from authority.snapshots import closure_text, parse_closure, reach, sort_roots
from authority.terms import Terms

INSTANT = "2026-12-01T09:00:00.000Z"


def entity(key: str, name: Any = "Name", *dependencies: str) -> Record:
    return make_record(key, "entity", {"name": name}, sorted(dependencies))


def quiet() -> None:
    """Nothing happens."""


class MemoryStore:
    """`before_commit` and `after_commit` run around the next commit of a port; `lost`: the answer never comes."""

    def __init__(self, kind: ProfileKind, space_id: str = "") -> None:
        self.binding = make_binding(kind, realm_id="realm:double", space_id=space_id or f"double.{kind}")
        self.heads: list[Head] = [EMPTY_HEAD]
        self.states: list[dict[str, Record]] = [{}]
        self.operations: list[Operation] = []
        self.commits = self.feed_reads = self.snapshots = 0
        self.page_limit = 1_000
        self.before_commit: Callable[[], Any] = quiet
        self.after_commit: Callable[[], Any] = quiet
        self.lost: Exception | None = None
        self.shown_head: Head | None = None
        self.tamper: Callable[[Any], Any] = lambda answer: answer

    @property
    def now(self) -> Head:
        return self.heads[-1]

    # What somebody else does.

    def write(self, *changes: Record | Tombstone, operation_id: str = "") -> Head:
        done = tuple(
            change if isinstance(change, Tombstone) else Put(change)
            for change in sorted(changes, key=lambda change: change.key)
        )
        name = operation_id or f"op_n{len(self.operations) + 1}"
        return self._append(Signed(self.binding.space_id, name, "somebody.else", INSTANT), done).head

    def _append(self, signed: Signed, changes: tuple[Any, ...]) -> Operation:
        references = {key: record.reference for key, record in self.states[-1].items()}
        after = apply_changes(references, sort_changes(changes))
        operation = make_operation(
            self.now, signed, sort_changes(changes), records_sha256=records_digest(after.values())
        )
        put = {change.key: change.record for change in changes if isinstance(change, Put)}
        self.states.append({key: put[key] if key in put else self.states[-1][key] for key in after})
        self.heads.append(operation.head)
        self.operations.append(operation)
        return operation

    def _at(self, reference: HeadReference) -> int:
        if reference.sequence >= len(self.heads):
            raise ConflictError("The requested head is not present in this space.")
        if self.heads[reference.sequence].operation_sha256 != reference.operation_sha256:
            raise ConflictError("The requested sequence identifies a different operation head.")
        return reference.sequence

    # The ports.

    def head(self) -> Any:
        shown, self.shown_head = self.shown_head, None
        return (shown or self.now).as_wire()

    def snapshot(self, reference: HeadReference, *, records_max: int) -> Any:
        self.snapshots += 1
        sequence = self._at(reference)
        if len(self.states[sequence]) > records_max:
            raise CapacityError("too many records")
        records = [parse(record.text) for _, record in sorted(self.states[sequence].items())]
        return {"head": self.heads[sequence].as_wire(), "records": records, "v": 1}

    def changes_since(self, reference: HeadReference, *, limit: int, through: HeadReference) -> Any:
        self.feed_reads += 1
        start, end = self._at(reference), self._at(through)
        page = self.operations[start:end][: min(limit, self.page_limit)]
        last = self.heads[start + len(page)]
        return {
            "from": reference.as_wire(),
            "hasMore": last.sequence < end,
            "operations": [parse(operation.text) for operation in page],
            "through": self.heads[end].as_wire(),
            "to": last.reference.as_wire(),
            "v": 1,
        }

    def commit(self, commit: Commit) -> Any:
        self.commits += 1
        before, self.before_commit = self.before_commit, quiet
        before()
        answer = self._commit(commit)
        lost, self.lost = self.lost, None
        if lost is not None:
            raise lost
        after, self.after_commit = self.after_commit, quiet
        after()
        return self.tamper(answer)

    def _commit(self, commit: Commit) -> Any:
        changes = sort_changes(commit.changes)
        for operation in self.operations:
            if operation.operation_id == commit.operation_id:
                if (operation.actor_id, operation.changes) != (commit.actor_id, changes):
                    raise ConflictError("The operation ID is already bound to different content.")
                return parse(operation.text)
        if commit.expected != self.now.reference:
            raise ConflictError("The expected head does not match the current space head.")
        signed = Signed(self.binding.space_id, commit.operation_id, commit.actor_id, INSTANT)
        return parse(self._append(signed, changes).text)

    def export_dependency_closure(
        self, roots: list[str], reference: HeadReference, *, records_max: int
    ) -> Any:
        sequence = self._at(reference)
        state = self.states[sequence]
        references = {key: record.reference for key, record in state.items()}
        keys = reach(roots, references.get, records_max=records_max)
        texts = [state[key].text for key in keys]
        return parse(closure_text(self.binding, self.heads[sequence], sort_roots(roots), texts))

    def nominate(self, *roots: str, route: str = "review", purpose: str = "kb.review") -> Nomination:
        answer = self.export_dependency_closure(list(roots), self.now.reference, records_max=8_192)
        return make_nomination(
            parse_closure(answer),
            route=route,
            destination_purpose=purpose,
            authority_id="label.working",
        )


class Bench:
    """A reviewed and a working store, and an authority over both."""

    def __init__(self, *seed: Record, work: tuple[Record, ...] = ()) -> None:
        self.canonical, self.working = MemoryStore("canonical"), MemoryStore("working")
        if seed:
            self.canonical.write(*seed)
        if work:
            self.working.write(*work)
        self.authority = self.peer()

    def peer(self, *, operation_bytes_max: int = 67_108_864) -> LocalAuthority:
        """Another authority over the same stores, pinned at the current head."""
        terms = Terms(
            self.canonical,
            self.working,
            Side("label.canonical", self.canonical.binding.sha256),
            Side("label.working", self.working.binding.sha256),
            "reviewer.test",
            {"review": "kb.review"},
            operation_bytes_max,
        )
        return LocalAuthority(terms, self.canonical.now)

    @property
    def pin(self) -> Head:
        return self.authority.pin

    def adopt(
        self,
        nomination: Nomination,
        claims: dict[str, str] | None = None,
        *,
        expected: Head | None = None,
        authority: LocalAuthority | None = None,
    ) -> Any:
        """`expected` None: the pin."""
        using = authority or self.authority
        return using.adopt_nomination(adoption(nomination, claims, expected=expected or using.pin))

    def advance(self, following: Head, *, expected: Head | None = None) -> Any:
        return self.authority.advance_canonical(
            {"expectedHead": (expected or self.pin).as_wire(), "nextHead": following.as_wire(), "v": 1}
        )


def adoption(nomination: Nomination, claims: dict[str, str] | None, *, expected: Head) -> dict[str, Any]:
    """The request, as a host sends it."""
    value = {"expectedCanonicalHead": expected.as_wire(), "nomination": parse(nomination.text), "v": 1}
    if claims is not None:
        value["replacements"] = [
            {"expectedPriorRecordSha256": sha256, "key": key, "v": 1} for key, sha256 in claims.items()
        ]
    return value
