"""The session page says who works for it, and the page that stops a worker asks first."""

from typing import Any

from stores import work_claims
from tests.console.site import Site, sign_in
from tests.work.bench import Bench
from tests.world import Tenant


def text(answer: Any) -> str:
    return str(answer.content.decode())


def test_a_session_shows_its_worker_its_lease_and_the_items_before(owner: Site, tenant: Tenant) -> None:
    bench = Bench(tenant)
    page = f"/sessions/{bench.session_id}"
    assert "Workers" not in text(owner.get(page))
    bench.queue()
    assert "Waiting" in text(owner.get(page))
    bench.claim("box-1").stop(caller=bench.owner)
    claimed = bench.start("box-2", desired_ttl_seconds=45)
    shown = text(owner.get(page))
    for said in (
        "Workers",
        "Stopped",
        "Active",
        "box-2",
        "45 s from each heartbeat",
        claimed.token[-4:],
        "/mnt/memory/notes",
    ):
        assert said in shown, said
    assert claimed.token not in shown
    claimed.expire()
    assert "Lease ran out" in text(owner.get(page))


def test_a_worker_is_stopped_gently_or_at_once(owner: Site, tenant: Tenant) -> None:
    bench = Bench(tenant)
    claimed = bench.start("box-1")
    url = f"/sessions/{bench.session_id}/work/{claimed.work_id}/stop"
    asked = text(owner.get(url))
    assert "box-1" in asked and "30 seconds" in asked
    assert owner.post(url).status_code == 302
    assert "has the time of one lease" in text(owner.get(f"/sessions/{bench.session_id}"))
    assert claimed.row.state == "stopping"
    assert claimed.write().status == 200
    assert owner.post(url, {"at_once": "yes"}).status_code == 302
    assert "nothing is saved" in text(owner.get(f"/sessions/{bench.session_id}"))
    assert claimed.row.state == "stopped"
    assert claimed.write("/b.md").status == 401
    assert owner.post(url, {"at_once": "yes"}).status_code == 409
    assert work_claims.settle_work() == 0


def test_an_item_of_another_session_or_project_is_not_found(
    owner: Site, tenant: Tenant, stranger: Tenant
) -> None:
    bench = Bench(tenant)
    claimed = bench.start()
    other = bench.open_session()
    assert owner.get(f"/sessions/{other}/work/{claimed.work_id}/stop").status_code == 404
    foreign = sign_in(stranger.owner, stranger.project)
    url = f"/sessions/{bench.session_id}/work/{claimed.work_id}/stop"
    assert foreign.get(url).status_code == 404
    assert foreign.post(url).status_code == 404
    assert claimed.row.state == "active"
