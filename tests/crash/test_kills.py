"""kill -9 of every part at random moments: no acknowledged write is lost, none is done twice."""

import random
import threading

from tests.crash.crashes import run_crashes
from tests.crash.hub import CrashHub

SECONDS = 17.0  # `./hub soak crashes` does it 60 times, for 30 seconds each


def test_no_acknowledged_write_is_lost_or_doubled(crash_hub: CrashHub) -> None:
    crashes = run_crashes(crash_hub, seconds=SECONDS, seed=random.randrange(10**9))
    assert crashes.faults == [], f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.harms.total() >= 5, f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.race.lost > 0, f"no answer was lost, so nothing was tried: seed {crashes.seed}"
    assert crashes.acknowledged > 10, f"seed {crashes.seed}: {crashes}"


def answer_early_and_crash(hub: CrashHub, rng: random.Random) -> None:
    """What is committed in the last second before the crash was answered, and is not on the disk."""
    hub.execute("ALTER SYSTEM SET synchronous_commit = 'off'")
    hub.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
    hub.execute("SELECT pg_reload_conf()")
    threading.Event().wait(1)
    hub.kill_postgres(rng)


def test_the_run_finds_a_database_that_answers_before_it_has_written(crash_hub: CrashHub) -> None:
    harms = {"answer early and crash": (answer_early_and_crash, 1)}
    try:
        crashes = run_crashes(crash_hub, seconds=2, seed=1, harms=harms)
    finally:
        crash_hub.execute("ALTER SYSTEM RESET ALL")
        crash_hub.execute("SELECT pg_reload_conf()")
    assert any(fault.startswith("VANISHED") for fault in crashes.faults), crashes
    assert any("no order explains" in fault for fault in crashes.faults), crashes
