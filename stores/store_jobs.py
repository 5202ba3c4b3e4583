"""The long work of stores: export and import of one, archiving of many. Each may run twice and does nothing twice.

An export overwrites its file, an import is committed together with the end of its job, and an archived store stays one.
"""

from collections.abc import Sequence
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from memoryhub import ids, job_files, long_work
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.file_names import portable
from memoryhub.job_kinds import JobKind
from memoryhub.models import Job
from memoryhub.progress import Progress
from memoryhub.spools import disk_room, open_spool
from stores import exports, imports, memory_stores, zips
from stores.archive_reader import Archive
from stores.exports import StoreExport
from stores.imports import StoreImport
from stores.memory_stores import get_store, visible_stores
from stores.models import MemoryStore

EXPORT, ZIP, IMPORT, ARCHIVE = "export_store", "zip_store", "import_store", "archive_stores"
ARCHIVED_AT_ONCE_MAX = 100


def start_export(store_id: str, *, actor: Actor) -> Job:
    """The archive with the whole history. Raises: NotFound, InvalidRequest."""
    return _start(EXPORT, store_id, actor)


def start_zip(store_id: str, *, actor: Actor) -> Job:
    """The current files. Raises: NotFound, InvalidRequest."""
    return _start(ZIP, store_id, actor)


def _start(kind: str, store_id: str, actor: Actor) -> Job:
    store = get_store(store_id, actor=actor)
    return long_work.start_job(
        kind,
        environment=ids.to_wire(ids.ENVIRONMENT, store.environment_id),
        arguments={"store_id": store.wire_id},
        subject_id=store.id,
        file=None,
        actor=actor,
    )


