"""An item waits, is given to one worker, is kept by heartbeats, and stops."""

import pytest

from memoryhub import keys, session_events
from memoryhub.errors import AuthenticationFailed
from memoryhub.models import ApiKey, AuditEvent
from providers import sessions
from stores import work_claims
from stores.models import Work
from stores.work import database_now
from tests.work.bench import Bench

SHOWN = {
    "id", "type", "environment_id", "data", "state", "metadata", "secret", "created_at", "acknowledged_at", "started_at",
    "latest_heartbeat_at", "stop_requested_at", "stopped_at", "worker_id", "claims_count", "claimed_at", "ttl_seconds",
    "lease_expires_at",
}  # fmt: skip


def test_a_session_is_queued_once_while_its_item_is_live(bench: Bench) -> None:
    first = bench.queue()
    assert first.status == 201
    assert set(first.body) == SHOWN
    assert first.body["data"] == {"type": "session", "id": bench.session_id}
    assert (first.body["state"], first.body["secret"]) == ("queued", None)
    again = bench.queue()
    assert (again.status, again.body) == (200, first.body)
    event = AuditEvent.objects.get(subject_id=first.body["id"])
    assert (event.action, event.parent_id) == ("work.queued", bench.session_id)


def test_a_session_with_stores_is_queued_by_its_first_event(bench: Bench) -> None:
    assert bench.poll().body is None
    for _ in range(2):
        session_events.add_event(bench.session_id, type_="user.message", data={}, actor=bench.tenant.actor)
    assert Work.objects.filter(session__in=[bench.row(bench.claim().work_id).session_id]).count() == 1
    empty = bench.open_session()
    session_events.add_event(empty, type_="user.message", data={}, actor=bench.tenant.actor)
    assert bench.poll().body is None
    assert bench.queue(empty).status == 201


def test_a_session_that_has_ended_is_not_queued(bench: Bench) -> None:
    sessions.end_session(bench.session_id, actor=bench.tenant.actor)
    assert bench.poll().body is None
    assert bench.queue().body["error"]["details"]["error_code"] == "session_closed"


def test_an_empty_queue_answers_null(bench: Bench) -> None:
    answer = bench.poll()
    assert (answer.status, answer.content) == (200, b"null")
    assert answer.headers["cache-control"] == "no-store"


def test_an_item_goes_through_its_states(bench: Bench) -> None:
    work_id = bench.queue().body["id"]
    polled = bench.poll("box-1").body
    assert (polled["id"], polled["state"], polled["worker_id"]) == (work_id, "queued", "box-1")
    assert polled["secret"] is not None
    assert bench.poll("box-2").body is None
    claimed = bench.worker("POST", bench.url(work_id, "ack"))
    assert (claimed.body["state"], claimed.body["secret"]) == ("starting", None)
    assert claimed.body["lease_expires_at"] is not None
    assert bench.worker("POST", bench.url(work_id, "ack")).body == claimed.body
    beaten = bench.worker(
        "POST", bench.url(work_id, "heartbeat"), query={"expected_last_heartbeat": "NO_HEARTBEAT"}
    )
    assert beaten.body == {
        "type": "work_heartbeat",
        "last_heartbeat": bench.worker("GET", bench.url(work_id)).body["latest_heartbeat_at"],
        "lease_extended": True,
        "state": "active",
        "ttl_seconds": 30,
    }
    stopping = bench.worker("POST", bench.url(work_id, "stop"), {})
    assert stopping.body["state"] == "stopping"
    assert bench.worker("POST", bench.url(work_id, "stop"), {}).body == stopping.body
    assert bench.queue().body["error"]["details"]["error_code"] == "work_stopping"
    stopped = bench.worker("POST", bench.url(work_id, "stop"), {"force": True})
    assert (stopped.body["state"], stopped.body["lease_expires_at"]) == ("stopped", None)
    assert stopped.body["started_at"] < stopped.body["stop_requested_at"] < stopped.body["stopped_at"]
    again = bench.worker("POST", bench.url(work_id, "stop"), {"force": True})
    assert (again.status, again.body["error"]["details"]["error_code"]) == (409, "work_stopped")
    assert bench.queue().status == 201


