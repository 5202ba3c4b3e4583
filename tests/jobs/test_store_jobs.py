"""Export, import and archiving as jobs: what they leave behind, once or twice begun."""

from typing import Any

import pytest
from django.db import connection

from memoryhub import job_runs, long_work
from memoryhub.audit import AuditAction
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.models import AuditEvent, JobChunk
from memoryhub.progress import ClaimLost, Progress
from stores import store_jobs
from stores.models import MemoryStore, MemoryVersion
from stores.store_jobs import ARCHIVED_AT_ONCE_MAX
from tests.archives.written import export
from tests.jobs.desk import Desk, again, chunks_of, file_of
from tests.world import make_tenant, unused_id


def production_stores(desk: Desk) -> list[MemoryStore]:
    return list(MemoryStore.objects.filter(environment=desk.tenant.production))


def test_an_export_is_the_archive_that_the_api_gives(desk: Desk) -> None:
    memory = desk.shelf.put("/a.md", "one")
    desk.shelf.update(memory, content="two" * 20_000)
    done = desk.run(desk.export())
    assert (done.state, done.file_name) == ("done", "Notes.tar")
    assert file_of(done) == export(desk.tenant.call(), desk.shelf.store_id)
    assert (done.outcome["memories"], done.outcome["memory_versions"]) == (1, 2)
    assert done.file_bytes == len(file_of(done))


def test_a_large_export_is_kept_in_pieces(desk: Desk) -> None:
    for number in range(30):
        desk.shelf.put(f"/{number}.md", str(number % 10) * 100_000 + str(number))
    done = desk.run(desk.export())
    assert chunks_of(done) == 3
    assert file_of(done) == export(desk.tenant.call(), desk.shelf.store_id)


def test_a_second_run_overwrites_the_file(desk: Desk) -> None:
    desk.shelf.put("/a.md", "one")
    job = desk.export()
    first = job_runs._claim()
    assert first is not None
    Progress(first).write_chunk(0, b"half of a file")
    type(job).objects.filter(id=job.id).update(state="waiting", claim=None)
    done = desk.run(job)
    assert file_of(done) == export(desk.tenant.call(), desk.shelf.store_id)
    assert chunks_of(done) == 1


def test_an_export_that_waits_is_not_asked_for_twice(desk: Desk) -> None:
    first = desk.export()
    assert desk.export().id == first.id
    desk.run(first)
    assert desk.export().id != first.id


def test_an_import_makes_the_store_and_its_file_goes(desk: Desk) -> None:
    desk.shelf.put("/a.md", "one")
    job = desk.import_archive(desk.exported(), "Notes of Müller")
    assert chunks_of(job) == 1
    done = desk.run(job)
    [store] = production_stores(desk)
    assert (store.name, done.outcome["store_id"]) == ("Notes of Müller", store.wire_id)
    assert (done.outcome["memories"], done.outcome["memory_versions"]) == (1, 1)
    assert (done.file_bytes, chunks_of(done), done.arguments) == (None, 0, {})
    audited = AuditEvent.objects.get(project=desk.tenant.project, action=AuditAction.MEMORY_STORE_IMPORTED)
    assert audited.actor_id == desk.tenant.owner.wire_id


def test_an_import_whose_run_was_taken_for_dead_makes_no_store(desk: Desk) -> None:
    job = desk.import_archive(desk.exported())
    claimed = job_runs._claim()
    assert claimed is not None
    type(job).objects.filter(id=job.id).update(state="waiting", claim=None)
    with pytest.raises(ClaimLost):
        store_jobs.run_import(claimed, Progress(claimed), desk.tenant.actor)
    assert production_stores(desk) == []
    assert desk.run(job).state == "done"
    assert len(production_stores(desk)) == 1


def test_an_archive_that_is_wrong_inside_fails_with_its_sentence_and_its_file_goes(desk: Desk) -> None:
    desk.shelf.put("/a.md", "one of a kind")
    tar = desk.exported().replace(b"one of a kind", b"two of a kind")
    failed = desk.run(desk.import_archive(tar))
    assert failed.state == "failed"
    assert "has another SHA-256" in (failed.problem or "")
    assert (failed.file_bytes, chunks_of(failed), production_stores(desk)) == (None, 0, [])


