"""Adoption, row by row: what is written, what is refused, and that the pin moves only with what is proven."""

import threading
from typing import Any

import pytest

from authority.adopt import is_authorised
from authority.bindings import sealed
from authority.canonical import digest_of, parse
from authority.failures import (
    AdoptionConflictError,
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    ConflictError,
    OperationSizeError,
    ProfileError,
    ReexportError,
    ValidationTypeError,
)
from authority.graph import EMPTY_HEAD, Head, Record, make_record
from authority.receipts import ConflictEntry
from tests.authority.doubles import Bench, MemoryStore, adoption, entity

NEW = entity("entity:n", "New")


def fresh(*seed: Record, work: tuple[Record, ...] = (NEW,)) -> tuple[Bench, Any]:
    bench = Bench(*(seed or (entity("entity:seed"),)), work=work)
    return bench, bench.working.nominate(*(record.key for record in work))


def refused(bench: Bench, act: Any) -> list[tuple[str, str | None]]:
    """The keys of a conflict, which leaves the pin."""
    prior = bench.pin
    with pytest.raises(AdoptionConflictError) as caught:
        act()
    assert bench.pin == prior
    assert str(caught.value) == "The nominated records conflict with the current canonical memory head."
    return [(entry["key"], entry["canonicalRecordSha256"]) for entry in caught.value.conflict["conflicts"]]


def test_a_child_is_adopted_with_its_parent_and_again_changes_nothing() -> None:
    parent, child = entity("entity:p"), entity("entity:q", "Q", "entity:p")
    bench = Bench(entity("entity:seed"), work=(parent, child))
    nomination, first = bench.working.nominate("entity:q"), bench.pin
    receipt = bench.adopt(nomination)
    assert (receipt.status, bench.pin) == ("adopted", bench.canonical.now)
    assert receipt.wire["operationSha256"] == bench.canonical.now.operation_sha256
    fields = {name: value for name, value in receipt.wire.items() if name != "receiptSha256"}
    assert receipt.sha256 == digest_of(fields)
    assert (
        bench.canonical.operations[-1].operation_id
        == "memory_adopt_"
        + digest_of(
            {
                "actorId": "reviewer.test",
                "bindingSha256": bench.canonical.binding.sha256,
                "nominationSha256": nomination.sha256,
                "priorHead": first.as_wire(),
                "v": 1,
            }
        )[:48]
    )
    again = bench.adopt(nomination, expected=first)
    assert (again.status, again.wire["operationSha256"]) == ("already-present", None)
    assert again.wire["priorHead"] == again.wire["head"] == bench.pin.as_wire()
    assert bench.canonical.commits == 1


def test_an_invented_head_is_looked_up_only_for_claims() -> None:
    bench, nomination = fresh()
    bench.adopt(nomination)
    invented = Head(1, "f" * 64, "e" * 64, "d" * 64)
    assert bench.adopt(nomination, expected=invented).status == "already-present"
    with pytest.raises(ConflictError) as caught:
        bench.adopt(nomination, {"entity:n": "0" * 64}, expected=invented)
    assert type(caught.value) is ConflictError


def test_nothing_is_written_while_the_store_is_ahead_of_the_pin() -> None:
    one = entity("entity:a", "A")
    bench, nomination = fresh(one, work=(entity("entity:a", "A2"), NEW))
    bench.canonical.write(entity("entity:z"))
    head, claims = bench.canonical.now, {"entity:a": one.sha256}
    rows = refused(bench, lambda: bench.adopt(nomination, claims, expected=head))
    assert rows == [("entity:a", one.sha256), ("entity:n", None)]
    bench.advance(head)
    assert [
        key for key, _ in refused(bench, lambda: bench.adopt(nomination, claims, expected=EMPTY_HEAD))
    ] == [
        "entity:a",
        "entity:n",
    ]
    assert bench.canonical.commits == 0
    assert bench.adopt(nomination, claims).status == "adopted"


def test_records_that_are_there_already_move_the_pin_without_a_write() -> None:
    bench, nomination = fresh()
    prior = bench.pin
    bench.canonical.write(NEW)
    receipt = bench.adopt(nomination, expected=prior)
    assert (receipt.status, receipt.wire["priorHead"]) == ("already-present", prior.as_wire())
    assert bench.pin == bench.canonical.now
    assert bench.canonical.commits == 0


