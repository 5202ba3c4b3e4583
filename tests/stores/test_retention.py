from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.utils import IntegrityError

from memoryhub import integrity, quotas
from memoryhub.audit import AuditAction
from memoryhub.clock import to_wire
from memoryhub.models import AuditEvent, Usage
from stores import integrity as stores_integrity
from stores import retention, retention_sweeps
from stores.models import Memory, MemoryStore, MemoryVersion, StoreRetention
from stores.retention import Policy
from tests.stores.aged import DAY, age_memory, left
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, Tenant, unused_id


def keep(call: Caller, shelf: Shelf, days: int | None = 30, versions_min: int = 1) -> Any:
    answer = call("PUT", shelf.url("retention"), {"days": days, "versions_min": versions_min})
    assert answer.status == 200, answer.body
    return answer.body


def plan(call: Caller, shelf: Shelf, **policy: int) -> Any:
    answer = call("POST", shelf.url("retention", "plan"), policy)
    assert answer.status == 200, answer.body
    return answer.body


def run(call: Caller, shelf: Shelf) -> Any:
    answer = call("POST", shelf.url("retention", "run"))
    assert answer.status == 200, answer.body
    return answer.body


def faults() -> list[str]:
    """The names of the invariants of stores that do not hold."""
    found = map(integrity.check_invariant, stores_integrity.INVARIANTS)
    return [finding.invariant.name for finding in found if finding.faults]


def test_a_store_keeps_every_version_until_it_is_given_a_retention(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [400, 300])
    assert call("GET", shelf.url("retention")).body == {
        "type": "memory_store_retention",
        "memory_store_id": shelf.store_id,
        "days": None,
        "versions_min": None,
        "set_at": None,
        "set_by": None,
        "ran_at": None,
        "history_from": None,
    }
    refused = (400, "invalid_request_error", "retention_off")
    assert call("POST", shelf.url("retention", "run")).refusal == refused
    assert call("POST", shelf.url("retention", "plan")).refusal == refused
    assert retention_sweeps.sweep() == 0
    assert left(shelf, versions) == [0, 1]


def test_what_was_replaced_longer_ago_goes_and_what_was_in_force_since_stays(
    call: Caller, shelf: Shelf
) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 20, 1])
    untouched = age_memory(shelf, "/old", [500])
    shown = keep(call, shelf, 30)
    assert (shown["days"], shown["versions_min"], shown["ran_at"]) == (30, 1, None)
    counted = plan(call, shelf)
    removed = run(call, shelf)
    size = sum(version.content_size_bytes or 0 for version in versions[:2])
    assert removed == {
        "type": "memory_store_removal",
        "memory_store_id": shelf.store_id,
        "dry_run": False,
        "complete": True,
        "days": 30,
        "versions_min": 1,
        "memory_versions": 2,
        "memories": 1,
        "size_bytes": size,
        "memory_versions_held": 0,
    }
    assert counted == {**removed, "dry_run": True}
    assert (left(shelf, versions), left(shelf, untouched)) == ([2, 3, 4], [0])
    assert run(call, shelf)["memory_versions"] == 0
    assert call("GET", shelf.url("retention")).body["ran_at"] is not None
    assert faults() == []


@pytest.mark.parametrize(("kept", "there"), [(1, [4]), (2, [3, 4]), (5, [0, 1, 2, 3, 4])])
def test_the_newest_versions_of_each_memory_stay(
    call: Caller, shelf: Shelf, kept: int, there: list[int]
) -> None:
    versions = age_memory(shelf, "/a", [90, 80, 70, 60, 50])
    keep(call, shelf, 1, kept)
    run(call, shelf)
    assert left(shelf, versions) == there


def test_the_end_is_the_moment_a_version_was_replaced(call: Caller, shelf: Shelf) -> None:
    minute = 1 / 1_440
    over, under = (
        age_memory(shelf, "/over", [50, 30 + minute]),
        age_memory(shelf, "/under", [50, 30 - minute]),
    )
    keep(call, shelf, 30)
    assert run(call, shelf)["memory_versions"] == 1
    assert (left(shelf, over), left(shelf, under)) == ([1], [0, 1])


