"""The audit trail over REST: the list and its filters, and an export that a stranger can verify."""

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from memoryhub import audit, audit_trail, ids
from tests.plants import run_sql, unguarded
from tests.world import Caller, Tenant, unused_id


def events(call: Caller, **query: Any) -> list[dict[str, Any]]:
    answer = call("GET", "/v1/audit_events", query=query)
    assert answer.status == 200, answer.body
    return list(answer.body["data"])


def test_a_change_is_listed_first_with_who_what_and_where(call: Caller, store_id: str) -> None:
    event = events(call)[0]
    assert list(event) == [
        "id",
        "type",
        "action",
        "actor",
        "subject_id",
        "parent_id",
        "environment_id",
        "details",
        "request_id",
        "created_at",
        "chain_index",
        "chain_sha256",
    ]
    assert (event["type"], event["action"], event["subject_id"]) == (
        "audit_event",
        "memory_store.created",
        store_id,
    )
    assert event["actor"]["type"] == "api_actor"
    assert event["request_id"].startswith("req_")
    assert event["chain_index"] is None


def test_each_filter_narrows_the_list(call: Caller, tenant: Tenant, store_id: str) -> None:
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    event = events(call, subject_id=store_id)[0]
    assert [found["subject_id"] for found in events(call, subject_id=store_id)] == [store_id]
    assert {found["action"] for found in events(call, action="memory_store.created")} == {
        "memory_store.created"
    }
    actor_id = event["actor"]["api_key_id"]
    assert {found["subject_id"] for found in events(call, actor_id=actor_id)} == {store_id, other}
    assert [found["subject_id"] for found in events(call, **{"created_at[lte]": event["created_at"]})][
        0
    ] == store_id
    assert [found["subject_id"] for found in events(call, **{"created_at[gte]": event["created_at"]})] == [
        other,
        store_id,
    ]
    assert events(call, actor_id=unused_id("apikey")) == []


def test_pages_join_to_the_whole(call: Caller, store_id: str) -> None:
    for number in range(5):
        call("POST", f"/v1/memory_stores/{store_id}/memories", {"path": f"/{number}", "content": "x"})
    whole = [event["id"] for event in events(call)]
    assert pages(call, limit=2) == whole


def pages(call: Caller, *, limit: int) -> list[str]:
    """The ids of the whole list, read page by page."""
    found: list[str] = []
    query: dict[str, Any] = {"limit": limit}
    while True:
        answer = call("GET", "/v1/audit_events", query=query)
        found += [event["id"] for event in answer.body["data"]]
        if answer.body["next_page"] is None:
            return found
        query["page"] = answer.body["next_page"]


