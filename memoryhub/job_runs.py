"""Running long work: a worker claims the next job, runs it as the person who asked, and writes down how it ended.

Whatever happens to the worker, the row stays: a sweeper gives a job whose run no longer says that it lives to the next
worker, and after JOB_TRIES_MAX runs it has failed.
"""

import uuid
from dataclasses import replace
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import F, OuterRef, Subquery
from django.db.transaction import atomic

from memoryhub import job_files, jobs
from memoryhub.accounts import member_actor
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import PermissionRefused, Unavailable
from memoryhub.job_kinds import JobKind, find_job_kind
from memoryhub.models import Job, Membership
from memoryhub.operations import OPERATIONS, allows
from memoryhub.problems import translate
from memoryhub.progress import ClaimLost, Progress, stopping

log = structlog.get_logger("memoryhub.job_runs")

JOB_TRIES_MAX = 3
LOST_SECONDS = (
    10  # a run that said nothing for so long is taken for dead; if it is not, it has lost its claim
)
_CLAIMING = 7_310_482_655_912_447_001  # the advisory lock of those that claim
NEVER_ENDED = (
    f"It was begun {JOB_TRIES_MAX} times and did not come to its end: the worker died, or the database was away. Ask for it "
    "again; the worker's log says more."
)


def run_next_job() -> bool:
    """Run the job that is next; whether there was one. It rings again when others wait."""
    job = _claim()
    if job is None:
        return False
    log.info("job_started", job=job.wire_id, kind=job.kind, tries=job.tries)
    _run(Progress(job))
    ring_if_waiting()
    return True


def ring_if_waiting() -> None:
    if Job.objects.filter(state="waiting").exists():
        jobs.enqueue("memoryhub.run_job")


@atomic
def _claim() -> Job | None:
    """The waiting job of the project that was served longest ago; None too when as many run as may."""
    if stopping.is_set():
        return None
    with connection.cursor() as cursor:  # one at a time, so that the count below holds
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIMING])
    if Job.objects.filter(state="running").count() >= settings.JOBS_RUNNING_MAX:
        return None
    begun = Job.objects.filter(project_id=OuterRef("project_id"), started_at__isnull=False)
    served_at = Subquery(begun.order_by("-started_at").values("started_at")[:1])
    waiting = Job.objects.filter(state="waiting").annotate(served_at=served_at)
    waiting = waiting.order_by(F("served_at").asc(nulls_first=True), "id")
    job = waiting.select_for_update(skip_locked=True, of=("self",)).first()
    if job is None:
        return None
    job.state, job.claim, job.tries, job.steps_done, job.steps = (
        "running",
        uuid.uuid4(),
        job.tries + 1,
        0,
        None,
    )
    job.started_at = job.heartbeat_at = ClockTimestamp()
    job.save(update_fields=["state", "claim", "tries", "steps_done", "steps", "started_at", "heartbeat_at"])
    return job


def _run(progress: Progress) -> None:
    """Every way in which a run ends."""
    job = progress.job
    try:
        with progress.beating():
            kind, actor = _find_runner(job)
            outcome = kind.run(job, progress, actor)
            if not progress.is_finished:
                progress.finish(outcome)
        log.info("job_done", job=job.wire_id)
    except ClaimLost:
        log.info("job_left", job=job.wire_id, stopping=stopping.is_set())
        _give_back(job)
    except Exception as error:  # noqa: BLE001 - the worker's shell: a person is told, and the log says the rest
        _end_badly(job, error)


def _find_runner(job: Job) -> tuple[JobKind, Actor]:
    """The kind, and the person with the role they have now. Raises: PermissionRefused, Unavailable."""
    kind = find_job_kind(job.kind)
    if kind is None:
        raise PermissionRefused("This version of the hub does not know such jobs.")
    membership = Membership.objects.filter(
        project_id=job.project_id, user_id=job.asked_by_id, user__is_active=True
    ).first()
    if membership is None:
        raise PermissionRefused("Who asked for it no longer belongs to the project.")
    actor = replace(member_actor(membership), environment_id=job.environment_id)
    if not allows(actor.scopes, OPERATIONS[kind.operation]):
        raise PermissionRefused(
            f"Who asked for it may no longer do this: their role is {membership.role} now."
        )
    return kind, actor


def _give_back(job: Job) -> None:
    """When the worker ends, the next one need not wait until the run is taken for dead. It is no try."""
    if stopping.is_set():
        mine = Job.objects.filter(id=job.id, claim=job.claim)
        mine.update(state="waiting", claim=None, tries=F("tries") - 1, steps_done=0)


def _end_badly(job: Job, error: Exception) -> None:
    """A refusal is the end. What may pass is tried again: the row is left, and the sweeper finds it."""
    known = translate(error)
    if known is None:
        log.error("bug", job=job.wire_id, exc_info=error)
        fail_job(job, "The hub failed while it ran the job; the worker's log says where.")
    elif isinstance(known, Unavailable):
        log.warning("job_interrupted", job=job.wire_id, cause=type(error).__name__)
        _leave(job, known.message)
    else:
        log.info("job_refused", job=job.wire_id, cause=type(known).__name__)
        fail_job(job, known.message)


def _leave(job: Job, problem: str) -> None:
    try:
        Job.objects.filter(id=job.id, claim=job.claim).update(problem=problem)
    except (DatabaseError, InterfaceError):  # as it is, the row says enough
        connection.close()


@atomic
def fail_job(job: Job, problem: str) -> None:
    """A step on condition of the claim that the job was read with."""
    ended = Job.objects.filter(id=job.id, claim=job.claim).update(
        state="failed", claim=None, problem=problem, file_bytes=None, finished_at=ClockTimestamp()
    )
    if ended:
        job_files.drop_chunks([job.id])


def sweep() -> None:
    """Take jobs from runs that are dead, and ring for what waits."""
    _take_over()
    ring_if_waiting()


@atomic
def _take_over() -> None:
    dead = Job.objects.filter(
        state="running", heartbeat_at__lt=ClockTimestamp() - timedelta(seconds=LOST_SECONDS)
    )
    for job in dead.select_for_update(skip_locked=True).order_by("id"):
        log.warning("job_taken_over", job=job.wire_id, tries=job.tries)
        if job.tries >= JOB_TRIES_MAX:
            fail_job(job, job.problem or NEVER_ENDED)
        else:
            job.state, job.claim = "waiting", None
            job.save(update_fields=["state", "claim"])