def test_the_record_of_a_deletion_stays_and_the_texts_before_it_go(call: Caller, shelf: Shelf) -> None:
    gone = age_memory(shelf, "/gone", [90, 80, 70], deleted=True)
    keep(call, shelf)
    assert run(call, shelf)["memory_versions"] == 2
    assert left(shelf, gone) == [2]
    changes = call("GET", shelf.url("changes"), query={"after": gone[0].number - 1}).body
    assert [(item["operation"], item["memory_id"]) for item in changes["data"]] == [
        ("deleted", gone[0].memory_wire_id)
    ]
    assert faults() == []


def test_lists_of_changes_are_the_same_before_and_after(call: Caller, shelf: Shelf) -> None:
    first = age_memory(shelf, "/a", [90, 60, 40])
    age_memory(shelf, "/gone", [90, 80, 70], deleted=True)
    age_memory(shelf, "/b", [85, 75, 1])
    keep(call, shelf)
    starts = [0, *(version.number for version in shelf.versions())]

    def feeds() -> list[Any]:
        return [call("GET", shelf.url("changes"), query={"after": after}).body for after in starts]

    before = feeds()
    assert run(call, shelf)["memory_versions"] == 5
    assert feeds() == before
    walked, after = [], first[0].number
    while True:
        page = call("GET", shelf.url("changes"), query={"after": after, "limit": 1}).body
        walked += page["data"]
        after = page["last_sequence"]
        if not page["has_more"]:
            break
    assert [item["path"] for item in walked] == ["/a", "/gone", "/b"]


def test_what_is_gone_answers_404_and_is_in_no_list(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 35])
    keep(call, shelf)
    page = call("GET", shelf.url("memory_versions"), query={"limit": 1}).body
    run(call, shelf)
    for suffix in ("", "/diff"):
        assert call("GET", shelf.version_url(versions[0]) + suffix).status == 404
    assert call("POST", shelf.version_url(versions[0]) + "/restore").status == 404
    assert call("POST", shelf.version_url(versions[0]) + "/redact").status == 404
    assert (
        call("GET", shelf.version_url(versions[3]) + "/diff", query={"against": versions[0].wire_id}).status
        == 404
    )
    later = call("GET", shelf.url("memory_versions"), query={"limit": 1, "page": page["next_page"]}).body
    assert (later["data"], later["has_more"]) == ([], False)
    listed = call("GET", shelf.url("memory_versions")).body["data"]
    assert [item["id"] for item in listed] == [versions[3].wire_id]


def test_the_version_after_what_is_gone_says_so(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 20, 1])
    keep(call, shelf)
    run(call, shelf)
    first = call("GET", shelf.version_url(versions[2]) + "/diff").body
    assert (first["before"]["state"], first["before"]["memory_version_id"]) == ("removed", None)
    assert (first["hunks"], first["unified"], first["lines_added"]) == (None, None, None)
    second = call("GET", shelf.version_url(versions[3]) + "/diff").body
    assert second["before"]["memory_version_id"] == versions[2].wire_id and second["lines_added"] == 1


def test_the_store_as_it_was_is_shown_where_its_history_is_whole_and_refused_before(
    call: Caller, shelf: Shelf
) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 20])
    keep(call, shelf)
    run(call, shelf)
    whole_from = versions[2].created_at
    assert call("GET", shelf.url("retention")).body["history_from"] == to_wire(whole_from)
    shown = call("GET", shelf.url("snapshot"), query={"at": to_wire(whole_from)})
    assert [item["id"] for item in shown.body["data"]] == [versions[2].wire_id]
    at = to_wire(whole_from - timedelta(microseconds=1))
    refused = call("GET", shelf.url("snapshot"), query={"at": at})
    assert refused.refusal == (400, "invalid_request_error", "history_removed")
    assert refused.body["error"]["details"]["history_from"] == to_wire(whole_from)


