"""kill -9 of every part at random moments: no acknowledged write is lost, none is done twice."""

import random

import pytest

from tests.crash.crashes import only, run_crashes
from tests.crash.hub import CrashHub

SECONDS = 17.0


@pytest.mark.parametrize("run", range(3))
def test_no_acknowledged_write_is_lost_or_doubled(crash_hub: CrashHub, run: int) -> None:
    crashes = run_crashes(crash_hub, seconds=SECONDS, seed=random.randrange(10**9))
    assert crashes.faults == [], f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.harms.total() >= 5, f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.race.lost > 0, f"no answer was lost, so nothing was tried: seed {crashes.seed}"
    assert crashes.acknowledged > 10, f"seed {crashes.seed}: {crashes}"


def test_the_run_finds_a_database_that_answers_before_it_has_written(crash_hub: CrashHub) -> None:
    crash_hub.execute("ALTER SYSTEM SET synchronous_commit = 'off'")
    crash_hub.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
    crash_hub.execute("SELECT pg_reload_conf()")
    try:
        assert find_faults(crash_hub), "acknowledged writes were lost, and it was not seen"
    finally:
        crash_hub.execute("ALTER SYSTEM RESET ALL")
        crash_hub.execute("SELECT pg_reload_conf()")


def find_faults(crash_hub: CrashHub) -> list[str]:
    """Of a run in which PostgreSQL alone is killed. A client that misses its memory altogether ends the run."""
    try:
        return run_crashes(
            crash_hub, seconds=4, seed=1, harms=only("kill PostgreSQL"), pause_seconds_max=2
        ).faults
    except AssertionError as error:
        return [str(error)]
