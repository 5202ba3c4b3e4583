"""Long work of the example project, in each state that a job may have: rows, as a worker would have left them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from django.utils import timezone

from memoryhub import ids
from memoryhub.models import Environment, Job, JobChunk, Project, User

COUNTS = {
    "memories": 7,
    "memory_versions": 14,
    "redacted_versions": 1,
    "content_bytes": 5_731,
    "ids_mapped": 22,
}
FILE = b"an archive" * 900


def do_long_work(
    project: Project,
    owner: User,
    known: dict[str, list[str]],
    at: Callable[[float], AbstractContextManager[None]],
) -> None:
    """`known`: the ids of the example, to which the jobs are added; the fullest first."""
    stores = known["store_id"]
    steps: list[tuple[float, dict[str, Any]]] = [
        (0.5, _export(stores[0], "done", file_bytes=len(FILE), file_name="Customer-notes.tar", steps=9, steps_done=9)),
        (0.001, _import("running", claim=ids.new_id(), steps=1_480, steps_done=611, arguments={"name": "Field notes"})),
        (0.001, _import("waiting", arguments={})),
        (1.5, _import("failed", arguments={"name": "From the old hub"}, problem="versions.ndjson: Its SHA-256 is not the one in the manifest.")),
        (2, _import("done", arguments={}, outcome={"store_id": stores[1], **COUNTS}, steps=14, steps_done=14)),
        (3, _export(stores[1], "done", file_name="Coding-agent-harbor-api.tar", file_removed="erased")),
        (11, _archiving(stores[2:5])),
        (12, _import("cancelled", arguments={"name": "Trial"})),
    ]  # fmt: skip
    environment = Environment.objects.get(project=project, name="production")
    jobs: dict[int, Job] = {}
    for index, (days, columns) in sorted(enumerate(steps), key=lambda one: -one[1][0]):  # as time went
        with at(days):
            jobs[index] = add_job(project, environment, owner, columns)
    known["job_id"] = [jobs[index].wire_id for index in range(len(jobs))]
    JobChunk.objects.create(project_id=project.id, job_id=jobs[0].id, position=0, content=FILE)


def add_job(project: Project, environment: Environment, owner: User, columns: dict[str, Any]) -> Job:
    now = timezone.now()
    times: dict[str, Any] = {"created_at": now}
    if columns["state"] != "waiting":
        times |= {"started_at": now, "heartbeat_at": now, "tries": 1}
    if columns["state"] not in ("waiting", "running"):
        times["finished_at"] = now
    return Job.objects.create(project=project, environment=environment, asked_by=owner, **times | columns)


def _export(store_id: str, state: str, **columns: Any) -> dict[str, Any]:
    outcome = {"memories": 7, "memory_versions": 14, "manifest_sha256": "5d" * 32}
    return {
        "kind": "export_store", "state": state, "arguments": {"store_id": store_id}, "outcome": outcome,
        "subject_id": ids.from_wire(ids.MEMORY_STORE, store_id),
    } | columns  # fmt: skip


def _import(state: str, **columns: Any) -> dict[str, Any]:
    return {"kind": "import_store", "state": state} | columns


def _archiving(store_ids: list[str]) -> dict[str, Any]:
    results = ("archived", "archived_before", "gone")
    rows = [{"store_id": one, "result": result} for one, result in zip(store_ids, results, strict=True)]
    return {
        "kind": "archive_stores", "state": "done", "arguments": {"store_ids": store_ids}, "outcome": {"rows": rows},
        "steps": 3, "steps_done": 3,
    }  # fmt: skip
