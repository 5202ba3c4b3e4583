"""The worker's side against the hub's own queue."""

import os
import signal
import subprocess
import sys
from typing import Any

from tests.live import LiveHub
from tests.mount.ground import Bench
from tests.source import ROOT
from tests.world import Tenant


def queue_session(live: LiveHub, tenant: Tenant, bench: Bench) -> dict[str, Any]:
    call = live.caller(tenant.key)
    resource = {"type": "memory_store", "memory_store_id": bench.shelf.store_id, "access": "read_write"}
    session = call("POST", "/v1/sessions", {"environment": "development", "resources": [resource]}).body
    queued = call("POST", f"/v1/sessions/{session['id']}/work")
    assert queued.status == 201, queued.body
    return dict(queued.body)


def work(live: LiveHub, tenant: Tenant, bench: Bench, script: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "MEMORYHUB_URL": live.url,
        "MEMORYHUB_KEY": tenant.new_key("worker"),
        "PYTHONPATH": str(ROOT),
    }
    words = [
        "--work",
        tenant.development.wire_id,
        "--once",
        "--root",
        str(bench.folder),
        "--",
        "sh",
        "-c",
        script,
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "stores.mount.command", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_item_is_taken_worked_on_and_stopped(live: LiveHub, live_tenant: Tenant, bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.shelf.put("/b", "b")
    item = queue_session(live, live_tenant, bench)
    process = work(live, live_tenant, bench, f"cd {bench.root}; cat a; echo new > c; rm b; mv a moved")
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "a"), said
    assert bench.memories() == {"/moved": "a", "/c": "new\n"}
    versions = bench.shelf.versions()[:3]
    assert {version.created_by_type for version in versions} == {"session_actor"}
    call = live.caller(live_tenant.key)
    shown = call("GET", f"/v1/environments/{live_tenant.development.wire_id}/work/{item['id']}").body
    assert shown["state"] == "stopped"


def test_an_item_that_is_stopped_ends_the_command_and_its_work_is_saved(
    live: LiveHub, live_tenant: Tenant, bench: Bench
) -> None:
    item = queue_session(live, live_tenant, bench)
    process = work(live, live_tenant, bench, f"cd {bench.root}; echo x > a; echo ready; sleep 300")
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    call = live.caller(live_tenant.key)
    call("POST", f"/v1/environments/{live_tenant.development.wire_id}/work/{item['id']}/stop", {})
    _, said = process.communicate(timeout=90)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert bench.memories() == {"/a": "x\n"}
    assert not bench.root.exists()


def test_a_paused_worker_whose_item_was_taken_away_saves_nothing(
    live: LiveHub, live_tenant: Tenant, bench: Bench
) -> None:
    item = queue_session(live, live_tenant, bench)
    process = work(live, live_tenant, bench, f"cd {bench.root}; echo x > a; echo ready; sleep 300")
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGSTOP)
    call = live.caller(live_tenant.key)
    path = f"/v1/environments/{live_tenant.development.wire_id}/work/{item['id']}/stop"
    assert call("POST", path, {"force": True}).status == 200
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert bench.memories() == {}
    assert "kept_aside" in said and bench.kept() == ["x\n"]
