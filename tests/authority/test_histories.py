"""Random histories, each call judged by an oracle that shares no code with what it judges."""

import random

import pytest

from tests.authority import histories

FIRST_SEED = random.randrange(2**32)


@pytest.mark.parametrize("number", range(12))
def test_a_random_history_is_answered_as_the_oracle_says(number: int) -> None:
    print(f"seed {FIRST_SEED + number}")
    words = histories.run(FIRST_SEED + number, 120)
    assert {"adopted", "advanced", "already-present", "AdoptionConflictError"} <= words.keys()
