"""The life of one work item, against a queue over a real socket. Source: stores contract, section 9.1."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memoryhub.client.transport import Transport
from stores.mount.downloads import MountError
from stores.mount.leases import Lease
from stores.mount.queues import Beat, WorkQueue, read_token
from stores.mount.work_items import Task, WorkEnd, WorkOptions, run_work_item
from tests.live import LiveHub
from tests.mount.fake_queue import FakeQueue, serving
from tests.mount.ground import Bench
from tests.world import Tenant


@pytest.fixture
def queue(bench: Bench, live: LiveHub, live_tenant: Tenant) -> Iterator[FakeQueue]:
    resource = {
        "type": "memory_store",
        "memory_store_id": bench.shelf.store_id,
        "access": "read_write",
        "name": "Notes",
        "mount_path": str(bench.root),
    }
    session = {"id": "sesn_1", "state": "live", "resources": [resource]}
    with serving(FakeQueue(live.port, live_tenant.key, session)) as server:
        yield server


def take(queue: FakeQueue, run: Any, bench: Bench) -> WorkEnd:
    with Transport(queue.url, "worker-key", timeout_seconds=5) as transport:
        work = WorkQueue(transport, "env_1", worker_id="test")
        item = work.poll()
        assert item is not None
        work.acknowledge(item.id)
        return run_work_item(work, item, run, WorkOptions(queue.url, listener=bench.events.append))


def test_an_item_is_lived_through_in_order(queue: FakeQueue, bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.shelf.put("/b", "b")

    def run(task: Task) -> bool:
        assert bench.files() == {"/a": "a", "/b": "b"}
        bench.write("a", "edited")
        (bench.root / "b").unlink()
        queue.note("tools end")
        return True

    end = take(queue, run, bench)
    assert end.lease_lost is None and end.ending is not None and end.ending.is_saved
    assert bench.memories() == {"/a": "edited"}
    assert not bench.root.exists()
    order = [call for call in queue.calls if call != "session"]
    assert order[:2] in (["ack", "heartbeat"], ["ack", "download"])
    assert order[2:] == [
        *{"download", "heartbeat"} - set(order[1:2]),
        "tools end",
        "upload",
        "upload",
        "stop",
    ]
    assert queue.calls.count("session") == 1


def test_the_lease_is_kept_until_the_folders_are_gone(queue: FakeQueue, bench: Bench) -> None:
    """The upload at the end takes longer than the lease: heartbeats go on meanwhile."""
    queue.slow_upload_seconds = 2.5

    def run(task: Task) -> bool:
        bench.write("a", "x")
        return True

    assert take(queue, run, bench).ending is not None
    assert len(queue.beats) >= 3
    assert bench.memories() == {"/a": "x"}


def test_an_error_flushes_sends_no_deletion_and_stops_the_item(queue: FakeQueue, bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.shelf.put("/b", "b")

    def run(task: Task) -> bool:
        bench.write("a", "edited")
        (bench.root / "b").unlink()
        raise KeyError("the run broke")

    with pytest.raises(KeyError):
        take(queue, run, bench)
    assert bench.memories() == {"/a": "edited", "/b": "b"}
    assert not bench.root.exists() and queue.calls[-1] == "stop"


@pytest.mark.parametrize("how", ["lost", "stopping"])
def test_an_end_from_outside_ends_the_run(queue: FakeQueue, bench: Bench, how: str) -> None:
    queue.ttl_seconds = 1

    def run(task: Task) -> bool:
        bench.write("a", "x")
        if how == "lost":
            queue.beat_status = 412
        else:
            queue.state = "stopping"
        assert task.over.wait(10)
        return False

    end = take(queue, run, bench)
    assert (end.lease_lost is not None) == (how == "lost")
    assert ("stop" in queue.calls) == (how != "lost")
    assert not bench.root.exists()


def test_without_a_token_nothing_is_run(queue: FakeQueue, bench: Bench) -> None:
    queue.secret = None
    with pytest.raises(MountError, match="without a token"):
        take(queue, lambda task: pytest.fail("was run"), bench)
    assert queue.calls[-1] == "stop" and "session" not in queue.calls


def test_a_session_that_is_over_is_not_run(queue: FakeQueue, bench: Bench) -> None:
    queue.session["state"] = "ended"
    assert take(queue, lambda task: pytest.fail("was run"), bench).ending is None
    assert queue.calls[-1] == "stop"


def test_a_place_that_is_taken_fails_the_item(queue: FakeQueue, bench: Bench) -> None:
    bench.write("left", "by a dead run")
    with pytest.raises(MountError, match="exists already"):
        take(queue, lambda task: pytest.fail("was run"), bench)
    assert bench.memories() == {} and bench.files() == {"/left": "by a dead run"}


def test_an_empty_queue_is_none(queue: FakeQueue) -> None:
    queue.waiting = 0
    with Transport(queue.url, "worker-key", timeout_seconds=5) as transport:
        assert WorkQueue(transport, "env_1", worker_id="test").poll() is None


@pytest.mark.parametrize(
    ("secret", "token"),
    [
        ("eyJzZXNzaW9uc190b2tlbiI6ICJhIn0=", "a"),
        ("eyJzZXNzaW9uc190b2tlbiI6ICJhIn0", "a"),
        (None, None),
        ("", None),
        ("!!", None),
        ("W10=", None),
        ("e30=", None),
    ],
)
def test_the_token_is_read_from_the_secret(secret: str | None, token: str | None) -> None:
    assert read_token(secret) == token


def test_a_lease_outlives_faults_for_its_time_and_no_longer() -> None:
    from memoryhub.client.errors import ConnectionFailed

    answers = [Beat("1", True, "active", 1)]

    def beat(expected: str) -> Beat:
        if answers:
            return answers.pop()
        raise ConnectionFailed("no answer")

    began = time.monotonic()
    with Lease(beat) as lease:
        assert lease.over.wait(10)
    assert lease.is_lost and time.monotonic() - began > 1
