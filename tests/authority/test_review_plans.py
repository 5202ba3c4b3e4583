"""What a reviewer is shown: every record against the pin, what blocks an adoption, and at what cost."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from authority import authorities, review_plans, space_history, spaces
from authority.canonical import text_of
from authority.graph import Record, Tombstone, make_record
from authority.models import Authority, Operation, Space
from authority.plan_wires import page_of, plan_wire
from authority.review_plans import Plan, compute_plan
from memoryhub.pagination import ListRequest
from tests.authority.desk import Reviewed, make_reviewed, new_space, options_of, write
from tests.authority.doubles import entity
from tests.world import Tenant


def note(key: str, text: str, *dependencies: str) -> Record:
    return make_record(key, "note", {"text": text}, sorted(dependencies))


REVIEWED_FIRST = (
    note("fact:hours", "9 to 5"),
    note("fact:price", "10"),
    note("fact:same", "same"),
    note("fact:uses-hours", "x", "fact:hours"),
)
WORK = (
    note("fact:hours", "8 to 6"),
    note("fact:price", "12"),
    note("fact:same", "same"),
    note("fact:new", "new", "fact:hours", "fact:price", "fact:same"),
)


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    canonical, working = new_space(tenant), new_space(tenant, "working")
    head = write(tenant, canonical, *REVIEWED_FIRST).head
    write(tenant, working, *WORK)

    authority = authorities.create_authority(options_of(canonical, working, head), actor=tenant.actor)
    return Reviewed(tenant, canonical, working, authority)


def plan_of(reviewed: Reviewed, sha256: str) -> Plan:
    return compute_plan(reviewed.authority.wire_id, sha256, actor=reviewed.actor)


def request(limit: int = 20, page: str | None = None) -> ListRequest:
    return ListRequest("review_plan", {}, limit, page)


def test_every_record_has_its_state_its_reason_and_its_provenance(reviewed: Reviewed) -> None:
    plan = plan_of(reviewed, reviewed.propose("fact:new"))
    assert [(one.key, one.state) for one in plan.records] == [
        ("fact:hours", "replace"),
        ("fact:price", "replace"),
        ("fact:new", "insert"),
        ("fact:same", "unchanged"),
    ]
    hours, _, new, _ = plan.records
    assert (hours.is_root, hours.needed_by, hours.dependents) == (False, ["fact:new"], ["fact:uses-hours"])
    assert hours.canonical_sha256 == REVIEWED_FIRST[0].sha256
    assert (new.is_root, new.needed_by, new.canonical_sha256) == (True, [], None)
    operation = Operation.objects.get(space=reviewed.working, sequence=1)
    assert new.provenance is not None
    assert (new.provenance.operation_id, new.provenance.sequence) == (operation.operation_id, 1)
    assert (new.provenance.actor_id, new.provenance.instant) == (operation.actor_id, operation.instant)
    assert [one.has_changed for one in plan.records] == [False] * 4
    assert (plan.reexport, plan.blockers, plan.next_head) == ("same", [], None)
    assert plan.replacements == [
        {"expectedPriorRecordSha256": one.sha256, "key": one.key, "v": 1} for one in REVIEWED_FIRST[:2]
    ]


def test_what_the_working_memory_changed_since_is_named(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("fact:new")
    write(reviewed.tenant, reviewed.working, note("fact:price", "13"))
    plan = plan_of(reviewed, sha256)
    assert {one.key for one in plan.records if one.has_changed} == {"fact:price"}
    assert (plan.reexport, plan.working_head.sequence, plan.source_head.sequence) == ("same", 2, 1)


def test_a_store_ahead_of_the_pin_blocks_and_its_operations_are_named(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("fact:new")
    write(reviewed.tenant, reviewed.canonical, *(note(f"other:{n:02}", "x") for n in range(12)))
    gone = Tombstone("other:00", note("other:00", "x").sha256)
    write(reviewed.tenant, reviewed.canonical, gone, note("fact:price", "11"))
    plan = plan_of(reviewed, sha256)
    assert (plan.blockers, plan.distance, plan.next_head) == (["pin_behind"], 2, reviewed.head)
    first, second = plan.passed
    assert (first.sequence, first.keys_count, first.keys[:2], len(first.keys)) == (
        2,
        12,
        ["other:00", "other:01"],
        10,
    )
    assert (second.sequence, second.keys, second.actor_id) == (3, ["fact:price", "other:00"], "writer.test")
    # Still against the pin, which is what agents read.
    assert [one.state for one in plan.records][:2] == ["replace", "replace"]
    assert plan.records[1].canonical_sha256 == REVIEWED_FIRST[1].sha256


def test_the_pin_goes_on_in_steps(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_plans, "ADVANCE_OPERATIONS_MAX", 2)
    heads = [write(reviewed.tenant, reviewed.canonical, note("other", str(n))).head for n in range(3)]
    authority = Authority.objects.select_related("canonical").get(id=reviewed.authority.id)
    assert review_plans.find_next_head(authority) == heads[1]


def test_an_emptied_working_memory_blocks_for_good(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("fact:new")
    spaces.purge_space(reviewed.working.wire_id, expected_sequence=1, actor=reviewed.actor)
    plan = plan_of(reviewed, sha256)
    assert (plan.reexport, plan.blockers) == ("purged", ["space_purged"])
    assert {(one.has_changed, one.provenance) for one in plan.records} == {(None, None)}


def test_other_bytes_from_the_working_memory_block(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = reviewed.propose("fact:new")
    monkeypatch.setattr(review_plans, "export_closure", lambda *_, **__: b"{}")
    assert plan_of(reviewed, sha256).blockers == ["reexport_mismatch"]


def test_the_capacity_is_what_an_adoption_really_takes(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("fact:new")
    plan = plan_of(reviewed, sha256)
    nomination = reviewed.nominate("fact:new")
    claims = {one["key"]: one["expectedPriorRecordSha256"] for one in plan.replacements}
    reviewed.submit_adoption(nomination, claims)
    assert reviewed.run_next()
    operation = Operation.objects.get(space=reviewed.canonical, sequence=2)
    assert plan.capacity.operation_bytes == operation.body_bytes
    after = spaces.get_space(reviewed.canonical.wire_id, actor=reviewed.actor)
    held = text_of(space_snapshot(after))
    assert (plan.capacity.records, plan.capacity.size_bytes) == (5, len(held))


def space_snapshot(space: Space) -> dict[str, Any]:

    return space_history.read_snapshot_wire(space.id, None)


@pytest.mark.parametrize(("count", "blocked"), [(128, []), (129, ["too_many_replacements"])])
def test_one_adoption_replaces_as_many_as_it_may(tenant: Tenant, count: int, blocked: list[str]) -> None:

    canonical, working = new_space(tenant), new_space(tenant, "working")
    head = write(tenant, canonical, *(note(f"k:{n:03}", "old") for n in range(count))).head
    write(tenant, working, *(note(f"k:{n:03}", "new") for n in range(count)))
    authority = authorities.create_authority(options_of(canonical, working, head), actor=tenant.actor)
    reviewed = Reviewed(tenant, canonical, working, authority)
    plan = plan_of(reviewed, reviewed.propose(*(f"k:{n:03}" for n in range(count))))
    assert plan.blockers == blocked
    assert plan_wire(plan, request())["replacements"] == (None if blocked else plan.replacements)


@pytest.mark.parametrize(("more", "name"), [(0, None), (-1, "operation_too_large")])
def test_an_operation_over_the_authoritys_bound_blocks(tenant: Tenant, more: int, name: str | None) -> None:
    reviewed = make_reviewed(tenant, work=(note("a", "x" * 500),))
    sha256 = reviewed.propose("a")
    size = plan_of(reviewed, sha256).capacity.operation_bytes
    bounded = make_reviewed(tenant, work=(note("a", "x" * 500),), operation_bytes_max=size + more)
    plan = plan_of(bounded, bounded.propose("a"))
    assert plan.blockers == ([name] if name else [])


@pytest.mark.parametrize(
    ("limit", "past", "name"),
    [("LANE_RECORDS_MAX", "records", "too_many_records"), ("LANE_BYTES_MAX", "size_bytes", "too_many_bytes")],
)
def test_more_than_a_memory_holds_blocks(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, limit: str, past: str, name: str
) -> None:
    sha256 = reviewed.propose("fact:new")
    held = getattr(plan_of(reviewed, sha256).capacity, past)
    monkeypatch.setattr(review_plans, limit, held)
    assert plan_of(reviewed, sha256).blockers == []
    monkeypatch.setattr(review_plans, limit, held - 1)
    assert plan_of(reviewed, sha256).blockers == [name]


def test_the_records_come_in_pages(reviewed: Reviewed) -> None:
    plan = plan_of(reviewed, reviewed.propose("fact:new"))
    first = page_of(plan.records, request(limit=3))
    assert [one.key for one in first.rows] == ["fact:hours", "fact:price", "fact:new"]
    second = page_of(plan.records, request(limit=3, page=first.next_page))
    assert ([one.key for one in second.rows], second.next_page) == (["fact:same"], None)


def test_as_many_queries_for_8192_records_as_for_one(tenant: Tenant) -> None:
    counts = []
    for size in (1, 8_192):
        records = [entity(f"k:{n}", n) for n in range(size)]
        reviewed = make_reviewed(tenant, work=tuple(records))
        if size > 1:
            write(tenant, reviewed.working, *_gather(records))
        sha256 = reviewed.propose(*(["top:0"] if size > 1 else ["k:0"]))
        with CaptureQueriesContext(connection) as queries:
            plan = plan_of(reviewed, sha256)
        assert plan.blockers == ([] if size == 1 else ["too_many_records"])  # with the one that is there
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 20
    assert len(plan.records) == 8_192


def _gather(records: list[Record]) -> list[Record]:
    """Three go, so that one that depends on all others, by two that share them, make as many as there may be."""
    keys = sorted(one.key for one in records)
    gone = [Tombstone(one.key, one.sha256) for one in records if one.key in keys[-3:]]
    half = keys[: len(keys) // 2], keys[len(keys) // 2 : -3]
    tops = [make_record(f"top:{n + 1}", "entity", {"name": "x"}, part) for n, part in enumerate(half)]
    return [*gone, *tops, make_record("top:0", "entity", {"name": "x"}, ["top:1", "top:2"])]  # type: ignore[list-item]


def test_a_plan_names_the_heads_it_was_computed_for(reviewed: Reviewed) -> None:
    sha256 = reviewed.propose("fact:new")
    wire = plan_wire(plan_of(reviewed, sha256), request(limit=2))
    assert (wire["pin"], wire["storeHead"]) == (reviewed.pin.as_wire(), reviewed.head.as_wire())
    assert wire["nomination"]["source"]["head"]["sequence"] == 1
    assert wire["counts"] == {"insert": 1, "replace": 2, "unchanged": 1}
    assert [one["key"] for one in wire["data"]] == ["fact:hours", "fact:price"]
    assert wire["has_more"] is True
    assert wire["behind"] == {"distance": 0, "nextHead": None, "operations": [], "truncated": False}


def test_only_what_was_seen_is_in_a_plan(reviewed: Reviewed) -> None:
    plan = plan_of(reviewed, reviewed.propose("fact:same"))
    assert plan.changes_nothing
    assert (plan.capacity.operation_bytes, plan.replacements) == (0, [])
    assert replace(plan, records=[]).changes_nothing
