"""Text that is erased leaves the files of exports in the same transaction, and no export that runs keeps it."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub import job_files, job_runs
from memoryhub.erasure import Sought
from memoryhub.errors import NotFound
from memoryhub.models import Job, JobChunk
from memoryhub.pagination import ListRequest
from stores import exports, memory_stores, memory_versions, redactions
from stores.models import MemoryVersion
from tests.jobs.desk import Desk, again, chunks_of, file_of

CANARY = "canary-of-a-leaked-secret"


def leak(desk: Desk) -> MemoryVersion:
    """A former version with the text, of a memory that is clean now."""
    memory = desk.shelf.put("/a.md", CANARY)
    version = desk.shelf.versions()[0]
    desk.shelf.update(memory, content="clean")
    return version


def redact(desk: Desk, version: MemoryVersion) -> None:
    memory_versions.redact_version(desk.shelf.store_id, version.wire_id, reason=None, actor=desk.tenant.actor)


def redact_by_text(desk: Desk, version: MemoryVersion) -> None:
    redactions.redact_text(
        ListRequest("test", {}, 20, None),
        sought=Sought(contains=CANARY),
        environment="development",
        store_id=None,
        heads="delete",
        dry_run=False,
        reason=None,
        shown=None,
        actor=desk.tenant.actor,
    )


def delete_store(desk: Desk, version: MemoryVersion) -> None:
    memory_stores.delete_store(desk.shelf.store_id, actor=desk.tenant.actor)


def canaries(desk: Desk) -> int:
    """Pieces of files that hold the text, of the whole project."""
    pieces = JobChunk.objects.filter(project=desk.tenant.project).values_list("content", flat=True)
    return sum(CANARY.encode() in bytes(piece) for piece in pieces)


@pytest.mark.parametrize("erase", [redact, redact_by_text, delete_store])
def test_what_erases_removes_the_file(desk: Desk, erase: Callable[[Desk, MemoryVersion], None]) -> None:
    version = leak(desk)
    done = desk.run(desk.export())
    other = desk.new_shelf("Other")
    desk.shelf, kept_of = other, desk.shelf
    kept = desk.run(desk.export())
    desk.shelf = kept_of
    assert CANARY.encode() in file_of(done)
    erase(desk, version)
    assert (again(done).file_bytes, again(done).file_removed, chunks_of(done)) == (None, "erased", 0)
    assert canaries(desk) == 0
    assert again(kept).file_bytes == len(file_of(kept)), "the file of another store went too"
    with pytest.raises(NotFound):
        file_of(done)


def test_an_erasure_that_is_rolled_back_keeps_the_file(desk: Desk) -> None:
    leak(desk)
    done = desk.run(desk.export())
    with pytest.raises(RuntimeError), atomic():
        job_files.forget_files_of(desk.shelf.store.id)
        assert again(done).file_bytes is None
        raise RuntimeError
    assert CANARY.encode() in file_of(again(done))


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("where", ["read", "written", "half written"])
def test_an_export_that_has_read_the_text_begins_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The redaction comes in another thread, at each point at which the run holds the text already."""
    version = leak(desk)
    for number in range(25):
        desk.shelf.put(f"/{number}", str(number % 10) * 100_000 + str(number))
    job, runs = desk.export(), []
    original, write_chunk = exports.export_store, job_runs.Progress.write_chunk

    def redact_now() -> None:
        if len(runs) == 1:
            thread = in_thread(lambda: redact(desk, version))
            thread.join(20)
            assert not thread.is_alive()

    def export_store(*args: object, **named: object) -> object:
        runs.append(where)
        written = original(*args, **named)  # type: ignore[arg-type]
        if where == "read":
            redact_now()
        return written

    def write_and_redact(self: job_runs.Progress, position: int, content: bytes) -> None:
        write_chunk(self, position, content)
        if (where, position) in (("half written", 0), ("written", 2)):
            redact_now()

    monkeypatch.setattr(exports, "export_store", export_store)
    monkeypatch.setattr(job_runs.Progress, "write_chunk", write_and_redact)
    assert desk.run(job).state == "waiting"
    assert (chunks_of(job), canaries(desk), again(job).tries) == (0, 0, 0)
    done = desk.run(job)
    assert (done.state, len(runs)) == ("done", 2)
    assert CANARY.encode() not in file_of(done)


def test_an_export_waits_for_an_erasure_that_did_not_see_it(desk: Desk) -> None:
    """The erasure has looked for files before the job was there, and commits after its run began."""
    version = leak(desk)
    erased, go_on = threading.Event(), threading.Event()

    def redact_slowly() -> None:
        with atomic():
            store = memory_stores.share_store(desk.shelf.store_id, desk.tenant.actor)
            memory_versions.erase_version(store, version.id, reason=None, actor=desk.tenant.actor)
            erased.set()
            assert go_on.wait(20)

    thread = in_thread(redact_slowly)
    assert erased.wait(20)
    job = desk.export()
    running = in_thread(job_runs.run_next_job)
    running.join(0.4)
    assert (running.is_alive(), again(job).state) == (True, "running"), "it did not wait"
    go_on.set()
    for one in (thread, running):
        one.join(20)
    done = again(job)
    assert done.state == "done"
    assert CANARY.encode() not in file_of(done)
    assert canaries(desk) == 0


def test_exports_and_erasures_at_random_leave_no_text(desk: Desk) -> None:
    """Whatever the order, a file that is kept holds only what was never erased."""
    versions = [leak_numbered(desk, number) for number in range(12)]

    def erase_all() -> None:
        for version in versions:
            redact(desk, version)

    def export_all() -> None:
        for _ in range(6):
            desk.export()
            job_runs.run_next_job()

    threads = [in_thread(erase_all), in_thread(export_all)]
    for thread in threads:
        thread.join(60)
    while job_runs.run_next_job():
        pass
    assert not Job.objects.filter(project=desk.tenant.project, finished_at=None).exists()
    assert canaries(desk) == 0


def leak_numbered(desk: Desk, number: int) -> MemoryVersion:
    memory = desk.shelf.put(f"/{number}.md", f"{CANARY} {number}")
    version = desk.shelf.versions()[0]
    desk.shelf.update(memory, content="clean")
    return version
