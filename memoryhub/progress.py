"""How far a job is, said while it runs, and whether the run still holds its job.

A run holds its job by a claim. Whoever takes the claim away (a cancel, an erasure, a sweeper that took the run for dead) ends
the run: all that it writes is on condition of the claim, so that nothing is done twice and nothing comes after the end.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import job_files
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import InvalidRequest
from memoryhub.models import Job

log = structlog.get_logger("memoryhub.progress")

BEAT_SECONDS = 1.0
JOB_SECONDS_MAX = 3_600

stopping = threading.Event()  # the worker ends: runs give their jobs back


class ClaimLost(Exception):
    """The run no longer holds its job, or has to give it back. Nothing went wrong."""


class Progress:
    """What a running job reports to. `steps` None: how many there are is not known."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.steps_done = 0
        self.steps: int | None = None
        self.is_finished = False
        self._deadline = time.monotonic() + JOB_SECONDS_MAX
        self._lost = threading.Event()
        self._ended = threading.Event()

    def expect(self, steps: int | None) -> None:
        """So many steps are ahead, none of them done."""
        self.steps_done, self.steps = 0, steps
        self.require()

    def advance(self, count: int = 1) -> None:
        """Raises: ClaimLost, InvalidRequest; so a run ends between two steps."""
        self.steps_done += count
        self.require()

    def require(self) -> None:
        """Raises: ClaimLost; InvalidRequest for a run that takes too long."""
        if self._lost.is_set() or stopping.is_set():
            raise ClaimLost
        if time.monotonic() > self._deadline:
            raise InvalidRequest(
                f"It took longer than {JOB_SECONDS_MAX // 60} minutes, the most a job may take."
            )

    def note(self, outcome: dict[str, Any]) -> None:
        """Keep what there is so far, for who looks at the job and for the next run. Raises: ClaimLost."""
        if not self._mine().update(outcome=outcome, steps_done=self.steps_done, steps=self.steps):
            raise ClaimLost

    def write_chunk(self, position: int, content: bytes) -> None:
        """A piece of the job's file, committed at once. Raises: ClaimLost."""
        with atomic():
            # Held, so that an erasure waits for this piece and removes it, or takes the claim first.
            if not list(self._mine().select_for_update().values_list("id")):
                raise ClaimLost
            job_files.add_chunk(self.job, position, content)

    def finish(
        self, outcome: dict[str, Any], *, file_name: str | None = None, file_bytes: int | None = None
    ) -> None:
        """The job is done, in the caller's transaction if there is one: both or neither. Raises: ClaimLost.

        A file that is not named goes.
        """
        with atomic():
            ended = self._mine().update(
                state="done",
                claim=None,
                outcome=outcome,
                problem=None,
                steps_done=self.steps or self.steps_done,
                steps=self.steps or self.steps_done,
                arguments=_ids_only(self.job.arguments),
                finished_at=ClockTimestamp(),
                file_name=file_name,
                file_bytes=file_bytes,
            )
            if not ended:
                raise ClaimLost
            if file_bytes is None:
                job_files.drop_chunks([self.job.id])
        self.is_finished = True

    def _mine(self) -> QuerySet[Job]:
        return Job.objects.filter(id=self.job.id, claim=self.job.claim)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Inside, a thread with a connection of its own says that the run lives and how far it is."""
        thread = threading.Thread(target=self._beat, name=f"beat {self.job.wire_id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS) and time.monotonic() < self._deadline:
            try:
                self._say()
            except (DatabaseError, InterfaceError) as error:  # the next beat tries again
                log.warning("beat_failed", job=self.job.wire_id, cause=type(error).__name__)
            finally:
                connection.close()

    def _say(self) -> None:
        said = self._mine().update(
            heartbeat_at=ClockTimestamp(), steps_done=self.steps_done, steps=self.steps
        )
        if not said:
            self._lost.set()


def _ids_only(arguments: dict[str, Any]) -> dict[str, Any]:
    """What else a job was told stands in what it made, and would outlive it here."""
    return {name: value for name, value in arguments.items() if name.endswith(("_id", "_ids"))}
