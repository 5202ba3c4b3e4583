"""The verbs of long work: ask for a job, list, get and cancel it, delete its file.

What a job changes is audited by the verbs that it calls; asking for one is not, as no read is.
"""

from datetime import timedelta
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import ids, job_files, jobs, tenancy
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import InvalidRequest, NotFound, PermissionRefused
from memoryhub.job_kinds import find_job_kind, get_job_kind
from memoryhub.models import Job
from memoryhub.operations import OPERATIONS, allows
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row

UNFINISHED = ("waiting", "running")
JOB_KEPT_DAYS = 30


def visible_jobs(actor: Actor) -> QuerySet[Job]:
    """The jobs that exist for an actor."""
    found = Job.objects.filter(project_id=actor.project_id)
    return found if actor.environment_id is None else found.filter(environment_id=actor.environment_id)


@atomic(durable=True)
def start_job(
    kind: str,
    *,
    environment: str | None,
    arguments: dict[str, Any],
    subject_id: UUID | None,
    file: IO[bytes] | None,
    actor: Actor,
) -> Job:
    """Ask for long work. One about the same thing that waits already is given instead of another.

    Raises: PermissionRefused, NotFound for a foreign environment, InvalidRequest when the project has too many or too large ones.
    """
    _require_right(kind, actor)
    environment_id = tenancy.choose_environment(environment, actor=actor)
    tenancy.lock_project(actor.project_id)
    job = Job(
        project_id=actor.project_id,
        environment_id=environment_id,
        kind=kind,
        arguments=arguments,
        subject_id=subject_id,
        asked_by_id=_person(actor),
    )
    waiting = None if subject_id is None else _find_waiting(job)
    if waiting is not None:
        return waiting
    _require_job_room(actor.project_id)
    job.save(force_insert=True)
    if file is not None:
        job.file_bytes = job_files.put_file(job, file)
        job.save(update_fields=["file_bytes"])
    job_files.require_room(actor.project_id, more_bytes=0)
    jobs.enqueue("memoryhub.run_job")
    return job


def _require_right(kind: str, actor: Actor) -> None:
    """Raises: PermissionRefused."""
    if not may(get_job_kind(kind).operation, actor):
        raise PermissionRefused("Your role in the project may not ask for this.")


def may(operation: str, actor: Actor) -> bool:
    return allows(actor.scopes, OPERATIONS[operation])


def _person(actor: Actor) -> UUID:
    """A job runs with the role that its person has then; a key has none, and does long work in a request."""
    person = ids.from_wire(ids.USER, actor.actor_id)
    assert person is not None, "people ask for jobs, in the console"
    return person


def _find_waiting(job: Job) -> Job | None:
    same = Job.objects.filter(
        project_id=job.project_id, kind=job.kind, subject_id=job.subject_id, asked_by_id=job.asked_by_id
    )
    return same.filter(state="waiting").order_by("id").first()


def _require_job_room(project_id: UUID) -> None:
    """Raises: InvalidRequest."""
    unfinished = Job.objects.filter(project_id=project_id, state__in=UNFINISHED).count()
    if unfinished >= settings.JOBS_UNFINISHED_MAX:
        raise InvalidRequest(
            f"The project has {unfinished} jobs that wait or run already; let some end, or cancel them.",
            error_code="jobs_full",
        )


def list_jobs(page: ListRequest, *, actor: Actor) -> Page[Job]:
    """Newest first, with who asked. Raises: InvalidRequest for a foreign cursor."""
    found = visible_jobs(actor).select_related("asked_by")
    return cut_newest(found, page)


def get_job(job_id: str, *, actor: Actor) -> Job:
    """With who asked. Raises: NotFound."""
    return _get(visible_jobs(actor).select_related("asked_by"), job_id)


def get_file(job_id: str, *, actor: Actor) -> Job:
    """The job whose file may be read. Raises: NotFound, also when there is none; PermissionRefused."""
    job = get_job(job_id, actor=actor)
    kind = find_job_kind(job.kind)
    if kind is None or job.file_name is None or job.file_bytes is None:
        raise NotFound("file")
    if not may(kind.operation, actor):
        raise PermissionRefused("Your role in the project may not have this file.")
    return job


def may_end(job: Job, actor: Actor) -> bool:
    """Whether the actor may cancel a job or delete its file: who asked for it, and owners."""
    return job.asked_by_id == _person(actor) or "admin" in actor.scopes


@atomic(durable=True)
def cancel_job(job_id: str, *, actor: Actor) -> Job:
    """Nothing of it is done from now on; what it has done so far stays. Raises: NotFound, PermissionRefused, InvalidRequest."""
    job = _lock(job_id, actor)
    if job.is_finished:
        raise InvalidRequest(
            "The job has ended already, so there is nothing to cancel.", error_code="job_finished"
        )
    job.state, job.claim, job.file_bytes, job.finished_at = "cancelled", None, None, ClockTimestamp()
    job.save(update_fields=["state", "claim", "file_bytes", "finished_at"])
    job_files.drop_chunks([job.id])
    return job


@atomic(durable=True)
def delete_file(job_id: str, *, actor: Actor) -> Job:
    """Again: unchanged. Raises: NotFound, PermissionRefused, InvalidRequest for an unfinished job."""
    job = _lock(job_id, actor)
    if not job.is_finished:
        raise InvalidRequest("The job still needs its file: cancel it instead.", error_code="job_unfinished")
    if job.file_bytes is not None:
        job_files.remove_file(job, "deleted")
    return job


def _lock(job_id: str, actor: Actor) -> Job:
    job = _get(visible_jobs(actor).select_for_update(of=("self",)), job_id)
    if not may_end(job, actor):
        raise PermissionRefused("Only who asked for the job, or an owner of the project, may do this.")
    return job


def _get(found: QuerySet[Job], job_id: str) -> Job:
    key = ids.from_wire(ids.JOB, job_id)
    job = find_row(found.filter(id=key)) if key is not None else None
    if job is None:
        raise NotFound("job")
    return job


@atomic(durable=True)
def clear_expired() -> int:
    """Remove files that could be downloaded long enough, and jobs that ended long ago; the number of both."""
    files = job_files.remove_expired()
    until = ClockTimestamp() - timedelta(days=JOB_KEPT_DAYS)
    rows, _ = Job.objects.filter(finished_at__lt=until, file_bytes=None).delete()
    return files + rows


def list_failed(actor: Actor, *, days: int, rows_max: int) -> list[Job]:
    """Those that failed in the last days, newest first, with who asked."""
    since = ClockTimestamp() - timedelta(days=days)
    failed = visible_jobs(actor).filter(state="failed", finished_at__gte=since)
    return list(failed.select_related("asked_by").order_by("-id")[:rows_max])
