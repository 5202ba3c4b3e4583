"""A revoked key: no call that begins after the revoking answer succeeds, and no change commits after it."""

import threading
import time

from memoryhub import keys
from memoryhub.ids import API_KEY
from tests.concurrency.clients import make_memory, make_store, run_together
from tests.concurrency.holding import Asked, held
from tests.live import LiveHub
from tests.world import Tenant

CLIENTS = 8
CALLS_BEFORE = 200
CALLS_AFTER = 200


def test_a_revoked_key_is_refused_from_the_answer_on(live: LiveHub, live_tenant: Tenant) -> None:
    owner = live.caller(live_tenant.key)
    store_id = make_store(owner)
    memory_id = make_memory(owner, store_id, "/one")
    secret = live_tenant.new_key("host")
    call = live.caller(secret)
    seen: list[tuple[float, int]] = []
    revoked_at: list[float] = []
    enough = threading.Event()

    def call_until_refused(client: int) -> None:
        refused = 0
        while refused < CALLS_AFTER // CLIENTS:
            began = time.monotonic()
            body = {"content": f"{client} {len(seen)}"}
            answer = call("POST", f"/v1/memory_stores/{store_id}/memories/{memory_id}", body)
            seen.append((began, answer.status))
            refused += answer.status == 401
            if len(seen) > CALLS_BEFORE:
                enough.set()

    def revoke() -> None:
        assert enough.wait(60)
        keys.revoke_key(f"{API_KEY}_{secret.split('_')[1]}", actor=live_tenant.actor)
        revoked_at.append(time.monotonic())

    run_together([revoke, *[lambda client=client: call_until_refused(client) for client in range(CLIENTS)]])  # type: ignore[list-item,misc]
    after = [status for began, status in seen if began > revoked_at[0]]
    assert set(after) == {401}
    assert len(after) >= CALLS_AFTER // 2
    assert sum(status == 200 for _, status in seen) > CALLS_BEFORE // 2


def test_a_change_under_way_does_not_commit_after_its_key_is_revoked(
    live: LiveHub, live_tenant: Tenant
) -> None:
    owner = live.caller(live_tenant.key)
    store_id = make_store(owner)
    memory_id = make_memory(owner, store_id, "/one")
    secret = live_tenant.new_key("host")
    url = f"/v1/memory_stores/{store_id}/memories/{memory_id}"
    with held(memory_id):
        late = Asked(lambda: live.caller(secret)("POST", url, {"content": "late"}))
        assert late.wait(0.5) is None, "it did not wait inside its transaction"
        revoked = owner("POST", f"/v1/api_keys/{API_KEY}_{secret.split('_')[1]}/revoke")
        assert revoked.status == 200
    answer = late.wait(10)
    assert answer is not None and answer.status == 401
    assert owner("GET", url).body["content"] != "late"
