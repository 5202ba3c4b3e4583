"""The page of operations: each thing that is wrong is said with what to do, and nothing of another project is shown."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.test import Client

from memoryhub import audit, quotas, workers
from memoryhub.columns import ClockTimestamp
from memoryhub.models import AuditEvent, Job, Sweep, Usage, Worker
from tests.console.site import Site, sign_in
from tests.source import ROOT
from tests.world import Tenant

ALL_WELL = "Everything answers, and nothing is late."


@pytest.fixture
def well(tenant: Tenant) -> Tenant:
    """A hub as a worker keeps it."""
    workers.note_alive("celery@here", is_start=True)
    workers.note_sweep("clear_expired")
    quotas.count_usage()
    audit.seal_all()
    return tenant


def shown(site: Site) -> str:
    answer = site.get("/operations")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_hub_that_is_well_says_so_and_shows_what_runs(well: Tenant, owner: Site) -> None:
    page = shown(owner)
    assert ALL_WELL in page
    assert "celery@here" in page
    assert "every change is sealed" in page
    assert "<dt>Queue</dt><dd>Valkey " in page
    for app in ("memoryhub", "stores", "providers"):
        newest = max(file.stem for file in (ROOT / app / "migrations").glob("0*.py"))
        assert newest in page, app


def test_calls_of_services_that_wait_are_counted(well: Tenant, owner: Site, settings: Any) -> None:
    """Other tests may add some meanwhile; nothing here takes one."""

    def count() -> int:
        return int(shown(owner).partition("<dt>Calls of services waiting</dt><dd>")[2].partition("<")[0])

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        before, name = count(), f"message {well.project.wire_id}"
        client.lpush("providers", name)
        assert count() > before
        client.lrem("providers", 1, name)


def ago(**span: float) -> Any:
    return ClockTimestamp() - timedelta(**span)


def add_job(tenant: Tenant, **columns: Any) -> None:
    Job.objects.create(
        project=tenant.project, environment=tenant.development, kind="import_store", arguments={},
        asked_by=tenant.owner, **columns,
    )  # fmt: skip


def unseal(tenant: Tenant, seconds: float) -> None:
    audit.seal_all()
    AuditEvent.objects.create(
        project=tenant.project, action="project.updated", actor_type="user_actor", actor_id="user_1",
        subject_id="proj_1", details={}, created_at=ago(seconds=seconds),
    )  # fmt: skip


WRONG: dict[str, tuple[Callable[[Tenant], object], str]] = {
    "no worker": (lambda tenant: Worker.objects.update(seen_at=ago(seconds=21)), "No worker runs"),
    "seals": (lambda tenant: unseal(tenant, 61), "behind with its seals"),
    "count": (lambda tenant: Usage.objects.update(counted_at=ago(minutes=11)), "was not counted"),
    "clearing": (lambda tenant: Sweep.objects.update(ran_at=ago(hours=4)), "was not cleared"),
    "job": (lambda tenant: add_job(tenant, created_at=ago(minutes=11)), "A job has waited for long"),
    "full": (lambda tenant: Usage.objects.update(memory_versions=9_000_000), "Nearly full: versions."),
}
RIGHT: dict[str, Callable[[Tenant], object]] = {
    "worker": lambda tenant: Worker.objects.update(seen_at=ago(seconds=15)),
    "seals": lambda tenant: unseal(tenant, 30),
    "count": lambda tenant: Usage.objects.update(counted_at=ago(minutes=9)),
    "clearing": lambda tenant: Sweep.objects.update(ran_at=ago(hours=2)),
    "job": lambda tenant: add_job(tenant, created_at=ago(minutes=9)),
    "full": lambda tenant: Usage.objects.update(memory_versions=8_999_999),
}


@pytest.mark.parametrize(("break_it", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_what_to_do(
    well: Tenant, owner: Site, break_it: Callable[[Tenant], object], said: str
) -> None:
    break_it(well)
    page = shown(owner)
    assert said in page
    assert page.count('class="notice warning"') == 1
    assert ALL_WELL not in page


@pytest.mark.parametrize("change", RIGHT.values(), ids=RIGHT)
def test_what_is_nearly_late_is_not(well: Tenant, owner: Site, change: Callable[[Tenant], object]) -> None:
    change(well)
    assert ALL_WELL in shown(owner)


def test_without_the_queue_the_page_still_stands(well: Tenant, owner: Site, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    page = shown(owner)
    assert "The queue does not answer: see that Redis runs" in page


def test_nothing_of_another_project_is_counted(well: Tenant, owner: Site, stranger: Tenant) -> None:
    audit.seal_all()
    before = shown(owner)
    add_job(stranger, created_at=ago(minutes=30))
    unseal(stranger, 600)
    AuditEvent.objects.filter(project=stranger.project, chain_index=None)
    Usage.objects.filter(project=stranger.project).update(memory_versions=9_999_999)
    after = shown(owner)
    assert ALL_WELL in before and ALL_WELL in after
    assert "<dt>Jobs waiting</dt><dd>0</dd>" in after
    assert stranger.project.name not in after


def test_only_owners_see_it(well: Tenant, viewer: Site, owner: Site) -> None:
    assert viewer.get("/operations").status_code == 403
    assert "/operations" not in viewer.get("/stores").content.decode()
    assert "/operations" in owner.get("/stores").content.decode()


def test_the_metrics_give_the_same_without_a_tenant(well: Tenant) -> None:
    add_job(well)
    text = Client().get("/metrics").content.decode()
    assert 'memoryhub_jobs{state="waiting"} 1.0' in text
    assert "memoryhub_workers_alive 1.0" in text
    assert "memoryhub_audit_unsealed_seconds 0.0" in text
    assert well.project.name not in text
    assert sign_in(well.owner, well.project).base not in text
