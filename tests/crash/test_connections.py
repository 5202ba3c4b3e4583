"""Lost connections and a restarted PostgreSQL: whole changes or none, and the hub works again at once."""

import random
import signal
import threading
import time

from tests.concurrency.clients import make_memory, make_store, run_together
from tests.crash.crashes import only, run_crashes
from tests.crash.hub import CrashHub
from tests.live import NoAnswerError

CLIENTS = 8
OUTAGE_SECONDS = 5.0  # long enough for a client that doubles its pauses to be late
AGAIN_SECONDS_MAX = 2.0


def test_connections_that_end_at_random_leave_no_half_change(crash_hub: CrashHub) -> None:
    crashes = run_crashes(
        crash_hub,
        seconds=5,
        seed=random.randrange(10**9),
        harms=only("end connections"),
        pause_seconds_max=0.1,
    )
    assert crashes.faults == [], f"seed {crashes.seed}"
    assert crashes.race.statuses[0] == 0, "a web process gave no answer"
    assert crashes.race.statuses[503] > 0, f"no call met a lost connection: seed {crashes.seed}"


def test_requests_work_again_soon_after_an_outage(crash_hub: CrashHub) -> None:
    call = crash_hub.caller()
    store_id = make_store(call, "Outage")
    memory_ids = [make_memory(call, store_id, f"/{number}") for number in range(CLIENTS)]
    seen: list[tuple[float, int]] = []
    ended = threading.Event()

    def write(number: int) -> None:
        path = f"/v1/memory_stores/{store_id}/memories/{memory_ids[number]}"
        while not ended.is_set():
            began = time.monotonic()
            try:
                status = call("POST", path, {"content": f"{len(seen)}"}).status
            except NoAnswerError:
                status = 0
            seen.append((began, status))

    back = 0.0

    def restart() -> None:
        nonlocal back
        try:
            ended.wait(0.5)
            crash_hub.end_postgres(signal.SIGQUIT)
            ended.wait(OUTAGE_SECONDS)
            crash_hub.postgres.start()
            back = time.monotonic()
            ended.wait(AGAIN_SECONDS_MAX + 2)
        finally:
            ended.set()

    run_together([lambda number=number: write(number) for number in range(CLIENTS)], meanwhile=restart)  # type: ignore[misc]
    statuses = {status for _, status in seen}
    assert statuses == {200, 503}, statuses
    later = [status for began, status in seen if began > back + AGAIN_SECONDS_MAX]
    assert len(later) >= CLIENTS
    assert set(later) == {200}
    assert crash_hub.find_faults() == []