def test_redacted_versions_go_as_others_do(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40])
    assert call("POST", shelf.version_url(versions[0]) + "/redact").status == 200
    keep(call, shelf)
    assert run(call, shelf)["size_bytes"] == versions[1].content_size_bytes
    assert left(shelf, versions) == [2]
    assert faults() == []


def test_a_run_is_one_batch_and_batches_add_up_to_the_plan(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "RETENTION_BATCH_VERSIONS", 3)
    monkeypatch.setattr(retention, "PLAN_CHUNK_ROWS", 2)
    memories = [age_memory(shelf, f"/{name}", [90, 80, 70, 60]) for name in "abc"]
    keep(call, shelf)
    counted, runs = plan(call, shelf), [run(call, shelf) for _ in range(3)]
    assert [one["memory_versions"] for one in runs] == [3, 3, 3]
    assert [one["complete"] for one in runs] == [False, False, True]
    assert sum(one["size_bytes"] for one in runs) == counted["size_bytes"]
    assert counted["memory_versions"] == 9 and counted["memories"] == 3
    assert [left(shelf, versions) for versions in memories] == [[3]] * 3
    assert faults() == []


def test_a_plan_may_try_another_policy_and_changes_nothing(call: Caller, shelf: Shelf) -> None:
    age_memory(shelf, "/a", [90, 60, 40, 20])
    before = shelf.state()
    assert plan(call, shelf, days=30)["memory_versions"] == 2
    assert plan(call, shelf, days=30, versions_min=3)["memory_versions"] == 1
    assert plan(call, shelf, days=3_650)["memory_versions"] == 0
    assert shelf.state() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"days": 0},
        {"days": 3_651},
        {"days": True},
        {"days": "30"},
        {"days": 30.5},
        {"days": 30, "versions_min": 0},
        {"days": 30, "versions_min": 1_001},
        {"days": 30, "versions_min": None},
        {"days": 30, "versions": 2},
    ],
)
def test_a_policy_past_its_limits_is_refused(call: Caller, shelf: Shelf, body: Any) -> None:
    assert call("PUT", shelf.url("retention"), body).status == 400
    assert call("GET", shelf.url("retention")).body["days"] is None


def test_a_policy_at_its_limits_is_taken_and_shown(call: Caller, shelf: Shelf) -> None:
    for days, kept in ((1, 1), (3_650, 1_000)):
        shown = keep(call, shelf, days, kept)
        assert (shown["days"], shown["versions_min"]) == (days, kept)
    shown = keep(call, shelf, 7)
    assert call("GET", shelf.url("retention")).body == shown
    assert keep(call, shelf, 7) == shown
    assert keep(call, shelf, None)["days"] is None


def test_every_change_of_a_policy_and_every_batch_is_in_the_trail(call: Caller, shelf: Shelf) -> None:
    age_memory(shelf, "/a", [90, 60, 40])
    keep(call, shelf, 30, 2)
    keep(call, shelf, 30, 2)
    keep(call, shelf, 30, 1)
    run(call, shelf)
    run(call, shelf)
    keep(call, shelf, None)
    changed = audited(AuditAction.RETENTION_CHANGED, shelf.store_id)
    assert [entry for entry in shelf.audit() if entry[1] == shelf.store_id][1:] == [
        changed,
        changed,
        audited(AuditAction.OLD_VERSIONS_REMOVED, shelf.store_id),
        changed,
    ]
    events = AuditEvent.objects.filter(subject_id=shelf.store_id).order_by("number")
    details = list(events.values_list("details", flat=True))
    none = {"days_before": None, "versions_min_before": None, "days_after": 30, "versions_min_after": 2}
    assert details[1] == none
    assert details[3]["memory_versions"] == 2 and details[3]["days"] == 30
    assert details[4]["days_after"] is None