def test_the_token_works_from_the_acknowledgement_to_the_stop(bench: Bench) -> None:
    bench.queue()
    claimed = bench.claim()
    store = f"/v1/memory_stores/{bench.notes.wire_id}"
    assert claimed.agent("GET", store).status == 401
    claimed.ack()
    assert claimed.agent("GET", store).status == 200
    early = claimed.write()
    assert (early.status, early.body["error"]["details"]["error_code"]) == (412, "lease_lost")
    claimed.beat("NO_HEARTBEAT")
    assert claimed.write().status == 200
    assert claimed.stop().body["state"] == "stopped"
    assert claimed.write("/b.md").status == 401
    assert claimed.agent("GET", store).status == 401
    assert ApiKey.objects.get(work_id=claimed.row.id).revoked_at is not None


def test_heartbeats_follow_each_other(bench: Bench) -> None:
    claimed = bench.start()
    first = claimed.row.latest_heartbeat_at
    lost = claimed.beat("NO_HEARTBEAT")
    assert lost.status == 412
    assert lost.body["error"]["type"] == "precondition_failed_error"
    details = lost.body["error"]["details"]
    assert details["error_code"] == "heartbeat_precondition_failed"
    assert details["current_state"]["state"] == "active"
    second = claimed.beat(details["current_state"]["last_heartbeat"], desired_ttl_seconds=300)
    assert (second.status, second.body["ttl_seconds"]) == (200, 300)
    assert claimed.row.latest_heartbeat_at > first
    assert claimed.beat().body["ttl_seconds"] == 300


def test_a_lease_that_has_run_out_is_over(bench: Bench) -> None:
    claimed = bench.start()
    claimed.expire()
    assert claimed.beat().status == 401
    assert claimed.write().status == 401
    by_key = claimed.beat(caller=bench.worker)
    assert (by_key.status, by_key.body["error"]["details"]["current_state"]["state"]) == (412, "active")


def test_an_item_whose_lease_ran_out_is_given_to_another_with_another_token(bench: Bench) -> None:
    old = bench.start("one")
    assert bench.poll("two").body is None
    old.expire()
    new = bench.claim("two")
    assert (new.work_id, new.row.worker, new.row.claims_count) == (old.work_id, "two", 2)
    assert new.row.latest_heartbeat_at is None
    assert new.token != old.token
    new.ack()
    assert new.beat("NO_HEARTBEAT").status == 200
    assert old.write("/old.md").status == 401
    assert new.write("/new.md").status == 200


def test_what_nobody_acknowledged_is_given_out_again_in_time(bench: Bench) -> None:
    bench.queue()
    old = bench.claim("one")
    assert bench.poll("two", reclaim_older_than_ms=60_000).body is None
    assert bench.poll("two").body is None
    Work.objects.filter(id=old.row.id).update(claimed_at=database_now())
    new = bench.claim("two", reclaim_older_than_ms=1, block_ms=900)
    new.ack()
    assert old.agent("GET", f"/v1/sessions/{bench.session_id}").status == 401
    assert new.agent("GET", f"/v1/sessions/{bench.session_id}").status == 200


def test_only_what_was_given_out_is_acknowledged(bench: Bench) -> None:
    work_id = bench.queue().body["id"]
    refused = bench.worker("POST", bench.url(work_id, "ack"))
    assert (refused.status, refused.body["error"]["details"]["error_code"]) == (409, "work_not_claimed")
    bench.claim().stop(caller=bench.owner)
    assert bench.worker("POST", bench.url(work_id, "ack")).status == 409


def test_an_item_that_is_to_stop_keeps_its_token_for_one_lease(bench: Bench) -> None:
    claimed = bench.start(desired_ttl_seconds=60)
    claimed.stop(caller=bench.owner)
    told = claimed.beat("anything at all")
    assert (told.body["state"], told.body["lease_extended"]) == ("stopping", False)
    row = claimed.row
    assert (row.lease_expires_at - row.stop_requested_at).total_seconds() <= 60
    assert claimed.write().status == 200
    claimed.expire()
    assert claimed.write("/late.md").status == 401
    assert work_claims.settle_work() >= 1
    assert claimed.row.state == "stopped"
    assert claimed.beat(caller=bench.worker).body["lease_extended"] is False


