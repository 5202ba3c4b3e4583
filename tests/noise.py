"""What a machine that does other work, or stands still for a part of a second, adds to a time.

So a bound on a time is far below what the fault it looks for would take, or it is held against the least of some times.
Bounds that a promise names exactly get `NOISE_SECONDS`, and none of it where MEMORYHUB_TEST_QUIET=1 says that nothing
else runs (`./hub soak deadlines`).
"""

import os

NOISE_SECONDS = 0.0 if os.environ.get("MEMORYHUB_TEST_QUIET") == "1" else 2.0
TIMES_MAX = 5  # of which the least counts
