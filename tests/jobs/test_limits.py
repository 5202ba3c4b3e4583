"""What a project may have of long work, at each limit and one past it; and what is cleared in time."""

from datetime import timedelta
from typing import Any

import pytest

from memoryhub import job_files, long_work
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import InvalidRequest, NotFound, PermissionRefused
from memoryhub.long_work import JOB_KEPT_DAYS
from memoryhub.models import Job
from memoryhub.projects import owner_actor
from tests.console.site import add_person
from tests.jobs.desk import Desk, again, chunks_of
from tests.world import make_tenant


def test_as_many_jobs_wait_as_may_and_no_more(desk: Desk, settings: Any) -> None:
    settings.JOBS_UNFINISHED_MAX = 2
    first = desk.archive(desk.shelf)
    desk.archive(desk.shelf)
    with pytest.raises(InvalidRequest, match="has 2 jobs that wait or run") as refused:
        desk.archive(desk.shelf)
    assert refused.value.error_code == "jobs_full"
    assert Desk(make_tenant()).export().state == "waiting", "another project is not hindered"
    long_work.cancel_job(first.wire_id, actor=desk.tenant.actor)
    assert desk.archive(desk.shelf).state == "waiting"


def test_files_take_as_many_bytes_as_may_and_no_more(desk: Desk, settings: Any) -> None:
    tar = desk.exported()
    Job.objects.filter(project=desk.tenant.project).update(file_bytes=None)
    settings.JOB_FILE_BYTES_MAX = 2 * len(tar)
    desk.import_archive(tar)
    second = desk.import_archive(tar)
    settings.JOB_FILE_BYTES_MAX = 3 * len(tar) - 1
    with pytest.raises(InvalidRequest, match="Delete files") as refused:
        desk.import_archive(tar)
    assert refused.value.error_code == "job_files_full"
    assert Job.objects.filter(project=desk.tenant.project, finished_at=None).count() == 2
    long_work.cancel_job(second.wire_id, actor=desk.tenant.actor)
    assert desk.import_archive(tar).state == "waiting"


def test_who_asked_and_owners_end_a_job_and_nobody_else(desk: Desk) -> None:
    job = desk.run(desk.export())
    developer = owner_actor(desk.tenant.project, add_person(desk.tenant, "developer"))
    developer = type(developer)(
        developer.type, developer.actor_id, developer.project_id, None, frozenset({"host", "read"})
    )
    for end in (long_work.cancel_job, long_work.delete_file):
        with pytest.raises(PermissionRefused):
            end(job.wire_id, actor=developer)
        with pytest.raises(NotFound):
            end(job.wire_id, actor=make_tenant().actor)
    assert again(job).file_bytes


def test_a_cancelled_job_keeps_no_file_and_cannot_be_cancelled_again(desk: Desk) -> None:
    actor = desk.tenant.actor
    job = desk.import_archive(desk.exported())
    with pytest.raises(InvalidRequest, match="cancel it instead"):
        long_work.delete_file(job.wire_id, actor=actor)
    cancelled = long_work.cancel_job(job.wire_id, actor=actor)
    assert (cancelled.state, cancelled.file_bytes, chunks_of(job)) == ("cancelled", None, 0)
    with pytest.raises(InvalidRequest, match="ended already"):
        long_work.cancel_job(job.wire_id, actor=actor)


def test_a_deleted_file_is_gone_and_says_why(desk: Desk) -> None:
    job = desk.run(desk.export())
    assert long_work.get_file(job.wire_id, actor=desk.tenant.actor).id == job.id
    for _ in range(2):
        long_work.delete_file(job.wire_id, actor=desk.tenant.actor)
    assert (again(job).file_bytes, again(job).file_removed, chunks_of(job)) == (None, "deleted", 0)
    with pytest.raises(NotFound):
        long_work.get_file(job.wire_id, actor=desk.tenant.actor)


def test_files_and_jobs_are_cleared_when_their_time_has_come(desk: Desk, settings: Any) -> None:
    settings.JOB_FILE_HOURS = 24
    old, young, waiting = desk.run(desk.export()), desk.run(desk.export()), desk.export()

    def finished(job: Job, ago: timedelta) -> None:
        Job.objects.filter(id=job.id).update(finished_at=ClockTimestamp() - ago)

    finished(old, timedelta(hours=24, seconds=5))
    finished(young, timedelta(hours=24, seconds=-60))
    long_work.clear_expired()
    assert (again(old).file_removed, chunks_of(old)) == ("expired", 0)
    assert (again(young).file_removed, chunks_of(young)) == (None, 1)
    finished(old, timedelta(days=JOB_KEPT_DAYS, seconds=5))
    finished(young, timedelta(days=JOB_KEPT_DAYS, seconds=-60))
    long_work.clear_expired()
    left = set(Job.objects.filter(project=desk.tenant.project).values_list("id", flat=True))
    assert left == {young.id, waiting.id}
    assert job_files.CHUNK_BYTES == 1_048_576