@pytest.mark.parametrize(
    ("tar", "said"),
    [(b"", "cut off"), (b"\x1f\x8b" + bytes(600), "compressed"), (b"no tar" * 200, "no tar header")],
)
def test_a_wrong_file_is_refused_at_once(desk: Desk, tar: bytes, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        desk.import_archive(tar)
    assert JobChunk.objects.filter(project=desk.tenant.project).count() == 0


def test_many_stores_are_archived_with_a_result_for_each(desk: Desk) -> None:
    shelves = [desk.new_shelf(f"Store {number}") for number in range(4)]
    shelves[1].archive()
    job = desk.archive(*shelves)
    MemoryStore.objects.filter(id=shelves[2].store.id).delete()
    done = desk.run(job)
    assert [row["result"] for row in done.outcome["rows"]] == [
        "archived",
        "archived_before",
        "gone",
        "archived",
    ]
    assert [row["store_id"] for row in done.outcome["rows"]] == [shelf.store_id for shelf in shelves]


def test_archiving_goes_on_where_a_dead_run_ended(desk: Desk) -> None:
    shelves = [desk.new_shelf(f"Store {number}") for number in range(3)]
    job = desk.archive(*shelves)
    claimed = job_runs._claim()
    assert claimed is not None
    first = {"store_id": shelves[0].store_id, "result": "archived"}
    shelves[0].archive()
    Progress(claimed).note({"rows": [first]})
    shelves[1].archive()  # and the worker died before it said so
    type(job).objects.filter(id=job.id).update(state="waiting", claim=None)
    done = desk.run(job)
    assert [row["result"] for row in done.outcome["rows"]] == ["archived"] * 3
    archived = AuditEvent.objects.filter(
        project=desk.tenant.project, action=AuditAction.MEMORY_STORE_ARCHIVED
    )
    assert archived.count() == 3


def test_a_hundred_stores_may_be_archived_at_once_and_no_more(desk: Desk) -> None:
    actor = desk.tenant.actor
    ids_of = [desk.shelf.store_id] * 2 + [unused_id("memstore")] * 2
    with pytest.raises(NotFound):
        store_jobs.find_stores(ids_of, actor=actor)
    assert len(store_jobs.find_stores(ids_of[:2], actor=actor)) == 1
    with pytest.raises(InvalidRequest, match="at least one"):
        store_jobs.find_stores([], actor=actor)
    MemoryStore.objects.bulk_create(
        MemoryStore(
            project=desk.tenant.project, environment=desk.tenant.development, name=str(n), description="", metadata={}
        )
        for n in range(ARCHIVED_AT_ONCE_MAX)
    )  # fmt: skip
    all_of_them = [store.wire_id for store in MemoryStore.objects.filter(project=desk.tenant.project)]
    assert len(all_of_them) == ARCHIVED_AT_ONCE_MAX + 1
    job = store_jobs.start_archiving(all_of_them[1:], environment="development", actor=actor)
    assert len(job.arguments["store_ids"]) == ARCHIVED_AT_ONCE_MAX
    with pytest.raises(InvalidRequest, match="At most 100 stores at once; 101 are chosen"):
        store_jobs.start_archiving(all_of_them, environment="development", actor=actor)


def test_the_stores_of_another_project_are_not_there(desk: Desk) -> None:
    foreign = Desk(make_tenant()).shelf
    for ask in (
        lambda: store_jobs.start_export(foreign.store_id, actor=desk.tenant.actor),
        lambda: desk.archive(desk.shelf, foreign),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_store_that_is_too_large_to_download_says_what_else_to_do(desk: Desk, settings: Any) -> None:
    settings.ARCHIVE_BYTES_MAX = 20_000
    desk.shelf.put("/a.md", "x" * 20_000)
    failed = desk.run(desk.export())
    assert "./hub export_store" in (failed.problem or "")


def test_ids_are_kept_where_they_are_free(desk: Desk) -> None:
    desk.shelf.put("/a.md", "one")
    tar, store_id = desk.exported(), desk.shelf.store_id
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM stores_memorystore WHERE id = %s", [desk.shelf.store.id])
    done = desk.run(desk.import_archive(tar))
    assert done.outcome["store_id"] == store_id
    assert MemoryVersion.objects.filter(store__environment=desk.tenant.production).count() == 1
    assert long_work.get_job(done.wire_id, actor=desk.tenant.actor).id == again(done).id
