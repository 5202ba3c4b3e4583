"""A project with a store, and the long work on it, run in this process."""

import io
from dataclasses import dataclass, field

from memoryhub import job_files, job_runs
from memoryhub.models import Job, JobChunk
from stores import memory_stores, store_jobs
from tests.stores.shelf import Shelf
from tests.world import Tenant


@dataclass
class Desk:
    tenant: Tenant
    shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = self.new_shelf("Notes")

    def new_shelf(self, name: str) -> Shelf:
        store = memory_stores.create_store(
            environment="development", name=name, description="", metadata={}, actor=self.tenant.actor
        )
        return Shelf(store.wire_id, self.tenant.actor)

    def export(self) -> Job:
        return store_jobs.start_export(self.shelf.store_id, actor=self.tenant.actor)

    def import_archive(self, tar: bytes, name: str | None = None) -> Job:
        return store_jobs.start_import(
            io.BytesIO(tar), environment="production", name=name, actor=self.tenant.actor
        )

    def archive(self, *shelves: Shelf) -> Job:
        return store_jobs.start_archiving(
            [shelf.store_id for shelf in shelves], environment="development", actor=self.tenant.actor
        )

    def run(self, job: Job) -> Job:
        """Run what is next, which is this one; the job as it ended."""
        assert job_runs.run_next_job()
        return again(job)

    def exported(self) -> bytes:
        return file_of(self.run(self.export()))


def again(job: Job) -> Job:
    return Job.objects.get(id=job.id)


def file_of(job: Job) -> bytes:
    out = io.BytesIO()
    job_files.copy_file(job, out)
    return out.getvalue()


def chunks_of(job: Job) -> int:
    return JobChunk.objects.filter(job_id=job.id).count()
