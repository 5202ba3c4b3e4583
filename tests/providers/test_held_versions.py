"""What a model was given of a document keeps its version from going with age, so that an erasure still finds the copy."""

from memoryhub.version_holders import VersionKey, find_held
from providers.models import Projection, ToolCall
from stores import retention
from stores.models import MemoryStore, MemoryVersion
from stores.retention import Policy
from tests.authorization.plots import make_plot
from tests.stores.aged import age_memory, left
from tests.stores.shelf import Shelf
from tests.world import Tenant


def test_a_version_that_was_shown_stays_and_those_around_it_go(committed: Tenant) -> None:
    tenant, call = committed, committed.call()
    plot = make_plot(tenant, tenant.development, with_authority=False)
    shelf = Shelf(plot.store_id, tenant.actor)
    versions = age_memory(shelf, "/old", [90, 80, 70, 60, 50])
    Projection.objects.filter(project=tenant.project).update(version_ids=[versions[1].id])
    ToolCall.objects.filter(project=tenant.project).update(version_ids=[versions[2].id])
    assert call("PUT", shelf.url("retention"), {"days": 30}).status == 200
    counted = call("POST", shelf.url("retention", "plan"), {}).body
    assert (counted["memory_versions"], counted["memory_versions_held"]) == (2, 2)
    removed = call("POST", shelf.url("retention", "run")).body
    assert {**removed, "dry_run": True} == counted
    assert left(shelf, versions) == [1, 2, 4]
    marks = MemoryVersion.objects.filter(memory_id=versions[0].memory_id).order_by("number")
    assert list(marks.values_list("follows_removed", flat=True)) == [True, False, True]
    states = [
        call("GET", shelf.version_url(versions[index]) + "/diff").body["before"]["state"]
        for index in (1, 2, 4)
    ]
    assert states == ["removed", "present", "removed"]
    gone = call("POST", "/v1/redactions", {"contains": "/old 1", "memory_store_id": plot.store_id})
    assert gone.status == 200, gone.body
    assert not Projection.objects.filter(version_ids__contains=[versions[1].id]).exists()
    assert call("POST", shelf.url("retention", "run")).body["memory_versions"] == 1
    assert left(shelf, versions) == [2, 4]


def test_what_begins_to_be_referred_to_between_the_look_and_the_removal_stays(committed: Tenant) -> None:
    tenant = committed
    plot = make_plot(tenant, tenant.development, with_authority=False)
    shelf = Shelf(plot.store_id, tenant.actor)
    versions = age_memory(shelf, "/old", [900, 800, 700])
    keys = [VersionKey(shelf.store.id, version.memory_id, version.id) for version in versions]
    store = MemoryStore.objects.get(id=shelf.store.id)
    assert find_held(store.environment_id, keys) == set()
    found = retention.find_doomed(store, Policy(365, 1), limit=10)
    Projection.objects.filter(project=tenant.project).update(version_ids=[versions[0].id])
    removal = retention.remove_batch(plot.store_id, found, policy=Policy(365, 1), actor=tenant.actor)
    assert removal is not None and removal.versions == 1
    assert left(shelf, versions) == [0, 2]
