"""The pages of long work: the jobs of an environment, how far each is, what came of it, and its file."""

from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub import job_files, long_work
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.job_kinds import find_job_kind, name_jobs
from memoryhub.models import Job
from memoryhub.pages import PageRequest, go_to, list_request, page
from memoryhub.rooms import Need
from memoryhub.spools import disk_room, file_answer, filled_spool

FAILED_DAYS = 7
FAILED_SHOWN_MAX = 5


@page("jobs.list")
@require_safe
def jobs(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = long_work.list_jobs(list_request(request, "console.jobs", {}), actor=actor)
    return render(
        request,
        "memoryhub/jobs.html",
        {"jobs": list_rows(shown.rows, actor), "next_page": shown.next_page},
    )


def list_rows(shown: list[Job], actor: Actor) -> list[dict[str, Any]]:
    """`[{"job", "title", "name"}]`; `name` None for what is gone."""
    names = name_jobs(shown, actor)
    return [{"job": job, "title": _title(job), "name": names.get(job.id)} for job in shown]


def _title(job: Job) -> str:
    kind = find_job_kind(job.kind)
    return job.kind if kind is None else kind.title


@page("jobs.get")
@require_safe
def job(request: PageRequest, job_id: str, *, actor: Actor) -> HttpResponse:
    shown = long_work.get_job(job_id, actor=actor)
    kind = find_job_kind(shown.kind)
    return render(
        request,
        "memoryhub/job.html",
        {
            **list_rows([shown], actor)[0],
            "outcome_template": kind and kind.template,
            "facts": kind and kind.read(shown, actor),
            "may_end": long_work.may_end(shown, actor),
            "may_have_file": kind is not None and long_work.may(kind.operation, actor),
        },
    )


@page("jobs.get")
@require_safe
def progress(request: PageRequest, job_id: str, *, actor: Actor) -> HttpResponse:
    """How far it is, for the page to ask again and again; once it has ended, the page is to load itself anew."""
    shown = long_work.get_job(job_id, actor=actor)
    if "HX-Request" not in request.headers:  # somebody opened it by itself
        return go_to(request, "job", job_id=job_id)
    answer = render(request, "memoryhub/job_progress.html", {"job": shown})
    if shown.is_finished:
        answer["HX-Refresh"] = "true"
    return answer


@page("jobs.get")
@require_safe
def job_file(request: PageRequest, job_id: str, *, actor: Actor) -> FileResponse:
    found = long_work.get_file(job_id, actor=actor)
    with filled_spool() as spool, disk_room():
        job_files.copy_file(found, spool)
    return file_answer(spool, content_type="application/x-tar", file_name=found.file_name or found.wire_id)


@page("jobs.cancel")
@require_POST
def cancel_job(request: PageRequest, job_id: str, *, actor: Actor) -> HttpResponse:
    try:
        long_work.cancel_job(job_id, actor=actor)
    except InvalidRequest as error:
        messages.warning(request, error.message)
    else:
        messages.success(request, "The job is cancelled. What it had done before stays.")
    return go_to(request, "job", job_id=job_id)


@page("jobs.delete_file")
@require_POST
def delete_file(request: PageRequest, job_id: str, *, actor: Actor) -> HttpResponse:
    long_work.delete_file(job_id, actor=actor)
    messages.success(request, "The file is deleted.")
    return go_to(request, "job", job_id=job_id)


def read_needs(actor: Actor) -> list[Need]:
    """The newest jobs that failed, for somebody to look at."""
    failed = long_work.list_failed(actor, days=FAILED_DAYS, rows_max=FAILED_SHOWN_MAX)
    return [_need(row) for row in list_rows(failed, actor)]


def _need(row: dict[str, Any]) -> Need:
    about = f" ({row['name']})" if row["name"] else ""
    return Need(f"{row['title']}{about} has failed.", "job", {"job_id": row["job"].wire_id})