def test_claims() -> None:
    one, two, same = entity("entity:a", "A"), entity("entity:b", "B"), entity("entity:e", "E")
    work = (entity("entity:a", "A2"), entity("entity:b", "B2"), same, NEW)
    bench, nomination = fresh(one, two, same, work=work)
    first, good = bench.pin, {"entity:a": one.sha256, "entity:b": two.sha256}

    def keys(claims: dict[str, str] | None, expected: Head = first) -> list[tuple[str, str | None]]:
        return refused(bench, lambda: bench.adopt(nomination, claims, expected=expected))

    assert keys(None) == [("entity:a", one.sha256), ("entity:b", two.sha256)]
    assert keys({**good, "entity:b": "0" * 64}) == [("entity:b", two.sha256)]
    assert keys({**good, "entity:n": "0" * 64}) == [("entity:n", None)]
    assert keys({**good, "entity:e": "0" * 64}) == [("entity:e", same.sha256)]
    assert bench.canonical.commits == 0
    assert bench.adopt(nomination, {**good, "entity:e": same.sha256}).status == "adopted"
    changed = [change.key for change in bench.canonical.operations[-1].changes]
    assert changed == ["entity:a", "entity:b", "entity:n"]
    # Sent again: in full, or without any claim.
    assert bench.adopt(nomination, good, expected=first).status == "already-present"
    assert bench.adopt(nomination, expected=first).status == "already-present"
    assert [key for key, _ in keys({"entity:e": same.sha256})] == ["entity:a", "entity:b"]
    bogus = keys({"entity:e": "0" * 64}, expected=bench.pin)
    assert bogus == [("entity:e", same.sha256)]
    # Restored, it can be replaced again, by another operation.
    bench.canonical.write(one, operation_id="op_restore")
    bench.advance(bench.canonical.now)
    before = {operation.operation_id for operation in bench.canonical.operations}
    assert bench.adopt(nomination, {"entity:a": one.sha256}).status == "adopted"
    assert bench.canonical.operations[-1].operation_id not in before


@pytest.mark.parametrize(
    ("reviewed", "claim", "allowed"),
    [
        (None, None, True),
        (None, "n", False),
        ("n", None, True),
        ("n", "n", True),
        ("n", "x", False),
        ("r", None, False),
        ("r", "n", False),
        ("r", "r", True),
    ],
)
def test_what_a_claim_allows(reviewed: str | None, claim: str | None, allowed: bool) -> None:
    assert is_authorised(reviewed, "n", claim) is allowed


def test_only_the_first_conflicts_are_shown_and_all_are_counted() -> None:
    seed = [entity(f"entity:k{n:03}") for n in range(129)]
    work = (*(entity(f"entity:k{n:03}", "Other") for n in range(129)), entity("entity:z"))
    bench, nomination = fresh(*seed, work=work)
    bench.canonical.write(entity("unrelated"))
    with pytest.raises(AdoptionConflictError) as caught:
        bench.adopt(nomination)
    conflict = caught.value.conflict
    everything = [
        ConflictEntry(old.key, old.sha256, new.sha256).as_wire() for old, new in zip(seed, work, strict=False)
    ]
    everything.append(ConflictEntry("entity:z", None, work[-1].sha256).as_wire())
    assert conflict["conflicts"] == everything[:128]
    assert (conflict["totalConflicts"], conflict["reportedConflicts"], conflict["truncated"]) == (
        130,
        128,
        True,
    )
    assert conflict["conflictsSha256"] == digest_of({"conflicts": everything, "v": 1})
    assert conflict["actualHead"] == bench.canonical.now.as_wire()
    assert conflict["expectedHead"] == bench.pin.as_wire()


def test_somebody_else_writes_before_the_commit() -> None:
    bench, nomination = fresh()
    bench.canonical.before_commit = lambda: bench.canonical.write(entity("entity:z"))
    assert refused(bench, lambda: bench.adopt(nomination)) == [("entity:n", None)]
    assert bench.canonical.commits == 1
    bench, nomination = fresh()
    bench.canonical.before_commit = lambda: bench.canonical.write(NEW)
    assert bench.adopt(nomination).status == "already-present"
    assert (bench.pin, bench.canonical.commits) == (bench.canonical.now, 1)


def test_a_lost_reply_is_the_very_error_and_sending_again_finds_the_write() -> None:
    bench, nomination = fresh()
    prior, lost = bench.pin, RuntimeError("lost")
    bench.canonical.lost = lost
    with pytest.raises(RuntimeError) as caught:
        bench.adopt(nomination)
    assert caught.value is lost
    assert bench.pin == prior != bench.canonical.now
    receipt = bench.adopt(nomination, expected=prior)
    assert (receipt.status, bench.canonical.commits) == ("already-present", 1)
    pinned = bench.pin
    bench.canonical.write(entity("entity:n", "Overwritten"))
    assert [key for key, _ in refused(bench, lambda: bench.adopt(nomination, expected=prior))] == ["entity:n"]
    assert bench.pin == pinned


