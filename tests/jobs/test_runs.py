"""How jobs run: claimed once, taken over from the dead, ended with a sentence, and done once however often they are begun."""

import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from memoryhub import job_kinds, job_runs, long_work, progress
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import InvalidRequest, PermissionRefused, Unavailable
from memoryhub.job_kinds import JobKind
from memoryhub.job_runs import JOB_TRIES_MAX, LOST_SECONDS
from memoryhub.models import Job, Membership
from memoryhub.progress import ClaimLost, Progress
from tests.jobs.desk import Desk, again, chunks_of
from tests.world import Tenant, make_tenant

type Run = Callable[[Job, Progress, Actor], dict[str, Any]]


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Run]]:
    """A kind of job that does what the test puts into the list."""
    runs: list[Run] = []
    made = JobKind(
        "test", "A test", "memory_stores.export", lambda *run: runs[-1](*run), lambda jobs, actor: {}, "", lambda *_: {}
    )  # fmt: skip
    monkeypatch.setitem(job_kinds._kinds, "test", made)
    yield runs


def ask(tenant: Tenant, kind: str = "test") -> Job:
    return long_work.start_job(
        kind, environment="development", arguments={}, subject_id=None, file=None, actor=tenant.actor
    )


def age(job: Job, seconds: float) -> None:
    """As if its run had said nothing for so long."""
    Job.objects.filter(id=job.id).update(heartbeat_at=ClockTimestamp() - timedelta(seconds=seconds))


def claim(job: Job) -> Job:
    claimed = job_runs._claim()
    assert claimed is not None
    assert claimed.id == job.id
    return claimed


def test_a_job_runs_as_its_person_in_its_environment(desk: Desk, kind: list[Run]) -> None:
    job, seen = ask(desk.tenant), []

    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        seen.append(actor)
        progress.expect(7)
        progress.advance(7)
        return {"found": 1}

    kind.append(run)
    done = desk.run(job)
    assert (done.state, done.outcome, done.steps_done, done.steps, done.tries) == (
        "done",
        {"found": 1},
        7,
        7,
        1,
    )
    assert done.finished_at is not None
    assert [(actor.actor_id, actor.environment_id) for actor in seen] == [
        (desk.tenant.owner.wire_id, desk.tenant.development.id)
    ]
    assert not job_runs.run_next_job()


@pytest.mark.parametrize("change", ["removed", "role", "inactive"])
def test_who_may_no_longer_do_it_does_not_do_it(
    desk: Desk, kind: list[Run], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ask(desk.tenant)
    kind.append(lambda *_: pytest.fail("it ran"))
    members = Membership.objects.filter(project=desk.tenant.project)
    if change == "removed":
        members.delete()
        said = "no longer belongs"
    elif change == "inactive":
        type(desk.tenant.owner).objects.filter(id=desk.tenant.owner.id).update(is_active=False)
        said = "no longer belongs"
    else:
        members.update(role="viewer")
        monkeypatch.setitem(
            job_kinds._kinds, "test", replace(job_kinds._kinds["test"], operation="memory_stores.import")
        )
        said = "their role is viewer now"
    failed = desk.run(job)
    assert failed.state == "failed"
    assert said in (failed.problem or "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidRequest("The archive is cut off."), "The archive is cut off."),
        (PermissionRefused("You may not."), "You may not."),
        (KeyError("secret of a bug"), "The hub failed while it ran the job; the worker's log says where."),
    ],
)
def test_a_refusal_or_a_bug_is_the_end_and_is_said(
    desk: Desk, kind: list[Run], error: Exception, said: str
) -> None:
    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        raise error

    kind.append(run)
    failed = desk.run(ask(desk.tenant))
    assert (failed.state, failed.problem, failed.claim) == ("failed", said, None)


@pytest.mark.parametrize("error", [Unavailable("The disk is full."), OperationalError("gone")])
def test_what_may_pass_is_tried_again_and_fails_at_last(
    desk: Desk, kind: list[Run], error: Exception
) -> None:
    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        raise error

    kind.append(run)
    job = ask(desk.tenant)
    for number in range(1, JOB_TRIES_MAX + 1):
        left = desk.run(job)
        assert (left.state, left.tries) == ("running", number)
        age(job, LOST_SECONDS + 1)
        job_runs.sweep()
    failed = again(job)
    assert failed.state == "failed"
    assert failed.problem and (
        "disk is full" in failed.problem or "database did not answer" in failed.problem
    )


