"""The real hub of the tests: several processes, the same answers as in this process."""

from tests.live import LiveHub
from tests.world import Tenant


def test_two_processes_serve_what_this_process_commits(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    made = call("POST", "/v1/memory_stores", {"name": "Notes"})
    assert made.status == 200, made.body
    seen = call("GET", "/v1/memory_stores", query={"limit": 1})
    assert [store["id"] for store in seen.body["data"]] == [made.body["id"]]
    assert len(live.worker_pids()) == 2
    assert sum(live.connections_by_worker().values()) == 1


def test_an_unknown_key_is_refused_over_http_too(live: LiveHub) -> None:
    assert live.caller("mh_unknown")("GET", "/v1/memory_stores").error_type == "authentication_error"
