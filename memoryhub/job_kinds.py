"""What long work there is: each room registers the kinds it has, and what runs them.

The ground floor knows no room, so a room registers its kinds at the start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memoryhub.actors import Actor
from memoryhub.models import Job
from memoryhub.progress import Progress


@dataclass(frozen=True, slots=True)
class JobKind:
    """`operation`: who may not do it neither asks for such a job nor gets its file; it is looked at again when the job runs.

    `run` may be called twice for one job and must do nothing twice; it gives the outcome, small enough for a row, or
    finishes the job itself. `name` gives each job a name by its id, in a constant number of queries. `template` shows the
    outcome with the facts that `read` gives.
    """

    kind: str
    title: str
    operation: str
    run: Callable[[Job, Progress, Actor], dict[str, Any]]
    name: Callable[[Sequence[Job], Actor], dict[UUID, str]]
    template: str
    read: Callable[[Job, Actor], dict[str, Any]]


_kinds: dict[str, JobKind] = {}


def register_job_kind(kind: JobKind) -> None:
    _kinds[kind.kind] = kind


def find_job_kind(name: str) -> JobKind | None:
    """None for one of another version of the hub."""
    return _kinds.get(name)


def name_jobs(jobs: Sequence[Job], actor: Actor) -> dict[UUID, str]:
    """What each is about, by its id, of those about something that is still there; some queries for each kind."""
    names: dict[UUID, str] = {}
    for kind in _kinds.values():
        of_kind = [job for job in jobs if job.kind == kind.kind]
        if of_kind:
            names |= kind.name(of_kind, actor)
    return names


def get_job_kind(name: str) -> JobKind:
    return _kinds[name]
