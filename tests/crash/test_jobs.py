"""A worker is killed in the middle of long work: the next one brings it to its end, and nothing is there twice."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryhub.embedded import processes
from memoryhub.job_runs import LOST_SECONDS
from tests.concurrency.clients import make_memory, make_store
from tests.crash.hub import CrashHub

BEGIN_SECONDS_MAX = 60.0
END_SECONDS_MAX = LOST_SECONDS + 60.0


class Work:
    """The jobs of a hub, seen from outside, and its worker."""

    def __init__(self, hub: CrashHub) -> None:
        self.hub = hub
        self.worker = hub.worker()

    def ask(self, kind: str, argument: str) -> str:
        return str(self.hub.run_inside("ask", kind, argument)["job"])

    def row(self, job: str) -> dict[str, Any]:
        columns = ("state", "tries", "steps_done", "problem", "file_bytes", "outcome")
        [row] = self.hub.execute(f"SELECT {', '.join(columns)} FROM memoryhub_job WHERE id = %s", job)
        return dict(zip(columns, row, strict=True))

    def stores(self) -> int:
        [(count,)] = self.hub.execute("SELECT count(*) FROM stores_memorystore WHERE name = 'Imported'")
        return int(count)

    def await_state(self, job: str, state: str, seconds: float) -> dict[str, Any]:
        assert processes.wait_until(lambda: self.row(job)["state"] == state, seconds), (
            self.row(job),
            (self.hub.folder / "worker.log").read_text()[-2_000:],
        )
        return self.row(job)

    def kill_worker(self) -> None:
        pid = self.worker.pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert processes.wait_until(lambda: self.worker.pid() is None, 5)


@pytest.fixture
def work(crash_hub: CrashHub) -> Iterator[Work]:
    work = Work(crash_hub)
    try:
        yield work
    finally:
        for table in ("memoryhub_jobchunk", "stores_memory"):
            crash_hub.execute(f"DROP TRIGGER IF EXISTS slow ON {table}")
        work.worker.stop()


def slow_down(hub: CrashHub, table: str) -> None:
    """Each statement that adds rows to the table takes some seconds more than it needs."""
    hub.execute(
        "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$"
    )
    hub.execute(f"CREATE TRIGGER slow AFTER INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION slow()")


def speed_up(hub: CrashHub, table: str) -> None:
    hub.execute(f"DROP TRIGGER IF EXISTS slow ON {table}")


def archive(hub: CrashHub, folder: Path) -> tuple[str, Path, bytes]:
    call = hub.caller()
    store_id = make_store(call, "Long work")
    for number in range(3):
        make_memory(call, store_id, f"/{number}", str(number) * 50_000)
    tar = call("GET", f"/v1/memory_stores/{store_id}/export").content
    file = folder / "store.tar"
    file.write_bytes(tar)
    return store_id, file, tar


@pytest.mark.parametrize(
    ("kind", "table"), [("export_store", "memoryhub_jobchunk"), ("import_store", "stores_memory")]
)
def test_a_killed_worker_leaves_no_job_half_done(work: Work, tmp_path: Path, kind: str, table: str) -> None:
    hub = work.hub
    store_id, file, tar = archive(hub, tmp_path)
    before = work.stores()
    job = work.ask(kind, store_id if kind == "export_store" else str(file))
    slow_down(hub, table)
    work.worker.start()
    work.await_state(job, "running", BEGIN_SECONDS_MAX)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    assert processes.wait_until(lambda: hub.execute(waiting) == [(1,)], 30), "it never came to its middle"
    work.kill_worker()
    assert processes.wait_until(lambda: hub.execute(waiting) == [(0,)], 30)
    assert work.row(job)["state"] == "running"
    assert work.stores() == before
    hub.execute(
        "UPDATE memoryhub_job SET heartbeat_at = heartbeat_at - interval '1 minute' WHERE id = %s", job
    )
    speed_up(hub, table)
    work.worker.start()
    done = work.await_state(job, "done", END_SECONDS_MAX)
    assert done["tries"] == 2
    assert done["problem"] is None
    assert work.stores() == before + (kind == "import_store")
    if kind == "export_store":
        pieces = hub.execute(
            "SELECT content FROM memoryhub_jobchunk WHERE job_id = %s ORDER BY position", job
        )
        assert b"".join(bytes(content) for (content,) in pieces) == tar
    else:
        made = dict(done["outcome"])[
            "store_id"
        ]  # its versions have no audit row each, which the faults would name
        assert hub.caller()("DELETE", f"/v1/memory_stores/{made}").status == 200
    assert hub.find_faults() == []


def test_a_worker_that_is_told_to_end_gives_its_job_to_the_next(work: Work, tmp_path: Path) -> None:
    """At once: nobody has to find out that it is dead."""
    store_id, _, _ = archive(work.hub, tmp_path)
    job = work.ask("export_store", store_id)
    slow_down(work.hub, "memoryhub_jobchunk")
    work.worker.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    assert processes.wait_until(lambda: work.hub.execute(waiting) == [(1,)], BEGIN_SECONDS_MAX)
    work.worker.stop()
    assert (work.row(job)["state"], work.row(job)["tries"]) == ("waiting", 0)
    speed_up(work.hub, "memoryhub_jobchunk")
    work.worker.start()
    assert work.await_state(job, "done", END_SECONDS_MAX)["tries"] == 1
