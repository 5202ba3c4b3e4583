"""A worker that lost its lease changes nothing, whatever it does at the moment it loses it.

`MEMORYHUB_TEST_RACE_ROUNDS`: how many rounds of each race.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub import keys, session_events
from memoryhub.actors import Actor
from memoryhub.errors import AuthenticationFailed, LeaseLost, NotFound
from memoryhub.models import AuditEvent
from providers import sessions
from stores import memories, work, work_claims
from stores.models import Memory, MemoryVersion, Work
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.work.bench import Bench, Claimed, token_of
from tests.world import Tenant, make_tenant

ROUNDS = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "0")) or 5
PAUSES = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "0")) or 2
WORKER = Path(__file__).with_name("paused_worker.py")


def write(bench: Bench, actor: Actor, path: str) -> bool:
    """Whether it was accepted."""
    try:
        memories.create_memory(bench.notes.wire_id, path=path, content="x", actor=actor)
    except (LeaseLost, AuthenticationFailed):
        return False
    return True


def paths_of(bench: Bench) -> set[str | None]:
    return set(MemoryVersion.objects.filter(store=bench.notes).values_list("path", flat=True))


class Held:
    """A change that was made with the token and has not committed yet, in a thread of its own."""

    def __init__(self, bench: Bench, actor: Actor) -> None:
        self.written, self.go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=[bench, actor])
        self.thread.start()
        assert self.written.wait(30)

    def _run(self, bench: Bench, actor: Actor) -> None:
        try:
            with atomic():
                memories.create_memory.__wrapped__(
                    bench.notes.wire_id, path="/held.md", content="x", actor=actor
                )
                self.written.set()
                assert self.go_on.wait(30)
        finally:
            connection.close()

    def end(self) -> None:
        self.go_on.set()
        self.thread.join(30)


def test_a_stop_waits_for_a_change_that_is_under_way(committed: Tenant) -> None:
    bench = Bench(committed)
    claimed = bench.start()
    actor = keys.authenticate_key(claimed.token)
    held = Held(bench, actor)
    stopping = threading.Thread(
        target=lambda: (claimed.stop(caller=bench.owner, force=True), connection.close())
    )
    stopping.start()
    stopping.join(0.4)
    assert stopping.is_alive()
    held.end()
    stopping.join(30)
    assert paths_of(bench) == {"/held.md"}
    assert not write(bench, actor, "/late.md")


def test_no_poll_takes_what_a_change_is_made_for(committed: Tenant) -> None:
    """The lease runs out while a change commits: the item is given away afterwards, and not before."""
    bench = Bench(committed)
    claimed = bench.start()
    actor = keys.authenticate_key(claimed.token)
    held = Held(bench, actor)
    waiting = threading.Thread(target=lambda: (claimed.expire(), connection.close()))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive(), "the lease changed under a change that holds it"
    held.end()
    waiting.join(30)
    assert not write(bench, actor, "/late.md")
    assert bench.claim("two").row.claims_count == 2
    assert paths_of(bench) == {"/held.md"}


def test_a_change_that_waited_while_its_lease_went_changes_nothing(committed: Tenant) -> None:
    """It is authenticated, and waits for the item's row; then the item is taken from it."""
    bench = Bench(committed)
    claimed = bench.start()
    answers: list[Any] = []
    writer = threading.Thread(target=lambda: (answers.append(claimed.write("/late.md")), connection.close()))
    with atomic():
        row = Work.objects.select_for_update().get(id=claimed.row.id)
        writer.start()
        writer.join(0.5)
        assert writer.is_alive()
        work.finish(row)
    writer.join(30)
    assert answers[0].status == 412
    assert answers[0].body["error"]["type"] == "precondition_failed_error"
    assert paths_of(bench) == set()


def test_every_kind_of_change_holds_the_lease(tenant: Tenant) -> None:
    bench = Bench(tenant)
    claimed = bench.start()
    memory_id = claimed.write().body["id"]
    actor = keys.authenticate_key(claimed.token)
    claimed.expire()
    store_id, before = bench.notes.wire_id, MemoryVersion.objects.filter(store=bench.notes).count()
    changes = [
        lambda: memories.create_memory(store_id, path="/b.md", content="x", actor=actor),
        lambda: memories.update_memory(store_id, memory_id, content="y", actor=actor),
        lambda: memories.update_memory(store_id, memory_id, content="x", actor=actor),  # would change nothing
        lambda: memories.update_memory(store_id, memory_id, path="/c.md", actor=actor),
        lambda: memories.delete_memory(store_id, memory_id, actor=actor),
        lambda: session_events.add_event(bench.session_id, type_="user.tool_result", data={}, actor=actor),
    ]
    for change in changes:
        with pytest.raises(LeaseLost):
            change()
    with pytest.raises(NotFound):
        memories.create_memory(bench.other.wire_id, path="/b.md", content="x", actor=actor)
    assert MemoryVersion.objects.filter(store=bench.notes).count() == before
    assert not session_events.list_events(bench.session_id, after=0, limit=9, actor=tenant.actor)


