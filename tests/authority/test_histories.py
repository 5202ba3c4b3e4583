"""Random histories, each call judged by an oracle that shares no code with what it judges.

`MEMORYHUB_TEST_HISTORIES`: how many, of 200 calls each.
"""

import os
import random

import pytest

from tests.authority import histories

FIRST_SEED = random.randrange(2**32)
HISTORIES_OF_SOAK = int(os.environ.get("MEMORYHUB_TEST_HISTORIES", "0"))


@pytest.mark.parametrize("number", range(HISTORIES_OF_SOAK or 12))
def test_a_random_history_is_answered_as_the_oracle_says(number: int) -> None:
    print(f"seed {FIRST_SEED + number}")
    words = histories.run(FIRST_SEED + number, 200 if HISTORIES_OF_SOAK else 120)
    assert {"adopted", "advanced", "already-present", "AdoptionConflictError"} <= words.keys()