def test_nothing_goes_from_an_archived_store_and_its_policy_stays(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60])
    keep(call, shelf)
    shelf.archive()
    archived = (400, "invalid_request_error", "memory_store_archived")
    assert call("POST", shelf.url("retention", "run")).refusal == archived
    assert call("PUT", shelf.url("retention"), {"days": 1}).refusal == archived
    assert plan(call, shelf)["memory_versions"] == 0
    assert retention_sweeps.sweep() == 0
    assert left(shelf, versions) == [0, 1]


def test_agents_and_strangers_reach_none_of_it(
    call: Caller, shelf: Shelf, tenant: Tenant, stranger: Tenant
) -> None:
    age_memory(shelf, "/a", [90, 60])
    keep(call, shelf)
    agent = tenant.caller("agent", stores={shelf.store.id: "read_write"})
    foreign, host = stranger.caller("admin"), tenant.caller("host")
    unknown = f"/v1/memory_stores/{unused_id('memstore')}/retention"
    for method, suffix, body in (
        ("GET", "", None),
        ("PUT", "", {"days": 1}),
        ("POST", "/plan", {}),
        ("POST", "/run", None),
    ):
        url = shelf.url("retention") + suffix
        assert agent(method, url, body).status == 403
        assert foreign(method, url, body).status == 404
        assert call(method, unknown + suffix, body).status == 404
    assert host("GET", shelf.url("retention")).status == 200
    assert host("PUT", shelf.url("retention"), {"days": 1}).status == 403


def test_the_database_lets_go_only_what_the_retention_lets_go(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 10, 1])
    gone = age_memory(shelf, "/gone", [90, 60], deleted=True)

    def refused(version: MemoryVersion) -> bool:
        try:
            with transaction.atomic():
                MemoryVersion.objects.filter(id=version.id)._raw_delete("default")
                transaction.set_rollback(True)
        except IntegrityError:
            return True
        return False

    assert all(refused(version) for version in [*versions, *gone])
    keep(call, shelf, 30)
    assert [refused(version) for version in versions] == [False, False, True, True]
    assert [refused(version) for version in gone] == [False, True]
    with pytest.raises(IntegrityError), transaction.atomic():
        MemoryVersion.objects.filter(id=versions[0].id).update(follows_removed=True, path="/b")


def test_the_count_of_a_project_follows(call: Caller, shelf: Shelf, tenant: Tenant) -> None:
    age_memory(shelf, "/a", [90, 60, 40])
    keep(call, shelf)
    quotas.count_usage()
    before = Usage.objects.get(project=tenant.project)
    removed = run(call, shelf)
    quotas.count_usage()
    after = Usage.objects.get(project=tenant.project)
    assert before.memory_versions - after.memory_versions == removed["memory_versions"] == 2
    assert before.version_bytes - after.version_bytes == removed["size_bytes"]
    assert faults() == []


def test_a_restore_of_a_kept_version_works_after_others_are_gone(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 20])
    keep(call, shelf)
    run(call, shelf)
    assert call("POST", shelf.version_url(versions[2]) + "/restore").status == 200
    memory = Memory.objects.get(id=versions[0].memory_id)
    assert memory.content_sha256 == versions[2].content_sha256
    assert memory.created_at == versions[0].created_at
    assert faults() == []


def test_the_sweep_removes_in_batches_and_notes_that_it_came_to_the_end(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_sweeps, "RETENTION_BATCH_VERSIONS", 2)
    monkeypatch.setattr(retention_sweeps, "SWEEP_PLAN_VERSIONS", 4)
    versions = age_memory(shelf, "/a", [100 - day for day in range(12)])
    keep(call, shelf)
    counted = plan(call, shelf)["memory_versions"]
    row = StoreRetention.objects.select_related("store").get(store=shelf.store)
    assert retention_sweeps.sweep_store(row, until=0.0) == 0
    assert StoreRetention.objects.get(store=shelf.store).ran_at is None
    assert retention_sweeps.sweep() >= counted == 11
    assert left(shelf, versions) == [11]
    assert StoreRetention.objects.get(store=shelf.store).ran_at is not None
    events = AuditEvent.objects.filter(
        subject_id=shelf.store_id, action=AuditAction.OLD_VERSIONS_REMOVED.value
    )
    assert [event.details["memory_versions"] for event in events.order_by("number")] == [2, 2, 2, 2, 2, 1]
    assert {event.actor_id for event in events} == {row.set_by_id}
    assert faults() == []