def test_the_end_of_a_session_and_its_work_do_not_lock_each_other_out(committed: Tenant) -> None:
    for number in range(ROUNDS):
        bench = Bench(committed)
        claimed = bench.start()
        actor = keys.authenticate_key(claimed.token)

        def write_on(bench: Bench = bench, actor: Actor = actor) -> None:
            count = 0
            while write(bench, actor, f"/{count}.md"):
                count += 1

        def beat_on(claimed: Claimed = claimed) -> None:
            while claimed.beat().status == 200:
                pass

        def end(bench: Bench = bench) -> None:
            time.sleep(0.05)
            sessions.end_session(bench.session_id, actor=committed.actor)

        run_together([write_on, beat_on, end])
        row = claimed.row
        assert row.state == "stopped"
        late = MemoryVersion.objects.filter(store=bench.notes, created_at__gt=row.stopped_at)
        assert not late.exists(), f"round {number}"


def test_a_change_comes_before_the_item_is_given_away_or_not_at_all(committed: Tenant) -> None:
    for number in range(ROUNDS):
        tenant = make_tenant()  # so that no item of an earlier round waits to be taken again
        bench = Bench(tenant)
        claimed = bench.start()
        actor = keys.authenticate_key(claimed.token)
        ends = work.database_now() + timedelta(milliseconds=20 + 7 * (number % 5))
        Work.objects.filter(id=claimed.row.id).update(lease_expires_at=ends)

        def write_on(bench: Bench = bench, actor: Actor = actor) -> None:
            count = 0
            while write(bench, actor, f"/{count}.md"):
                count += 1

        def take(bench: Bench = bench, tenant: Tenant = tenant) -> None:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                claim = work_claims.poll_work(
                    bench.environment.wire_id,
                    block_ms=0,
                    reclaim_older_than_ms=60_000,
                    worker="two",
                    actor=tenant.actor,
                )
                if claim is not None:
                    return
            raise AssertionError("the item was never given away")

        run_together([write_on, take])
        taken = claimed.row.claimed_at
        late = MemoryVersion.objects.filter(store=bench.notes, work_id=claimed.row.id, created_at__gt=taken)
        assert not late.exists(), f"round {number}"


def test_two_polls_never_take_one_item(committed: Tenant) -> None:
    bench = Bench(committed)
    wanted = {bench.queue(bench.open_session()).body["id"] for _ in range(6)}
    taken: list[str] = []

    def poll() -> None:
        for _ in range(4):
            claim = work_claims.poll_work(
                bench.environment.wire_id,
                block_ms=0,
                reclaim_older_than_ms=60_000,
                worker="",
                actor=committed.actor,
            )
            if claim is not None:
                taken.append(claim.work.wire_id)

    run_together([poll, poll, poll, poll])
    assert sorted(taken) == sorted(wanted)


def test_only_one_of_two_first_heartbeats_holds(committed: Tenant) -> None:
    bench = Bench(committed)
    bench.queue()
    claimed = bench.claim()
    claimed.ack()
    statuses: list[int] = []
    run_together([lambda: statuses.append(claimed.beat("NO_HEARTBEAT").status)] * 4)
    assert sorted(statuses) == [200, 412, 412, 412]


# --- a worker of its own process, which is paused ---


@pytest.fixture
def paused_worker(live: LiveHub) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(live.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_paused_worker_writes_nothing_after_its_lease(
    live: LiveHub, live_tenant: Tenant, paused_worker: subprocess.Popen[str]
) -> None:
    """It is stopped in the midst of its writes, past its lease; another takes the item; then it goes on."""
    bench = Bench(live_tenant)
    by_key = live.caller(bench.worker.key)
    memory = memories.create_memory(bench.notes.wire_id, path="/a.md", content="", actor=live_tenant.actor)
    for number in range(PAUSES):
        pause_once(bench, by_key, paused_worker, memory, number)


def pause_once(bench: Bench, by_key: Any, worker: subprocess.Popen[str], memory: Memory, number: int) -> None:
    bench.queue()
    polled = by_key("GET", bench.url("poll"), headers={"Anthropic-Worker-ID": "paused"}).body
    item = bench.url(polled["id"])
    assert by_key("POST", f"{item}/ack").status == 200
    token = token_of(polled["secret"])
    told = {"token": token, "heartbeat": f"{item}/heartbeat", "memory": f"/v1/memory_stores/{bench.notes.wire_id}/memories/{memory.wire_id}", "round": number}  # fmt: skip
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps(told) + "\n")
    worker.stdin.flush()
    assert worker.stdout.readline() == "writing\n"
    time.sleep(0.05 + 0.01 * (number % 10))
    worker.send_signal(signal.SIGSTOP)
    try:
        taken = take_over(bench, by_key, polled["id"])
    finally:
        worker.send_signal(signal.SIGCONT)
    report = json.loads(worker.stdout.readline())
    assert report["accepted"] > 0
    assert report["refused"] in (401, 412), report
    assert report["heartbeat"] in (401, 412), report
    token_id = f"apikey_{token.split('_')[1]}"
    by_token = AuditEvent.objects.filter(
        project=bench.tenant.project, details__token_id=token_id, action="memory.updated"
    )
    assert by_token.count() in (
        report["accepted"],
        report["accepted"] + 1,
    )  # the last answer may have been lost
    assert not by_token.filter(created_at__gt=taken).exists(), f"round {number}"
    by_key("POST", f"{item}/stop", {"force": True})


def take_over(bench: Bench, by_key: Any, work_id: str) -> Any:
    """When another worker was given the item, whose lease runs out within two seconds."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        polled = by_key(
            "GET", bench.url("poll"), query={"block_ms": 500}, headers={"Anthropic-Worker-ID": "two"}
        ).body
        if polled is not None:
            assert polled["id"] == work_id
            return bench.row(work_id).claimed_at
    raise AssertionError("the item was never given away")