def test_a_dead_run_is_taken_over_and_a_living_one_is_not(desk: Desk, kind: list[Run]) -> None:
    job = claim(ask(desk.tenant))
    age(job, LOST_SECONDS - 2)
    job_runs.sweep()
    assert again(job).state == "running"
    age(job, LOST_SECONDS + 1)
    job_runs.sweep()
    assert (again(job).state, again(job).claim) == ("waiting", None)
    kind.append(lambda *_: {})
    assert desk.run(job).tries == 2


def test_a_job_whose_workers_die_each_time_fails_with_a_sentence(desk: Desk, kind: list[Run]) -> None:
    job = ask(desk.tenant)
    for _ in range(JOB_TRIES_MAX):
        claim(job)
        age(job, LOST_SECONDS + 1)
        job_runs.sweep()
    assert (again(job).state, again(job).problem) == ("failed", job_runs.NEVER_ENDED)


def test_a_run_that_was_taken_for_dead_writes_nothing_more(desk: Desk, kind: list[Run]) -> None:
    job = claim(ask(desk.tenant))
    zombie = Progress(job)
    age(job, LOST_SECONDS + 1)
    job_runs.sweep()
    for write in (
        lambda: zombie.finish({"by": "the dead"}),
        lambda: zombie.note({"by": "the dead"}),
        lambda: zombie.write_chunk(0, b"x"),
    ):
        with pytest.raises(ClaimLost):
            write()
    job_runs.fail_job(job, "by the dead")
    assert (again(job).state, again(job).outcome, chunks_of(job)) == ("waiting", None, 0)


def test_the_beat_says_how_far_it_is_and_finds_out_that_the_claim_is_gone(
    desk: Desk, kind: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BEAT_SECONDS", 0.01)
    job, said = ask(desk.tenant), threading.Event()

    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        progress.expect(10)
        progress.advance(4)
        while not said.is_set():
            if again(job).steps_done == 4:
                said.set()
        assert again(job).heartbeat_at > job.started_at
        long_work.cancel_job(job.wire_id, actor=desk.tenant.actor)
        while True:
            progress.advance(0)

    kind.append(run)
    cancelled = desk.run(job)
    assert (cancelled.state, cancelled.steps_done, cancelled.steps) == ("cancelled", 4, 10)


def test_a_worker_that_ends_gives_its_job_back(
    desk: Desk, kind: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        progress_module.stopping.set()
        progress.advance()
        pytest.fail("it went on")

    progress_module = progress
    kind.append(run)
    job = ask(desk.tenant)
    try:
        given = desk.run(job)
        assert (given.state, given.tries) == ("waiting", 0)
        assert not job_runs.run_next_job(), "an ending worker takes no job"
    finally:
        progress.stopping.clear()


def test_a_run_that_takes_too_long_ends(desk: Desk, kind: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "JOB_SECONDS_MAX", -1)

    def run(job: Job, progress: Progress, actor: Actor) -> dict[str, Any]:
        progress.advance()
        pytest.fail("it went on")

    kind.append(run)
    assert "It took longer than" in (desk.run(ask(desk.tenant)).problem or "")


def test_as_many_run_as_may_and_no_more(desk: Desk, kind: list[Run], settings: Any) -> None:
    settings.JOBS_RUNNING_MAX = 2
    for _ in range(3):
        ask(desk.tenant)
    assert [job_runs._claim() is not None for _ in range(3)] == [True, True, False]


def test_projects_take_turns(desk: Desk, kind: list[Run]) -> None:
    other = make_tenant()
    kind.append(lambda *_: {})
    order = [ask(desk.tenant), ask(desk.tenant), ask(desk.tenant), ask(other)]
    for job in (order[0], order[3], order[1], order[2]):
        assert desk.run(job).state == "done"


def test_workers_that_claim_at_once_get_a_job_each(desk: Desk, kind: list[Run], settings: Any) -> None:
    settings.JOBS_RUNNING_MAX = 64
    for _ in range(6):
        ask(desk.tenant)
    found: list[uuid.UUID] = []
    barrier = threading.Barrier(8)

    def take() -> None:
        try:
            barrier.wait(10)
            job = job_runs._claim()
            if job is not None:
                found.append(job.id)
        finally:
            connection.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == len(set(found)) == 6