@pytest.mark.parametrize("key", ["entity:other", "entity:n"])
def test_somebody_else_writes_after_the_commit(key: str) -> None:
    bench, nomination = fresh()
    bench.canonical.after_commit = lambda: bench.canonical.write(entity(key, "Later"))
    if key == "entity:n":
        assert [found for found, _ in refused(bench, lambda: bench.adopt(nomination))] == ["entity:n"]
        return
    receipt = bench.adopt(nomination)
    assert (receipt.status, receipt.wire["operationSha256"]) == ("already-present", None)
    assert bench.pin == bench.canonical.now


@pytest.mark.parametrize("field", ["actorId", "operationId", "spaceId", "sequence", "changes", "instant"])
def test_another_operation_than_was_asked_for_is_not_believed(field: str) -> None:
    bench, nomination = fresh()
    prior = bench.pin
    values = {"sequence": 3, "changes": [], "instant": "2026-12-01"}

    def tamper(answer: Any) -> Any:
        fields = {name: value for name, value in answer.items() if name != "operationSha256"}
        return sealed({**fields, field: values.get(field, "x")}, "operationSha256")

    bench.canonical.tamper = tamper
    with pytest.raises(AuthorityIntegrityError, match="returned a different adoption operation"):
        bench.adopt(nomination)
    assert bench.pin == prior
    assert bench.canonical.now.sequence == 2


def test_an_operation_that_is_not_on_the_path_is_not_believed() -> None:
    bench, nomination = fresh()
    prior = bench.pin
    store = bench.canonical

    def rewrite() -> None:
        del store.heads[2:], store.states[2:], store.operations[1:]
        store.write(NEW, operation_id="op_fork")
        store.write(entity("entity:z"), operation_id="op_fork2")

    store.after_commit = rewrite
    with pytest.raises(AuthorityIntegrityError, match="is not on the current canonical path"):
        bench.adopt(nomination)
    assert bench.pin == prior


def test_a_store_that_still_shows_the_old_head_is_a_conflict() -> None:
    bench, nomination = fresh()
    store, prior = bench.canonical, bench.pin

    def show_old() -> None:
        store.shown_head = prior

    store.after_commit = show_old
    assert refused(bench, lambda: bench.adopt(nomination)) == [("entity:n", None)]


def test_a_store_that_went_back_is_refused() -> None:
    bench, nomination = fresh()
    bench.canonical.shown_head = EMPTY_HEAD
    with pytest.raises(ConflictError, match="not a descendant of the current pin"):
        bench.adopt(nomination)
    far = Head(20_000, "a" * 64, "b" * 64, "c" * 64)
    bench.canonical.shown_head = far
    with pytest.raises(CapacityError, match="exceeds its total proof bound"):
        bench.adopt(nomination)
    assert bench.canonical.feed_reads == 0


def test_two_authorities_and_one_nomination_make_one_operation() -> None:
    bench, nomination = fresh()
    peer, prior = bench.peer(), bench.pin
    bench.adopt(nomination)
    bench.canonical.shown_head = prior
    assert bench.adopt(nomination, authority=peer).status == "adopted"
    assert len(bench.canonical.operations) == 2
    assert peer.pin == bench.pin


def test_a_peer_that_lags_finds_a_later_overwrite() -> None:
    bench, nomination = fresh()
    peer, prior = bench.peer(), bench.pin
    bench.adopt(nomination)
    bench.canonical.write(entity("entity:n", "Overwritten"))
    bench.canonical.shown_head = prior
    with pytest.raises(AdoptionConflictError) as caught:
        bench.adopt(nomination, authority=peer)
    assert caught.value.conflict["actualHead"] == bench.canonical.now.as_wire()
    assert peer.pin == prior


def test_the_working_memory_must_give_the_same_closure_out_again() -> None:
    bench, nomination = fresh(work=(NEW, entity("entity:m")))
    bench.working.write(entity("entity:n", "Newer"))
    other = bench.working.nominate("entity:m")
    bench.working.export_dependency_closure = lambda *_, **__: parse(other.closure.text)  # type: ignore[method-assign]
    with pytest.raises(ReexportError, match="did not re-export the nominated closure exactly"):
        bench.adopt(nomination)
    del bench.working.export_dependency_closure  # type: ignore[method-assign]
    assert bench.adopt(nomination).status == "adopted"


