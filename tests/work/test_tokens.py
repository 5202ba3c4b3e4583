"""What the token of a work item reaches, and who is said to have written with it."""

from typing import Any

import pytest

from memoryhub import session_events, sessions
from memoryhub.models import AuditEvent
from stores import memory_stores
from tests.answers import Answer
from tests.work.bench import Bench, Claimed

MANAGED = {"anthropic-beta": "managed-agents-2026-04-01"}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "user.tool_result", "tool_use_id": "sevt_1", "is_error": False, "content": []} | more


def send(claimed: Claimed, *events: dict[str, Any]) -> Answer:
    return claimed.agent("POST", f"/v1/sessions/{claimed.bench.session_id}/events", {"events": list(events)})


def test_it_reaches_its_session_its_stores_and_its_item_alone(bench: Bench) -> None:
    claimed = bench.start()
    other_session = bench.open_session((bench.other, "read_write"))
    other_item = bench.queue(other_session).body["id"]
    notes, rules, other = (
        f"/v1/memory_stores/{one.wire_id}" for one in (bench.notes, bench.rules, bench.other)
    )
    memory = claimed.write().body
    own = f"/v1/sessions/{bench.session_id}"
    wanted: dict[tuple[str, str], int] = {
        ("GET", own): 200,
        ("GET", f"{own}/events"): 200,
        ("GET", f"/v1/sessions/{other_session}"): 404,
        ("GET", f"/v1/sessions/{other_session}/events"): 404,
        ("GET", "/v1/sessions"): 403,
        ("POST", f"{own}/end"): 403,
        ("POST", f"{own}/tokens"): 403,
        ("POST", f"{own}/work"): 403,
        ("GET", notes): 200,
        ("GET", f"{notes}/changes"): 200,
        ("GET", f"{notes}/memories"): 200,
        ("GET", f"{notes}/memories/{memory['id']}"): 200,
        ("GET", f"{notes}/memory_versions"): 403,
        ("GET", f"{notes}/memory_versions/{memory['memory_version_id']}"): 403,
        ("POST", f"{notes}/archive"): 403,
        ("DELETE", notes): 403,
        ("GET", f"{notes}/snapshot"): 403,
        ("GET", f"{rules}/memories"): 200,
        ("POST", f"{rules}/memories"): 403,
        ("GET", other): 404,
        ("GET", "/v1/memory_stores"): 403,
        ("GET", claimed.url()): 403,
        ("POST", claimed.url("ack")): 403,
        ("GET", bench.url("poll")): 403,
        ("GET", bench.url(other_item)): 404,
        ("POST", bench.url(other_item, "heartbeat")): 404,
        ("POST", bench.url(other_item, "stop")): 404,
        ("POST", claimed.url("heartbeat")): 200,
    }
    bodies = {("POST", f"{rules}/memories"): {"path": "/a.md", "content": ""}}
    seen = {
        (method, path): claimed.agent(method, path, bodies.get((method, path))).status
        for method, path in wanted
    }
    assert seen == wanted


def test_a_workers_key_reads_no_memory_and_no_session(bench: Bench) -> None:
    for path in (
        f"/v1/memory_stores/{bench.notes.wire_id}/memories",
        f"/v1/sessions/{bench.session_id}",
        "/v1/memory_stores",
    ):
        assert bench.worker("GET", path).status == 403, path


def test_a_version_and_the_trail_say_which_work_and_which_token_wrote(bench: Bench) -> None:
    claimed = bench.start()
    memory = claimed.write().body
    url = f"/v1/memory_stores/{bench.notes.wire_id}/memory_versions/{memory['memory_version_id']}"
    author = {"type": "session_actor", "session_id": bench.session_id, "work_id": claimed.work_id}
    assert bench.owner("GET", url).body["created_by"] == author
    event = AuditEvent.objects.get(subject_id=memory["id"])
    assert (event.actor_type, event.actor_id) == ("session_actor", bench.session_id)
    assert event.details == {
        "memory_version_id": memory["memory_version_id"],
        "token_id": f"apikey_{claimed.token.split('_')[1]}",
        "work_id": claimed.work_id,
    }
    taken = AuditEvent.objects.get(subject_id=claimed.work_id, action="work.claimed")
    assert taken.details == {"token_id": event.details["token_id"], "claim": 1, "from_another": False}
    assert taken.actor_type == "api_actor"


def test_a_session_token_is_named_in_the_trail_too(bench: Bench) -> None:
    issued = bench.owner("POST", f"/v1/sessions/{bench.session_id}/tokens", {}).body
    claimed = Claimed(bench, "", issued["token"])
    memory = claimed.write().body
    assert AuditEvent.objects.get(subject_id=memory["id"]).details["token_id"] == issued["id"]


def test_tokens_of_work_are_not_those_of_the_session(bench: Bench) -> None:
    claimed = bench.start()
    tokens = f"/v1/sessions/{bench.session_id}/tokens"
    assert bench.owner("GET", tokens).body["data"] == []
    token_id = f"apikey_{claimed.token.split('_')[1]}"
    assert token_id not in [key["id"] for key in bench.owner("GET", "/v1/api_keys").body["data"]]
    assert bench.owner("POST", f"{tokens}/{token_id}/revoke").status == 404
    assert bench.owner("POST", f"/v1/api_keys/{token_id}/revoke").status == 404