# The time of each row, by its place in the order of writing: a clock that stood still, and one that was set back.
CLOCKS = {
    "equal": "timestamptz '2026-01-01'",
    "backward": "timestamptz '2026-01-01' - number * interval '1 second'",
    "to and fro": "timestamptz '2026-01-01' + mod(number * 7919, 13) * interval '1 second'",
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_no_clock_reorders_the_list_or_makes_a_page_skip_or_repeat(
    call: Caller, tenant: Tenant, store_id: str, clock: str
) -> None:
    for number in range(12):
        call("POST", f"/v1/memory_stores/{store_id}/memories", {"path": f"/{number}", "content": "x"})
    before = [event["id"] for event in events(call, limit=100)]
    with unguarded("memoryhub_auditevent"):
        run_sql(
            f"UPDATE memoryhub_auditevent SET created_at = {CLOCKS[clock]} WHERE project_id = %s",
            [tenant.project.id],
        )
    listed = events(call, limit=100)
    assert [event["id"] for event in listed] == before and len(before) >= 13
    times = [event["created_at"] for event in listed]
    assert times != sorted(times, reverse=True) or clock == "equal"
    for limit in (1, 2, 5):
        assert pages(call, limit=limit) == before
    subjects = [event["subject_id"] for event in events(call, action="memory.created", limit=100)]
    assert len(subjects) == len(set(subjects)) == 12


def test_an_unknown_action_and_a_cursor_of_another_list_are_refused(call: Caller, store_id: str) -> None:
    assert call("GET", "/v1/audit_events", query={"action": "memory.guessed"}).status == 400
    page = call("GET", "/v1/audit_events", query={"limit": 1}).body["next_page"]
    other = call("GET", "/v1/audit_events", query={"limit": 1, "page": page, "subject_id": store_id})
    assert (other.status, other.message) == (400, "invalid page cursor")


def test_a_key_of_one_environment_sees_that_environment_alone(tenant: Tenant, store_id: str) -> None:
    production = Caller(tenant.production_key)
    assert events(production, subject_id=store_id) == []
    whole = tenant.caller("admin", whole=True)
    assert [event["subject_id"] for event in events(whole, subject_id=store_id)] == [store_id]
    assert [event["action"] for event in events(whole)][-1] == "project.created"
    assert "project.created" not in [event["action"] for event in events(production)]
    wanted = {"environment": "production"}
    assert tenant.call()("GET", "/v1/audit_events", query=wanted).status == 404
    assert {event["environment_id"] for event in events(whole, **wanted)} == {tenant.production.wire_id}


def test_a_stranger_sees_nothing(stranger: Tenant, store_id: str) -> None:
    assert events(stranger.caller("admin", whole=True), subject_id=store_id) == []


@pytest.mark.parametrize("scope", ["host", "review", "read", "worker"])
def test_only_an_admin_reads_the_trail(tenant: Tenant, scope: str) -> None:
    for path in ("/v1/audit_events", "/v1/audit_events/export"):
        assert tenant.caller(scope)("GET", path).status == 403


def verify_export(content: bytes) -> dict[str, Any]:
    """What docs/operations.md shows: needs nothing of the hub. The chain head."""
    previous = "0" * 64
    *rows, last = [json.loads(line) for line in content.splitlines()]
    for row in rows:
        previous = hashlib.sha256(previous.encode() + rfc8785.dumps(row["event"])).hexdigest()
        assert previous == row["chain_sha256"], row["event"]["chain_index"]
    assert last["chain_head"]["chain_sha256"] == previous
    return dict(last)


def test_an_export_seals_first_and_verifies_without_the_hub(tenant: Tenant, store_id: str) -> None:
    answer = tenant.caller("admin", whole=True)("GET", "/v1/audit_events/export")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.ndjson"'
    last = verify_export(answer.content)
    head = audit.get_chain_head(tenant.project.id)
    assert last["chain_head"] == {
        "project_id": ids.to_wire(ids.PROJECT, tenant.project.id),
        "chain_index": str(head.chain_index),
        "chain_sha256": head.chain_sha256,
    }
    assert len(answer.content.splitlines()) == head.chain_index + 1
    changed = answer.content.replace(b"memory_store.created", b"memory_store.deleted")
    with pytest.raises(AssertionError):
        verify_export(changed)


def test_an_export_is_bounded_and_goes_on_behind_an_index(
    tenant: Tenant, store_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = tenant.caller("admin", whole=True)
    whole = call("GET", "/v1/audit_events/export").content.splitlines()
    rows = len(whole) - 1
    monkeypatch.setattr(audit_trail, "EXPORT_ROWS_MAX", rows)
    assert json.loads(call("GET", "/v1/audit_events/export").content.splitlines()[-1])["has_more"] is False
    monkeypatch.setattr(audit_trail, "EXPORT_ROWS_MAX", rows - 1)
    first = call("GET", "/v1/audit_events/export").content.splitlines()
    end = json.loads(first[-1])
    assert (end["has_more"], end["chain_head"]["chain_index"]) == (True, str(rows - 1))
    rest = call(
        "GET", "/v1/audit_events/export", query={"after": end["chain_head"]["chain_index"]}
    ).content.splitlines()
    assert first[:-1] + rest == whole


def test_an_export_behind_the_end_is_refused(tenant: Tenant) -> None:
    call = tenant.caller("admin", whole=True)
    call("GET", "/v1/audit_events/export")
    end = audit.get_chain_head(tenant.project.id).chain_index
    assert call("GET", "/v1/audit_events/export", query={"after": end}).status == 200
    assert call("GET", "/v1/audit_events/export", query={"after": end + 1}).status == 400


def test_an_export_needs_a_credential_of_the_whole_project(call: Caller) -> None:
    answer = call("GET", "/v1/audit_events/export")
    assert (answer.status, answer.error_code) == (403, "environment_credential")