def run_export(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
    store = get_store(job.arguments["store_id"], actor=actor)
    job_files.drop_chunks([job.id])  # of a run before
    exports.settle_erasures(store)
    with open_spool() as spool:
        written = exports.export_store(
            store.wire_id, spool, bytes_max=settings.ARCHIVE_BYTES_MAX, progress=progress, actor=actor
        )
        _keep(spool, progress)
    outcome = _export_outcome(written)
    name = f"{portable(store.name, otherwise=store.wire_id)}.tar"
    progress.finish(outcome, file_name=name, file_bytes=written.size_bytes)
    return outcome


def run_zip(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
    store = get_store(job.arguments["store_id"], actor=actor)
    job_files.drop_chunks([job.id])  # of a run before
    exports.settle_erasures(store)
    with open_spool() as spool:
        written = zips.zip_files(
            store.wire_id, spool, bytes_max=settings.ARCHIVE_BYTES_MAX, progress=progress, actor=actor
        )
        _keep(spool, progress)
    outcome = {"memories": written.memories}
    name = f"{portable(store.name, otherwise=store.wire_id)}.zip"
    progress.finish(outcome, file_name=name, file_bytes=written.size_bytes)
    return outcome


def _keep(spool: IO[bytes], progress: Progress) -> None:
    spool.seek(0)
    for position, piece in enumerate(job_files.read_pieces(spool)):
        progress.write_chunk(position, piece)
        progress.require()


def _export_outcome(written: StoreExport) -> dict[str, Any]:
    return {
        "memories": written.memories,
        "memory_versions": written.versions,
        "manifest_sha256": written.manifest_sha256,
    }


def start_import(tar: IO[bytes], *, environment: str | None, name: str | None, actor: Actor) -> Job:
    """`tar` can seek. What is wrong with its members or its manifest is said at once, the rest when the job runs.

    Raises: InvalidRequest, NotFound.
    """
    Archive(tar)
    tar.seek(0)
    return long_work.start_job(
        IMPORT,
        environment=environment,
        arguments={} if name is None else {"name": name},
        subject_id=None,
        file=tar,
        actor=actor,
    )


def run_import(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
    """The store and the end of the job are one transaction: a second run has no job to run."""

    def finish(imported: StoreImport) -> None:
        progress.finish({"store_id": imported.store.wire_id, **imported.counts()})

    with open_spool() as tar:
        with disk_room():
            job_files.copy_file(job, tar)
        tar.seek(0)
        imports.import_store(
            tar,
            environment=ids.to_wire(ids.ENVIRONMENT, job.environment_id),
            name=job.arguments.get("name"),
            progress=progress,
            also=finish,
            actor=actor,
        )
    return {}


def find_stores(store_ids: Sequence[str], *, actor: Actor) -> list[MemoryStore]:
    """Each once, in the order named. Raises: NotFound when one is not there, InvalidRequest for none or too many."""
    wanted = list(dict.fromkeys(store_ids))
    if not wanted:
        raise InvalidRequest("store_id: Choose at least one store.")
    if len(wanted) > ARCHIVED_AT_ONCE_MAX:
        raise InvalidRequest(
            f"store_id: At most {ARCHIVED_AT_ONCE_MAX} stores at once; {len(wanted)} are chosen."
        )
    keys = [ids.from_wire(ids.MEMORY_STORE, store_id) for store_id in wanted]
    found = visible_stores(actor).in_bulk([key for key in keys if key is not None])
    if len(found) != len(wanted):
        raise NotFound("memory store")
    return [found[key] for key in keys if key is not None]


def start_archiving(store_ids: Sequence[str], *, environment: str | None, actor: Actor) -> Job:
    """Raises: NotFound, InvalidRequest."""
    stores = find_stores(store_ids, actor=actor)
    return long_work.start_job(
        ARCHIVE,
        environment=environment,
        arguments={"store_ids": [store.wire_id for store in stores]},
        subject_id=None,
        file=None,
        actor=actor,
    )


def run_archiving(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
    """`{"rows": [{"store_id", "result"}]}`; what a run before has done is not done again."""
    store_ids: list[str] = job.arguments["store_ids"]
    rows: list[dict[str, str]] = list((job.outcome or {}).get("rows", []))
    progress.expect(len(store_ids))
    progress.advance(len(rows))
    for store_id in store_ids[len(rows) :]:
        rows.append({"store_id": store_id, "result": _archive(store_id, job, actor)})
        progress.note({"rows": rows})
        progress.advance()
    return {"rows": rows}


def _archive(store_id: str, job: Job, actor: Actor) -> str:
    """What became of it, in a word."""
    try:
        store = memory_stores.archive_store(store_id, actor=actor)
    except NotFound:
        return "gone"
    assert store.archived_at is not None, "it is archived now"
    return "archived" if store.archived_at >= job.created_at else "archived_before"


# What people read of them.


def _name_exports(jobs: Sequence[Job], actor: Actor) -> dict[UUID, str]:
    return _name_by_store({job.id: job.arguments["store_id"] for job in jobs}, actor)


def _name_imports(jobs: Sequence[Job], actor: Actor) -> dict[UUID, str]:
    """The store that was made, else the name it is to get."""
    wanted = {job.id: job.arguments["name"] for job in jobs if "name" in job.arguments}
    made = {job.id: job.outcome["store_id"] for job in jobs if job.outcome}
    return wanted | _name_by_store(made, actor)


def _name_archivings(jobs: Sequence[Job], actor: Actor) -> dict[UUID, str]:
    return {job.id: f"{len(job.arguments['store_ids'])} stores" for job in jobs}


def _name_by_store(store_ids: dict[UUID, str], actor: Actor) -> dict[UUID, str]:
    """Of those that are still there."""
    names = {store.wire_id: store.name for store in _stores_named(list(store_ids.values()), actor)}
    return {job_id: names[store_id] for job_id, store_id in store_ids.items() if store_id in names}


def _stores_named(store_ids: Sequence[str], actor: Actor) -> list[MemoryStore]:
    keys = [ids.from_wire(ids.MEMORY_STORE, store_id) for store_id in store_ids]
    return list(visible_stores(actor).filter(id__in=[key for key in keys if key is not None]))


def _read_export(job: Job, actor: Actor) -> dict[str, Any]:
    return {"store": next(iter(_stores_named([job.arguments["store_id"]], actor)), None)}


def _read_import(job: Job, actor: Actor) -> dict[str, Any]:
    made = [job.outcome["store_id"]] if job.outcome else []
    return {"store": next(iter(_stores_named(made, actor)), None)}


def _read_archiving(job: Job, actor: Actor) -> dict[str, Any]:
    """`{"rows": [{"store_id", "store", "result"}]}`, `store` None for one that is gone, `result` None for one not reached."""
    store_ids: list[str] = job.arguments["store_ids"]
    results = {row["store_id"]: row["result"] for row in (job.outcome or {}).get("rows", [])}
    stores = {store.wire_id: store for store in _stores_named(store_ids, actor)}
    return {
        "rows": [
            {"store_id": store_id, "store": stores.get(store_id), "result": results.get(store_id)}
            for store_id in store_ids
        ]
    }


JOB_KINDS = (
    JobKind(
        EXPORT,
        "Export of a store",
        "memory_stores.export",
        run_export,
        _name_exports,
        "stores/job_export.html",
        _read_export,
    ),
    JobKind(
        ZIP,
        "ZIP of files",
        "memory_stores.export",
        run_zip,
        _name_exports,
        "stores/job_zip.html",
        _read_export,
    ),
    JobKind(
        IMPORT,
        "Import of a store",
        "memory_stores.import",
        run_import,
        _name_imports,
        "stores/job_import.html",
        _read_import,
    ),
    JobKind(
        ARCHIVE,
        "Archiving of stores",
        "memory_stores.archive",
        run_archiving,
        _name_archivings,
        "stores/job_archiving.html",
        _read_archiving,
    ),
)
