"""Records, changes, heads, closures and nominations: each is read exactly, and nothing near it is."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authority.bindings import make_binding, parse_binding, sealed
from authority.canonical import parse
from authority.failures import (
    BytesExceededError,
    CapacityError,
    ConflictError,
    DependencyError,
    ProfileError,
    ValidationTypeError,
)
from authority.graph import (
    EMPTY_HEAD,
    Put,
    Tombstone,
    apply_changes,
    find_head,
    find_reference,
    make_record,
    parse_change,
    parse_record,
    sort_changes,
)
from authority.nominations import parse_nomination
from authority.operations import parse_operation
from authority.snapshots import parse_closure, read_snapshot, snapshot_bytes, sort_roots
from memoryhub.errors import HubError
from tests.authority.test_known_digests import ADA, BASE, CANONICAL, CLOSURE, FACT, HEAD_1, NOMINATION, SEED

VALUES = [None, True, 1, 1.5, "", "x", [], {}, [None], -1, "f" * 64]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [path, *(found for key, item in inner for found in leaves(item, (*path, key)))]
        if path
        else [found for key, item in inner for found in leaves(item, (key,))]
    )


def changed(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    other = copy.deepcopy(value)
    target = other
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = replacement
    return other


def test_no_single_change_of_a_nomination_is_a_nomination() -> None:
    wire = parse(NOMINATION.text)
    taken = []
    for path in leaves(wire):
        for replacement in VALUES:
            other = changed(wire, path, replacement)
            if repr(other) != repr(wire) and parse_nomination(other) is not None:
                taken.append((path, replacement))
    assert taken == []


def test_a_field_more_or_less_is_no_nomination() -> None:
    wire = parse(NOMINATION.text)
    assert parse_nomination(wire) == NOMINATION
    assert parse_nomination({**wire, "extra": 1}) is None
    for name in wire:
        assert parse_nomination({key: inner for key, inner in wire.items() if key != name}) is None
    assert parse_nomination(None) is parse_nomination([]) is parse_nomination("x") is None


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_flipped_operation_is_no_operation(data: st.DataObject) -> None:
    wire = parse(SEED.text)
    other = changed(wire, data.draw(st.sampled_from(leaves(wire))), data.draw(st.sampled_from(VALUES)))
    if repr(other) == repr(wire):
        return
    with pytest.raises(HubError):
        parse_operation(other)


def test_records_are_refused_with_the_exact_words() -> None:
    wire = parse(BASE.text)
    cases = [
        ({**wire, "extra": 1}, "Invalid graph record input."),
        ({**wire, "v": True}, "Invalid graph record input."),
        ({**wire, "key": "Entity"}, "Invalid graph record identity."),
        ({**wire, "kind": "k" * 65}, "Invalid graph record identity."),
        ({**wire, "value": {"name": "Other"}}, "Invalid graph record identity."),
    ]
    order = "Graph dependencies must be ordered, unique, and non-reflexive."
    for keys in (["b", "a"], ["a", "a"], ["entity:base"], "a", [1], ["a"] * 4_097):
        cases.append(({**wire, "dependencies": keys}, order))
    for value, message in cases:
        with pytest.raises(ValidationTypeError) as caught:
            parse_record(value)
        assert str(caught.value) == message, value


def test_the_largest_value_is_kept_and_one_byte_more_is_refused() -> None:
    make_record("a", "note", "x" * (1_048_576 - 2), [])
    with pytest.raises(BytesExceededError, match="Graph record value exceeds its canonical byte limit"):
        make_record("a", "note", "x" * (1_048_576 - 1), [])


def test_changes_are_sorted_and_change_each_key_once() -> None:
    assert sort_changes([Put(FACT), Put(ADA)]) == (Put(ADA), Put(FACT))
    with pytest.raises(CapacityError, match="A commit needs 1 through 8192 changes"):
        sort_changes([])
    with pytest.raises(CapacityError):
        sort_changes([Put(ADA)] * 8_193)
    with pytest.raises(ValidationTypeError):
        sort_changes([Put(ADA), Tombstone(ADA.key, ADA.sha256)])
    for wrong in ({"kind": "put", "record": parse(BASE.text)}, {"kind": "other", "v": 1}, None, []):
        with pytest.raises(ValidationTypeError):
            parse_change(wrong)


def test_a_transition_keeps_every_dependency() -> None:
    both = apply_changes({}, [Put(FACT), Put(ADA)])
    assert list(both) == ["entity:ada", "fact:ada-birth-year"]
    with pytest.raises(DependencyError, match="Missing dependency entity:ada for fact:ada-birth-year"):
        apply_changes(both, [Tombstone(ADA.key, ADA.sha256)])
    with pytest.raises(ConflictError, match="The prior digest for entity:ada does not match"):
        apply_changes(both, [Tombstone(ADA.key, FACT.sha256)])
    with pytest.raises(ConflictError):
        apply_changes(both, [Tombstone("absent", FACT.sha256)])
    assert apply_changes(both, [Tombstone(FACT.key, FACT.sha256)]).keys() == {"entity:ada"}


def test_heads_are_read_exactly() -> None:
    wire = HEAD_1.as_wire()
    assert find_head(wire) == HEAD_1
    assert find_head(EMPTY_HEAD.as_wire()) == EMPTY_HEAD
    assert find_reference(wire) == find_reference(HEAD_1.reference.as_wire()) == HEAD_1.reference
    wrong: list[Any] = [{**wire, name: value} for name in wire for value in (None, True, "f", 2)]
    wrong += [{**wire, "extra": 1}, {**EMPTY_HEAD.as_wire(), "recordsSha256": "f" * 64}, None, []]
    assert [value for value in wrong if find_head(value) is not None] == []
    assert find_reference({"operationSha256": None, "sequence": 1}) is None
    assert find_reference({"operationSha256": "f" * 64, "sequence": 0}) is None


def test_a_closure_is_exactly_what_is_reachable() -> None:
    wire = parse(CLOSURE.text)
    records = wire["records"]
    assert parse_closure(wire) == CLOSURE
    for other in (
        {"records": records[1:]},
        {"records": records[::-1]},
        {"records": [*records, parse(BASE.text)]},
        {"roots": ["entity:ada"]},
        {"roots": []},
        {"roots": ["fact:ada-birth-year"] * 2},
    ):
        with pytest.raises(HubError):
            parse_closure(resealed({**wire, **other}))


def resealed(closure: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in closure.items() if name != "closureSha256"}
    return sealed(fields, "closureSha256")


def test_a_resealed_nomination_of_a_canonical_binding_is_refused() -> None:
    wire = parse(NOMINATION.text)
    closure = resealed({**wire["closure"], "binding": parse(CANONICAL.text)})
    source = {**wire["source"], "bindingSha256": CANONICAL.sha256}
    fields = {name: value for name, value in wire.items() if name != "nominationSha256"}
    other = sealed({**fields, "closure": closure, "source": source}, "nominationSha256")
    assert parse_nomination(other) is None


def test_roots() -> None:
    assert sort_roots(["b", "a"]) == ("a", "b")
    with pytest.raises(CapacityError, match="A dependency closure needs 1 through 1024 roots"):
        sort_roots([f"a{n}" for n in range(1_025)])
    with pytest.raises(ValidationTypeError, match="Invalid dependency closure root"):
        sort_roots(["A"])
    with pytest.raises(ValidationTypeError, match="Dependency closure roots must be unique"):
        sort_roots(["a", "a"])


def test_a_snapshot_is_that_of_its_head() -> None:
    wire = {"head": HEAD_1.as_wire(), "records": [parse(BASE.text)], "v": 1}
    snapshot = read_snapshot(wire, head=HEAD_1, label="The canonical store")
    assert snapshot.size_bytes == snapshot_bytes(HEAD_1, [len(BASE.text)])
    cases = [
        ({**wire, "x": 1}, "invalid snapshot envelope"),
        ({**wire, "head": None}, "invalid snapshot head"),
        ({**wire, "head": EMPTY_HEAD.as_wire()}, "differs from its pinned head"),
        ({**wire, "records": [parse(ADA.text)]}, "invalid snapshot records"),
        ({**wire, "records": []}, "invalid snapshot records"),
        ({**wire, "records": [parse(FACT.text)]}, "invalid snapshot records"),
    ]
    for value, words in cases:
        with pytest.raises(HubError, match=f"The canonical store .*{words}"):
            read_snapshot(value, head=HEAD_1, label="The canonical store")


def test_a_profile_cannot_contradict_its_kind() -> None:
    wire = parse(make_binding("working", realm_id="realm", space_id="space").text)
    profile = {name: value for name, value in wire["profile"].items() if name != "profileSha256"}
    for kind, flag, words in (
        ("working", {"operationReplication": True}, "must disable operation replication"),
        ("canonical", {}, "cannot permit whole-space purge"),
    ):
        capabilities = {**profile["capabilities"], **flag}
        other = sealed({**profile, "profileKind": kind, "capabilities": capabilities}, "profileSha256")
        with pytest.raises(ProfileError, match=words):
            parse_binding({**wire, "profile": other})
    for field in ("realmId", "spaceId", "contractSha256", "bindingSha256"):
        with pytest.raises(ValidationTypeError):
            parse_binding({**wire, field: "Wrong"})
