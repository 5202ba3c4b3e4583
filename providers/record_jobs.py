"""The import of records as long work: asked for with a file, and carried on where a stop left it.

Each record is saved by itself under its source's key, so a second run saves what is not there yet.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any
from uuid import UUID

from memoryhub import ids, job_files, long_work
from memoryhub.actors import Actor, RecordScope
from memoryhub.errors import InvalidRequest
from memoryhub.job_kinds import JobKind
from memoryhub.models import Job
from memoryhub.progress import Progress
from memoryhub.source_files import OneFile, Source, ZipSource, is_zip
from memoryhub.spools import disk_room, open_spool
from providers.contract import scope_of
from providers.limits import IMPORT_RECORDS_MAX
from providers.record_access import NAMES_OF_SCOPE, WantedScope, require_scope
from providers.record_imports import ImportOrder, RecordImport, import_records
from providers.record_models import RecordScope as ScopeRow
from providers.record_sources.items import Wishes

IMPORT = "import_records"
REFUSALS_KEPT_MAX = 100  # of the job's row; the counts say how many more there are


def start_import(
    source: IO[bytes],
    *,
    environment: str | None,
    of: RecordScope,
    format: str,
    user: str | None,
    dry_run: bool,
    actor: Actor,
) -> Job:
    """What is wrong with the file is said when the job runs. Raises: InvalidRequest, NotFound, PermissionRefused."""
    require_scope(WantedScope(environment, of), actor=actor)
    if not source.read(1):
        raise InvalidRequest("The file is empty.")
    source.seek(0)
    return long_work.start_job(
        IMPORT,
        environment=environment,
        arguments={**asdict(of), "format": format, "user": user, "dry_run": dry_run},
        subject_id=None,
        file=source,
        actor=actor,
    )


def run_import(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
    """The counts, the first refusals, and the scope once there is one."""
    asked = job.arguments
    wanted = WantedScope(
        ids.to_wire(ids.ENVIRONMENT, job.environment_id),
        RecordScope(*(asked[name] for name in NAMES_OF_SCOPE)),
    )
    order = ImportOrder(
        asked["format"], Wishes(asked["user"]), dry_run=asked["dry_run"], records_max=IMPORT_RECORDS_MAX
    )
    with open_spool() as file:
        with disk_room():
            job_files.copy_file(job, file)
        source: Source = ZipSource(file) if is_zip(file) else OneFile("file", file)
        done = import_records(wanted, source, order, progress=progress, actor=actor)
    return _outcome_of(done) | {"scope_id": _find_scope(job)}


def _outcome_of(done: RecordImport) -> dict[str, Any]:
    outcome = asdict(done)
    return outcome | {"refusals": outcome["refusals"][:REFUSALS_KEPT_MAX]}


def _find_scope(job: Job) -> str | None:
    named = {"agent": job.arguments["agent"]}
    named["scope"] = scope_of(job.arguments["issuer"], job.arguments["subject"])
    held = ScopeRow.objects.filter(environment_id=job.environment_id, **named).first()
    return None if held is None else held.wire_id


def _scopes_of(jobs: Sequence[Job], actor: Actor) -> dict[str, ScopeRow]:
    """By wire id, those that are still there."""
    wanted = [(job.outcome or {}).get("scope_id") for job in jobs]
    keys = [ids.from_wire(ids.RECORD_SCOPE, one) for one in wanted if one is not None]
    rows = ScopeRow.objects.filter(project_id=actor.project_id, id__in=[key for key in keys if key])
    return {row.wire_id: row for row in rows}


def _name_imports(jobs: Sequence[Job], actor: Actor) -> dict[UUID, str]:
    """Whose records they are to be, or are."""
    rows = _scopes_of(jobs, actor)
    names = {}
    for job in jobs:
        row = rows.get((job.outcome or {}).get("scope_id") or "")
        if row is not None:
            names[job.id] = f"{row.agent} for {row.subject}"
        elif "agent" in job.arguments:
            names[job.id] = f"{job.arguments['agent']} for {job.arguments['subject']}"
    return names


def _read_import(job: Job, actor: Actor) -> dict[str, Any]:
    return {"scope": next(iter(_scopes_of([job], actor).values()), None)}


JOB_KINDS = (
    JobKind(
        IMPORT,
        "Import of records",
        "records.import",
        run_import,
        _name_imports,
        "providers/job_import_records.html",
        _read_import,
    ),
)
