"""A person whose role was lowered, or who was removed: nothing of theirs commits after the answer that says so."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.db.transaction import atomic
from django.test.utils import CaptureQueriesContext

from memoryhub import accounts, audit, members
from memoryhub.accounts import member_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import HubError, NotFound, PermissionRefused
from memoryhub.models import AuditEvent, Membership
from stores import memory_stores
from stores.models import MemoryStore
from tests.browsers import Browser
from tests.concurrency.clients import run_together
from tests.concurrency.holding import Asked, held
from tests.console.site import add_person
from tests.live import LiveHub
from tests.stores.shelf import Shelf
from tests.world import Tenant

WAIT_SECONDS = 0.3


def join(tenant: Tenant, role: str = "developer") -> Membership:
    return Membership.objects.select_related("user").get(user=add_person(tenant, role))


def lower(tenant: Tenant, member: Membership) -> None:
    members.change_role(member.wire_id, role="viewer", actor=tenant.actor)


def remove(tenant: Tenant, member: Membership) -> None:
    members.remove_member(member.wire_id, actor=tenant.actor)


type End = Callable[[Tenant, Membership], None]
ENDS: list[tuple[End, int]] = [(lower, 403), (remove, 404)]


@pytest.mark.parametrize(("end", "status"), ENDS, ids=["lowered", "removed"])
def test_a_change_under_way_does_not_commit_after_its_person_may_not(
    live: LiveHub, live_tenant: Tenant, end: End, status: int
) -> None:
    member = join(live_tenant)
    browser = Browser(live.port)
    browser.sign_in_by_link(accounts.create_sign_in_link(member.user_id))
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=live_tenant.actor
    )
    shelf = Shelf(store.wire_id, live_tenant.actor)
    memory = shelf.put()
    page = f"/p/{live_tenant.project.wire_id}/development/stores/{store.wire_id}"
    with held(memory.wire_id):
        late = Asked(lambda: browser.post(f"{page}/archive"))
        assert late.wait(WAIT_SECONDS) is None, "it did not wait inside its transaction"
        in_a_thread(lambda: end(live_tenant, member))
    answer = late.wait(10)
    assert answer is not None
    assert answer.status == status, answer.content
    assert MemoryStore.objects.get(id=store.id).archived_at is None


@pytest.mark.parametrize("end", [lower, remove])
def test_the_answer_waits_for_what_the_person_has_under_way(committed: Tenant, end: End) -> None:
    """The other way: what was written before the answer is committed before it."""
    member, order = join(committed), []
    noted, ended = threading.Event(), threading.Event()

    def change() -> None:
        with atomic():
            audit.record(
                AuditAction.PROJECT_UPDATED,
                committed.project.wire_id,
                environment_id=None,
                actor=member_actor(member),
            )
            noted.set()
            assert not ended.wait(WAIT_SECONDS), "it did not wait"
            order.append("changed")

    def end_it() -> None:
        assert noted.wait(10)
        end(committed, member)
        order.append("ended")
        ended.set()

    run_together([change, end_it])
    assert order == ["changed", "ended"]
    by_member = AuditEvent.objects.filter(project=committed.project, actor_id=member.user.wire_id)
    assert by_member.count() == 1


def in_a_thread(work: Callable[[], None]) -> None:
    """On a connection of its own."""
    run_together([work])


@pytest.mark.parametrize(
    ("role", "error"),
    [("viewer", PermissionRefused), ("reviewer", PermissionRefused), (None, NotFound), ("owner", None)],
)
def test_a_change_is_noted_only_for_what_the_role_still_allows(
    tenant: Tenant, role: str | None, error: type[HubError] | None
) -> None:
    member = join(tenant)
    actor = member_actor(member)
    rows = Membership.objects.filter(id=member.id)
    rows.update(role=role) if role else rows.delete()

    def note() -> None:
        audit.record(AuditAction.PROJECT_UPDATED, tenant.project.wire_id, environment_id=None, actor=actor)

    count = AuditEvent.objects.count()
    if error is None:
        note()
    else:
        with pytest.raises(error):
            note()
    assert AuditEvent.objects.count() == count + (error is None)


def test_holding_costs_one_query_for_a_person_and_for_a_key(tenant: Tenant) -> None:
    made = tenant.caller("admin", whole=True)
    key = f"apikey_{made.key.split('_')[1]}"
    for actor in (tenant.actor, replace(tenant.actor, type="api_actor", actor_id=key)):
        with CaptureQueriesContext(connection) as queries:
            audit.record(
                AuditAction.PROJECT_UPDATED, tenant.project.wire_id, environment_id=None, actor=actor
            )
        assert len(queries) == 2, "the hold and the row"


def test_a_role_that_is_lowered_meanwhile_does_not_refuse_a_new_password(committed: Tenant) -> None:
    member = join(committed)
    new = "another horse battery"
    run_together([
        lambda: lower(committed, member),
        lambda: accounts.change_password(member.user, current="correct horse battery", new=new) and None,
    ])  # fmt: skip
    member.user.refresh_from_db()
    assert member.user.check_password(new)
