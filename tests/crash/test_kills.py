"""kill -9 of every part at random moments: no acknowledged write is lost, none is done twice."""

import random

import pytest

from tests.crash.crashes import run_crashes
from tests.crash.hub import CrashHub

SECONDS = 17.0


@pytest.mark.parametrize("run", range(3))
def test_no_acknowledged_write_is_lost_or_doubled(crash_hub: CrashHub, run: int) -> None:
    crashes = run_crashes(crash_hub, seconds=SECONDS, seed=random.randrange(10**9))
    assert crashes.faults == [], f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.harms.total() >= 5, f"seed {crashes.seed}, {crashes.harms}"
    assert crashes.race.lost > 0, f"no answer was lost, so nothing was tried: seed {crashes.seed}"
    assert crashes.acknowledged > 50, f"seed {crashes.seed}: {crashes}"
    print(crashes.harms, crashes.race, crashes.acknowledged)
