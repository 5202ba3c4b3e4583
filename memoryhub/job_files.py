"""The files of jobs, in pieces in the database: written while a job is asked for or runs, read for a download, and removed.

The text of an export is text of its store: what erases there removes the file in the same transaction.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import IO
from uuid import UUID

from django.conf import settings
from django.db.models import F, Sum

from memoryhub import jobs
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.models import Job, JobChunk

CHUNK_BYTES = 1_048_576


def read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """From where it stands to its end."""
    while piece := file.read(CHUNK_BYTES):
        yield piece


def add_chunk(job: Job, position: int, content: bytes) -> None:
    """A step."""
    JobChunk.objects.create(project_id=job.project_id, job_id=job.id, position=position, content=content)


def put_file(job: Job, file: IO[bytes]) -> int:
    """A step: the whole of a file as the job's; its bytes."""
    size = 0
    for position, piece in enumerate(read_pieces(file)):
        add_chunk(job, position, piece)
        size += len(piece)
    return size


def copy_file(job: Job, out: IO[bytes]) -> None:
    """Write the job's file to `out`, a piece at a time. Raises: NotFound when it goes meanwhile."""
    size = 0
    while size < (job.file_bytes or 0):
        pieces = JobChunk.objects.filter(job_id=job.id, position=size // CHUNK_BYTES)
        content = pieces.values_list("content", flat=True).first()
        if content is None:
            raise NotFound("file")
        size += out.write(content)


def drop_chunks(job_ids: Iterable[UUID]) -> None:
    """A step."""
    JobChunk.objects.filter(job_id__in=list(job_ids)).delete()


def remove_file(job: Job, reason: str) -> None:
    """A step: the job is locked. `reason`: why there is no file, in a word."""
    Job.objects.filter(id=job.id).update(file_bytes=None, file_removed=reason)
    drop_chunks([job.id])


def forget_files_of(subject_id: UUID) -> None:
    """A step of every erasure: the files that hold text of this thing go, and those being made are begun again.

    The caller holds what a run waits for before it reads; see `exports.settle_erasures`. A run ends either before the first
    statement, and its file is found by the second, or not at all, since it has lost its claim.
    """
    of_subject = Job.objects.filter(subject_id=subject_id)
    begun = of_subject.filter(state="running").update(
        state="waiting", claim=None, tries=F("tries") - 1, steps_done=0
    )
    kept = of_subject.filter(file_bytes__isnull=False).update(file_bytes=None, file_removed="erased")
    if begun or kept:
        JobChunk.objects.filter(job__subject_id=subject_id).delete()
    if begun:
        jobs.enqueue("memoryhub.run_job")


def remove_expired() -> int:
    """A step: the files of exports that could be downloaded long enough; their number."""
    until = ClockTimestamp() - timedelta(hours=settings.JOB_FILE_HOURS)
    old = Job.objects.filter(file_bytes__isnull=False, finished_at__lt=until)
    removed = list(old.select_for_update(skip_locked=True).values_list("id", flat=True))
    Job.objects.filter(id__in=removed).update(file_bytes=None, file_removed="expired")
    drop_chunks(removed)
    return len(removed)


def require_room(project_id: UUID, *, more_bytes: int) -> None:
    """A step; the project is locked. Raises: InvalidRequest when its jobs' files and this much more pass the quota."""
    held = Job.objects.filter(project_id=project_id).aggregate(bytes=Sum("file_bytes"))["bytes"] or 0
    if held + more_bytes > settings.JOB_FILE_BYTES_MAX:
        raise InvalidRequest(
            f"The files of the project's exports and imports hold {held} bytes; its quota is {settings.JOB_FILE_BYTES_MAX}. "
            "Delete files that are no longer needed on the pages of their jobs.",
            error_code="job_files_full",
        )
