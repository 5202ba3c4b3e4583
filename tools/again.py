"""`python -m tools.again`: run alone, three times, the few tests that failed beside thousands of others.

A machine that stands still for seconds can fail a test of a browser or of a time; a fault of the hub fails it again. So
what failed stays printed, and the run is good only if each test passes all three times. Nothing is run again when more
than three failed, or one whose verdict does not hang on the time: of a race or a kill, what happens seldom counts.
"""

import json
import subprocess
import sys
from pathlib import Path

FAILED_MAX = 3
TIMES = 3
HANG_ON_TIME = (
    "tests/browser/",
    "tests/authority/test_costs.py",
    "tests/console/test_costs_of_pages.py",
    "tests/ground/test_wakeups.py",
    "tests/mount/test_costs.py",
    "tests/providers/test_adapter_faults.py",
    "tests/providers/test_egress.py",
    "tests/providers/test_http_calls.py",
    "tests/providers/test_live_http.py",
    "tests/providers/test_record_costs.py",
)


def read_failed(folder: Path) -> list[str]:
    """The ids of what failed in the last run in this folder, by pytest's cache."""
    kept = folder / ".pytest_cache/v/cache/lastfailed"
    return sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else []


def why_not(failed: list[str]) -> str | None:
    """Why these are not run again; None: they may be."""
    if not 0 < len(failed) <= FAILED_MAX:
        return f"{len(failed)} failed"
    for one in failed:
        if "::" not in one:
            return f"{one} could not be read"
        if not one.startswith(HANG_ON_TIME):
            return f"{one} does not hang on the time"
    return None


def main(folder: Path) -> int:
    failed = read_failed(folder)
    if reason := why_not(failed):
        print(f"again: not run again: {reason}", flush=True)
        return 1
    for time in range(1, TIMES + 1):
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *failed]
        if subprocess.run(command, cwd=folder, check=False).returncode:
            print(f"again: failed alone too, the {time}. time", flush=True)
            return 1
    print(
        f"again: failed once beside the others and passed {TIMES} times alone: {', '.join(failed)}",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