def test_a_store_has_its_turn_once_an_hour(call: Caller, shelf: Shelf) -> None:
    keep(call, shelf)
    retention_sweeps.sweep()
    versions = age_memory(shelf, "/a", [90, 60])
    retention_sweeps.sweep()
    assert left(shelf, versions) == [0, 1]
    StoreRetention.objects.filter(store=shelf.store).update(
        ran_at=StoreRetention.objects.get(store=shelf.store).ran_at - timedelta(hours=1)  # type: ignore[operator]
    )
    retention_sweeps.sweep()
    assert left(shelf, versions) == [1]


def test_a_batch_that_ends_in_its_middle_leaves_all_of_it(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    age_memory(shelf, "/a", [90, 60, 40])
    keep(call, shelf)
    before = shelf.state()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the machine went away")

    monkeypatch.setattr(retention.job_files, "forget_files_of", fail)
    with pytest.raises(RuntimeError):
        retention.remove_old_versions(shelf.store_id, actor=shelf.actor)
    assert shelf.state() == before
    assert MemoryStore.objects.get(id=shelf.store.id).history_from is None


def test_a_batch_found_under_another_policy_removes_nothing(call: Caller, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60])
    keep(call, shelf)
    found = retention.find_doomed(shelf.store, Policy(30, 1), limit=10)
    keep(call, shelf, 365)
    assert retention.remove_batch(shelf.store_id, found, policy=Policy(30, 1), actor=shelf.actor) is None
    assert left(shelf, versions) == [0, 1]


def test_a_batch_that_was_removed_already_counts_nothing(call: Caller, shelf: Shelf) -> None:
    age_memory(shelf, "/a", [90, 60])
    keep(call, shelf)
    found = retention.find_doomed(shelf.store, Policy(30, 1), limit=10)
    counts = [
        retention.remove_batch(shelf.store_id, found, policy=Policy(30, 1), actor=shelf.actor)
        for _ in range(2)
    ]
    assert [one and one.versions for one in counts] == [1, 0]


def test_the_command_counts_and_removes(
    call: Caller, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40])
    with pytest.raises(CommandError, match="has no retention"):
        call_command("remove_old_versions", shelf.store_id)
    keep(call, shelf)
    call_command("remove_old_versions", shelf.store_id, "--dry-run")
    assert capsys.readouterr().out.startswith(f"{shelf.store_id}: would remove 2 versions of 1 memories, ")
    assert left(shelf, versions) == [0, 1, 2]
    call_command("remove_old_versions", shelf.store_id)
    assert capsys.readouterr().out == f"{shelf.store_id}: removed 2 versions\n"
    assert left(shelf, versions) == [2]


def test_what_is_missing_before_a_mark_and_where_there_is_none_is_named(call: Caller, shelf: Shelf) -> None:
    age_memory(shelf, "/a", [90, 60, 40])
    keep(call, shelf)
    run(call, shelf)
    MemoryStore.objects.filter(id=shelf.store.id).update(history_from=shelf.versions()[0].created_at - DAY)
    assert faults() == ["version_removed"]


def test_a_stale_form_of_a_policy_is_refused(shelf: Shelf) -> None:
    held = retention.set_retention(
        shelf.store_id, policy=Policy(30, 1), expected="for_ever", actor=shelf.actor
    )
    assert held.policy == Policy(30, 1)
    with pytest.raises(retention.Conflict):
        retention.set_retention(shelf.store_id, policy=Policy(9, 1), expected="for_ever", actor=shelf.actor)
    connection.ensure_connection()
    assert retention.get_retention(shelf.store_id, actor=shelf.actor).policy == Policy(30, 1)
