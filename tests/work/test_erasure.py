"""What a tool read out of a memory stands in its session's log: an erasure finds it there. Promise E1."""

import uuid

import pytest

from memoryhub import session_events
from memoryhub.digests import sha256_hex
from tests.work.bench import Bench
from tests.world import Tenant


@pytest.mark.parametrize("by", ["contains", "content_sha256"])
def test_events_that_hold_an_erased_text_are_blanked(bench: Bench, stranger: Tenant, by: str) -> None:
    canary = f'can"ary\n{uuid.uuid4().hex}'
    claimed, beside = bench.start(), Bench(stranger)
    for one in (bench, beside):
        said = {"tool_use_id": "sevt_1", "content": [{"type": "text", "text": canary}]}
        session_events.add_event(one.session_id, type_="user.tool_result", data=said, actor=one.tenant.actor)
        other = {"text": "something else"}
        session_events.add_event(one.session_id, type_="turn.done", data=other, actor=one.tenant.actor)
        named = {"tool_use_id": canary}
        session_events.add_event(one.session_id, type_="user.tool_result", data=named, actor=one.tenant.actor)
    sought = {by: canary if by == "contains" else sha256_hex(canary), "environment": "development"}
    planned = bench.owner("POST", "/v1/redactions", sought | {"dry_run": True}).body
    assert planned["elsewhere"]["copies"] == {"session_events": 2}
    done = bench.owner("POST", "/v1/redactions", sought).body
    assert done["elsewhere"]["copies"] == {"session_events": 2}
    events = session_events.list_events(bench.session_id, after=0, limit=9, actor=bench.tenant.actor)
    assert [event.data for event in events] == [
        {"tool_use_id": "sevt_1", "erased": True},
        {"text": "something else"},
        {"erased": True},
    ]
    foreign = session_events.list_events(beside.session_id, after=0, limit=9, actor=stranger.actor)
    assert foreign[2].data == {"tool_use_id": canary}
    again = bench.owner("POST", "/v1/redactions", sought).body
    assert again["elsewhere"]["copies"] == {}
    assert claimed.row.state == "active"