def test_a_frozen_store_refuses_it_and_an_archived_one_too(bench: Bench) -> None:
    claimed = bench.start()
    memory_stores.freeze_store(bench.notes.wire_id, actor=bench.tenant.actor)
    assert claimed.write().status == 403
    memory_stores.unfreeze_store(bench.notes.wire_id, actor=bench.tenant.actor)
    memory_stores.archive_store(bench.notes.wire_id, actor=bench.tenant.actor)
    assert claimed.write().status == 400


# --- events ---


def test_a_worker_sends_what_tools_answered_and_nothing_else(bench: Bench) -> None:
    claimed = bench.start()
    sent = send(
        claimed, result(), {"type": "user.custom_tool_result", "custom_tool_use_id": "sevt_2", "content": []}
    )
    assert sent.status == 201
    assert [event["type"] for event in sent.body["data"]] == ["user.tool_result", "user.custom_tool_result"]
    refused = send(claimed, result(), {"type": "user.message", "content": []})
    assert (refused.status, refused.body["error"]["details"]["error_code"]) == (403, "tool_results_only")
    assert len(bench.owner("GET", f"/v1/sessions/{bench.session_id}/events").body["data"]) == 2


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 413)])
def test_a_tools_answer_has_a_limit(bench: Bench, extra: int, status: int) -> None:
    empty = len('{"content":[],"is_error":false,"text":"","tool_use_id":"sevt_1"}')
    text = "x" * (session_events.TOOL_RESULT_BYTES_MAX - empty + extra)
    assert send(bench.start(), result(text=text)).status == status


@pytest.mark.parametrize(("count", "status"), [(0, 400), (100, 201), (101, 400)])
def test_so_many_events_are_sent_at_once(bench: Bench, count: int, status: int) -> None:
    assert send(bench.start(), *[result()] * count).status == status


@pytest.mark.parametrize(
    "body",
    [
        {}, {"events": [{}]}, {"events": [{"type": 1}]}, {"events": [{"type": "Not.This"}]}, {"events": ["user.tool_result"]},
        {"type": "user.message", "events": [{"type": "user.message"}]}, {"events": [{"type": "a"}], "data": {}},
        {"events": [{"type": "a" * 65}]},
    ],
)  # fmt: skip
def test_events_of_no_form_are_refused(bench: Bench, body: dict[str, Any]) -> None:
    assert bench.owner("POST", f"/v1/sessions/{bench.session_id}/events", body).status == 400
    assert sessions.get_session(bench.session_id, actor=bench.tenant.actor).events_count == 0


def test_events_have_two_forms(bench: Bench) -> None:
    url = f"/v1/sessions/{bench.session_id}/events"
    bench.owner("POST", url, {"events": [{"type": "user.message", "id": "mine", "content": "Hello"}]})
    bench.owner("POST", url, {"type": "turn.done", "data": {"number": 1}})
    bench.owner("POST", f"/v1/sessions/{bench.session_id}/end")
    ours = bench.owner("GET", url).body["data"]
    assert [(one["event_type"], one["data"]) for one in ours[:2]] == [
        ("user.message", {"id": "mine", "content": "Hello"}), ("turn.done", {"number": 1}),
    ]  # fmt: skip
    page = bench.owner("GET", url, headers=MANAGED, query={"limit": 2}).body
    assert page["data"][0] == {
        "content": "Hello",
        "id": ours[0]["id"],
        "type": "user.message",
        "processed_at": ours[0]["created_at"],
    }
    rest = bench.owner("GET", url, headers=MANAGED, query={"limit": 1_000, "page": page["next_page"]}).body
    assert [one["type"] for one in rest["data"]] == ["session.status_terminated"]
    last = bench.owner("GET", url, headers=MANAGED, query={"order": "desc"}).body["data"]
    assert [one["type"] for one in last] == ["session.status_terminated", "turn.done", "user.message"]
    assert bench.owner("GET", url, query={"limit": 101}).status == 400
    assert bench.owner("GET", url, headers=MANAGED, query={"limit": 1_001}).status == 400
    for query in ({"page": page["next_page"]}, {"order": "desc"}):
        assert bench.owner("GET", url, query=query).status == 400


def test_a_session_has_the_words_of_managed_agents_too(bench: Bench) -> None:
    url = f"/v1/sessions/{bench.session_id}"
    shown = bench.owner("GET", url).body
    assert shown["status"] == "running"
    assert shown["agent"] == {"type": "agent", "id": None, "skills": [], "tools": []}
    bench.owner("POST", f"{url}/end")
    assert bench.owner("GET", url).body["status"] == "terminated"


def test_a_stream_begins_with_what_happens_from_now_on(bench: Bench) -> None:
    """Of a session that has ended, with its end."""
    url = f"/v1/sessions/{bench.session_id}"
    bench.owner("POST", f"{url}/events", {"type": "turn.done"})
    bench.owner("POST", f"{url}/end")
    streamed = bench.owner("GET", f"{url}/events/stream", headers=MANAGED).content.decode()
    assert "session.status_terminated" in streamed and "turn.done" not in streamed
    assert "turn.done" in bench.owner("GET", f"{url}/events/stream").content.decode()