def test_the_end_of_a_session_stops_its_work_at_once(bench: Bench) -> None:
    claimed = bench.start()
    actor = keys.authenticate_key(claimed.token)
    assert actor.work_id == claimed.row.id
    sessions.end_session(bench.session_id, actor=bench.tenant.actor)
    assert claimed.row.state == "stopped"
    with pytest.raises(AuthenticationFailed):
        keys.authenticate_key(claimed.token)


def test_a_session_that_is_deleted_takes_its_work_and_tokens_with_it(bench: Bench) -> None:
    claimed = bench.start()
    claimed.write()
    sessions.delete_session(bench.session_id, actor=bench.tenant.actor)
    assert not Work.objects.filter(environment_id=bench.environment.id).exists()
    assert not ApiKey.objects.filter(project_id=bench.tenant.project.id, work_id__isnull=False).exists()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"block_ms": 0}, 400), ({"block_ms": 1}, 200), ({"block_ms": 1_000}, 400), ({"reclaim_older_than_ms": 0}, 400),
        ({"reclaim_older_than_ms": 1}, 200), ({"reclaim_older_than_ms": 3_600_001}, 400),
    ],
)  # fmt: skip
def test_the_limits_of_a_poll(bench: Bench, query: dict[str, int], status: int) -> None:
    assert bench.poll(**query).status == status


@pytest.mark.parametrize(("ttl", "status"), [(0, 400), (1, 200), (300, 200), (301, 400)])
def test_the_limits_of_a_lease(bench: Bench, ttl: int, status: int) -> None:
    assert bench.start().beat(desired_ttl_seconds=ttl).status == status


@pytest.mark.parametrize(("length", "status"), [(256, 200), (257, 400)])
def test_the_limit_of_a_workers_name(bench: Bench, length: int, status: int) -> None:
    bench.queue()
    assert bench.poll("w" * length).status == status


def test_a_head_takes_nothing(bench: Bench) -> None:
    bench.queue()
    assert bench.worker("HEAD", bench.url("poll")).status == 405
    assert bench.poll().body is not None


def test_metadata_is_patched(bench: Bench) -> None:
    url = bench.url(bench.queue().body["id"])
    assert bench.owner("POST", url, {"metadata": {"a": "1", "b": "2"}}).body["metadata"] == {
        "a": "1",
        "b": "2",
    }
    assert bench.owner("POST", url, {"metadata": {"a": None}}).body["metadata"] == {"b": "2"}
    assert bench.owner("POST", url, {"metadata": {str(n): "" for n in range(16)}}).status == 400


def test_items_are_listed_and_counted(bench: Bench) -> None:
    other = bench.open_session((bench.notes, "read_write"))
    first, second = bench.queue().body, bench.queue(other).body
    assert [one["id"] for one in bench.worker("GET", bench.url()).body["data"]] == [second["id"], first["id"]]
    page = bench.worker("GET", bench.url(), query={"limit": 1}).body
    assert page["has_more"]
    rest = bench.worker("GET", bench.url(), query={"limit": 1, "page": page["next_page"]}).body
    assert rest["data"] == [first]
    of_other = bench.worker("GET", bench.url(), query={"session_id": other, "state": "queued"}).body["data"]
    assert of_other == [second]
    bench.claim("one")
    stats = bench.worker("GET", bench.url("stats")).body
    assert stats == {
        "type": "work_queue_stats",
        "depth": 1,
        "pending": 1,
        "oldest_queued_at": first["created_at"],
        "workers_polling": 1,
    }


def test_a_thousand_items_of_a_session_are_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.work.WORK_PER_SESSION_MAX", 3)
    for _ in range(5):
        bench.queue()
        bench.claim().stop(caller=bench.owner)
    bench.queue()
    assert len(bench.worker("GET", bench.url()).body["data"]) == 3