def test_routes_and_sources() -> None:
    bench, _ = fresh()
    for wrong in (
        bench.working.nominate("entity:n", purpose="elsewhere"),
        bench.working.nominate("entity:n", route="unknown"),
    ):
        with pytest.raises(ProfileError, match="is not bound to this adoption route"):
            bench.adopt(wrong)
    foreign = MemoryStore("working", "another.space")
    foreign.write(NEW)
    with pytest.raises(ProfileError, match="is not from the bound working authority"):
        bench.adopt(foreign.nominate("entity:n"))


def test_a_bound_of_the_host_is_the_stores_error() -> None:
    bench, nomination = fresh()

    def refuse(_: Any) -> Any:
        raise OperationSizeError(2, 1)

    bench.canonical.commit = refuse  # type: ignore[method-assign]
    with pytest.raises(OperationSizeError):
        bench.adopt(nomination)
    assert bench.pin == bench.canonical.now


def test_capacity_is_counted_before_anything_is_sent() -> None:
    bench, nomination = fresh(*(entity(f"k:{n}") for n in range(8_192)))
    with pytest.raises(CapacityError, match="would exceed its record snapshot bound"):
        bench.adopt(nomination)
    large = [make_record(f"k:{n}", "note", "x" * 1_040_000, []) for n in range(32)]
    bench, nomination = fresh(*large, work=(make_record("m", "note", "x" * 1_000_000, []),))
    with pytest.raises(BytesExceededError, match="would exceed its canonical snapshot byte bound"):
        bench.adopt(nomination)
    assert bench.canonical.commits == 0


REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"extra": 1}, "Invalid memory adoption request."),
    ({"v": True}, "Invalid memory adoption request."),
    ({"nomination": None}, "Invalid memory adoption nomination."),
    ({"replacements": None}, "Invalid memory adoption replacements."),
    ({"replacements": [{}] * 129}, "Invalid memory adoption replacements."),
    ({"replacements": [{}]}, "Invalid memory adoption replacement."),
    (
        {"replacements": [{"expectedPriorRecordSha256": "f" * 64, "key": "other", "v": 1}]},
        "Invalid memory adoption replacement.",
    ),
    (
        {"replacements": [{"expectedPriorRecordSha256": "f" * 64, "key": "entity:n", "v": 1}] * 2},
        "Memory adoption replacement keys must be unique.",
    ),
    ({"expectedCanonicalHead": {}}, "Invalid expected canonical adoption memory head."),
]


@pytest.mark.parametrize(("change", "message"), REQUESTS, ids=[message for _, message in REQUESTS])
def test_a_malformed_request_is_refused_before_it_waits(change: dict[str, Any], message: str) -> None:
    bench, nomination = fresh()
    request = {**adoption(nomination, None, expected=bench.pin), **change}
    with pytest.raises(ValidationTypeError) as caught:
        bench.authority.adopt_nomination(request)
    assert str(caught.value) == message


def test_what_the_caller_changes_while_it_waits_changes_nothing() -> None:
    """The first call is held up, then fails with an error of its own; the second runs as it was asked."""
    bench, nomination = fresh()
    held, go, raised = threading.Event(), threading.Event(), LookupError("something else")
    feed = bench.canonical.changes_since
    reads: list[int] = []

    def hold(*arguments: Any, **options: Any) -> Any:
        reads.append(1)
        if len(reads) == 1:
            held.set()
            go.wait(10)
            raise raised
        return feed(*arguments, **options)

    bench.canonical.changes_since = hold  # type: ignore[method-assign]
    bench.canonical.write(entity("entity:z"))
    target, prior = bench.canonical.now, bench.pin
    caught: list[BaseException] = []
    statuses: list[str] = []

    def first() -> None:
        try:
            bench.advance(target, expected=prior)
        except LookupError as error:
            caught.append(error)

    request = {"expectedHead": prior.as_wire(), "nextHead": target.as_wire(), "v": 1}
    one = threading.Thread(target=first)
    one.start()
    assert held.wait(10)
    two = threading.Thread(target=lambda: statuses.append(bench.authority.advance_canonical(request).status))
    two.start()
    while len(bench.authority._waiting) < 2:
        threading.Event().wait(0.001)
    request.clear()
    assert (bench.pin, reads) == (prior, [1])
    with pytest.raises(ValidationTypeError):
        bench.authority.advance_canonical({})
    go.set()
    one.join(10)
    two.join(10)
    assert caught == [raised]
    assert (statuses, bench.pin) == (["advanced"], target)
