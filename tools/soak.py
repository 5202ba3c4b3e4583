"""`./hub soak [NAME] [--seeds N] [--seconds S] [--first SEED]`: the long runs of the tests, on a hub of their own.

  updates   16 clients over two web processes, 20,000 calls to three memories, with both checkers
  crashes   kill -9, pauses and ended connections at random moments, 30 s for each seed
  chain     the same with two sealers of the audit trail at work, killed with the rest
  disk      the data folder's disk filled to the last byte and freed again (Linux, as root)
  neighbour one tenant sends fifty times as much as another, over its limit; the other's p99 with and without it
  schema    the tests that call every operation with made-up requests, 1,000 examples for each
  deadlines the tests that bound a time, with not a second more than promised: on a machine that is free
  calls     workers of services killed at each point of a call, 25 rounds
  turns     host calls raced, killed, stopped and left silent, 25 rounds
  histories advances, adoptions and commits judged by an oracle, 500 histories of 200 calls
  races     saves of models against freezes, ends, deletions and each other, 200 rounds for each
  content   the test that any text is kept byte for byte, 5,000 texts
  pages     what holds of every page in a browser: each in both themes and widths, each payload's pages opened
  slow      the journeys in a browser that is ten times slower and 0.8 s away from the hub

Prints a line for each run, and the seed and the faults of every one that failed; exits 1 when one did.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.answers import Call
from tests.concurrency.clients import race_updates
from tests.concurrency.neighbours import LIMIT_PER_MINUTE, crowd
from tests.crash.crashes import Crashes, run_crashes
from tests.crash.disk import FULL_DISK, SETTINGS, small_disk
from tests.crash.hub import CrashHub
from tests.live import LiveHub

UPDATE_CALLS = 20_000
UPDATE_CLIENTS = 16
REFUSED_SHARE_MIN = 0.25
SCHEMA_TESTS, SCHEMA_SIZE = "tests/hostile/test_schema.py", {"MEMORYHUB_TEST_SCHEMA_EXAMPLES": "1000"}
CONTENT_TEST = "tests/hostile/test_content.py::test_any_text_is_kept"
CONTENT_SIZE = {"MEMORYHUB_TEST_CONTENT_EXAMPLES": "5000"}
RACES, RACES_SIZE = "tests/providers/test_races.py", {"MEMORYHUB_TEST_RACE_ROUNDS": "200"}
DEADLINES = (
    "tests/providers/test_live_http.py tests/providers/test_http_calls.py tests/providers/test_egress.py"
    " tests/providers/test_adapter_faults.py tests/providers/test_killed_workers.py tests/webhooks/test_sending.py"
    " tests/concurrency/test_locks.py tests/ground/test_wakeups.py tests/stores/test_changes.py"
)
DEADLINES_SIZE = {"MEMORYHUB_TEST_QUIET": "1"}
CALLS, CALLS_SIZE = "tests/providers/test_killed_workers.py", {"MEMORYHUB_TEST_RACE_ROUNDS": "25"}
TURNS, TURNS_SIZE = "tests/authority/test_host_calls.py", {"MEMORYHUB_TEST_RACE_ROUNDS": "25"}
HISTORIES, HISTORIES_SIZE = "tests/authority/test_histories.py", {"MEMORYHUB_TEST_HISTORIES": "500"}
PAGES, PAGES_SIZE = "tests/browser", {"MEMORYHUB_TEST_PAGES": "all"}
SLOW = "tests/browser --deselect tests/browser/test_everywhere.py --deselect tests/browser/test_payloads.py"
SLOW_SIZE = {"MEMORYHUB_TEST_PAGES_SLOW": "1"}
COLUMNS = ("run", "seed", "seconds", "harms", "acknowledged", "refused", "no answer", "faults")


@dataclass(frozen=True)
class Result:
    seed: int
    harms: int
    acknowledged: int
    refused: int
    lost: int
    faults: list[str] = field(default_factory=list)
    figures: str = ""


@dataclass(frozen=True)
class Soak:
    """`seeds` and `seconds` are the defaults; `run` takes what `place` gives (a hub), a seed and the seconds."""

    seeds: int
    seconds: float
    run: Callable[[Any, int, float], Result]
    place: Callable[[], AbstractContextManager[Any]]


def soak_updates(hub: CrashHub, seed: int, seconds: float) -> Result:
    calls: list[Call] = [hub.caller() for _ in range(UPDATE_CLIENTS)]
    race = race_updates(calls, paths=3, calls=UPDATE_CALLS, seed=seed)
    faults = [*race.faults, *hub.find_faults()]
    if race.refused_share < REFUSED_SHARE_MIN:
        faults.append(f"no race: {race.refused_share:.0%} were refused")
    if race.lost:
        faults.append(f"{race.lost} calls got no answer: {dict(race.statuses)}")
    return Result(seed, 0, race.acknowledged, race.refused, race.lost, faults)


def soak_crashes(hub: CrashHub, seed: int, seconds: float) -> Result:
    return _result(run_crashes(hub, seconds=seconds, seed=seed))


def soak_chain(hub: CrashHub, seed: int, seconds: float) -> Result:
    return _result(run_crashes(hub, seconds=seconds, seed=seed, sealers=2))


def soak_disk(hub: CrashHub, seed: int, seconds: float) -> Result:
    run = run_crashes(hub, seconds=seconds, seed=seed, harms=FULL_DISK, again_seconds_max=10)
    result = _result(run)
    if not run.race.statuses[503]:
        result.faults.append("no write met the full disk")
    return result


def soak_neighbour(hub: CrashHub, seed: int, seconds: float) -> Result:
    web = LiveHub(
        hub.folder,
        database_url=hub.postgres.url(),
        redis_url=hub.queue.url(),
        settings={
            "MEMORYHUB_DATA_DIR": str(hub.folder),
            "MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": str(LIMIT_PER_MINUTE),
        },
    )
    quiet, loud = (str(hub.run_inside("prepare")["key"]) for _ in range(2))
    try:
        web.start()
        seen = crowd(web.caller(quiet), web.caller(loud), seconds=seconds)
    finally:
        web.stop()
    answered = seen.alone.statuses + seen.beside.statuses + seen.loud.statuses
    return Result(seed, 0, answered[200], answered[429], 0, seen.faults, seen.figures)


def soak_tests(tests: str, size: dict[str, str], place: None, seed: int, seconds: float) -> Result:
    """Tests of the suite at another size, in a run of their own; `seconds` bounds each."""
    command = [sys.executable, "-m", "pytest", "-q", *tests.split(), "-o", f"timeout={seconds:.0f}"]
    environment = os.environ | size | {"MEMORYHUB_TEST_SCHEMA_SEED": str(seed)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    *_, last = ended.stdout.strip().splitlines() or ["no output"]
    return Result(seed, 0, 0, 0, 0, [ended.stdout[-8_000:]] if ended.returncode else [], last)


def _result(run: Crashes) -> Result:
    race = run.race
    return Result(run.seed, run.harms.total(), run.acknowledged, race.refused, race.lost, run.faults)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./hub soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=SOAKS)
    parser.add_argument("--seeds", type=int, help="how many runs of each")
    parser.add_argument("--seconds", type=float, help="how long each run is harmed")
    parser.add_argument("--first", type=int, help="the first seed, to repeat a run; the others follow it")
    options = parser.parse_args(arguments)
    names = [options.name] if options.name else list(SOAKS)
    print(" ".join(f"{column:>12}" for column in COLUMNS))
    failed = sum(run_soak(name, options) for name in names)
    print(f"soak: {failed} failed" if failed else "soak: all passed")
    return 1 if failed else 0


def run_soak(name: str, options: argparse.Namespace) -> int:
    """How many of its runs failed."""
    soak = SOAKS[name]
    if soak.place is hub_on_small_disk and (sys.platform != "linux" or os.geteuid() != 0):
        print(f"{name:>12} left out: it mounts a disk, for which it must be root on Linux")
        return 0
    first = random.randrange(10**9) if options.first is None else options.first
    failed = 0
    with soak.place() as hub:
        for seed in range(first, first + (options.seeds or soak.seeds)):
            failed += not run_seed(name, soak, hub, seed, options.seconds or soak.seconds)
    return failed


def run_seed(name: str, soak: Soak, hub: Any, seed: int, seconds: float) -> bool:
    """Whether it passed."""
    began = time.monotonic()
    try:
        result = soak.run(hub, seed, seconds)
    except AssertionError as error:
        result = Result(seed, 0, 0, 0, 0, [str(error)])
    took = f"{time.monotonic() - began:.0f}"
    cells = (
        name,
        seed,
        took,
        result.harms,
        result.acknowledged,
        result.refused,
        result.lost,
        len(result.faults),
    )
    print(" ".join(f"{cell:>12}" for cell in cells), flush=True)
    if result.figures:
        print(f"    {result.figures}", flush=True)
    for fault in result.faults:
        print(f"    seed {seed}: {fault}", flush=True)
    return not result.faults


@contextmanager
def own_hub() -> Iterator[CrashHub]:
    with _started(CrashHub()) as hub:
        yield hub


@contextmanager
def hub_on_small_disk() -> Iterator[CrashHub]:
    with small_disk() as folder, _started(CrashHub(folder, settings=SETTINGS)) as hub:
        yield hub


@contextmanager
def _started(hub: CrashHub) -> Iterator[CrashHub]:
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


SOAKS: dict[str, Soak] = {
    "updates": Soak(1, 0, soak_updates, own_hub),
    "crashes": Soak(60, 30, soak_crashes, own_hub),
    "chain": Soak(10, 30, soak_chain, own_hub),
    "disk": Soak(5, 30, soak_disk, hub_on_small_disk),
    "neighbour": Soak(1, 240, soak_neighbour, own_hub),
    "schema": Soak(1, 14_400, partial(soak_tests, SCHEMA_TESTS, SCHEMA_SIZE), nullcontext),
    "races": Soak(1, 3_600, partial(soak_tests, RACES, RACES_SIZE), nullcontext),
    "deadlines": Soak(3, 900, partial(soak_tests, DEADLINES, DEADLINES_SIZE), nullcontext),
    "calls": Soak(1, 3_600, partial(soak_tests, CALLS, CALLS_SIZE), nullcontext),
    "turns": Soak(1, 3_600, partial(soak_tests, TURNS, TURNS_SIZE), nullcontext),
    "histories": Soak(1, 3_600, partial(soak_tests, HISTORIES, HISTORIES_SIZE), nullcontext),
    "slow": Soak(1, 900, partial(soak_tests, SLOW, SLOW_SIZE), nullcontext),
    "pages": Soak(1, 1_800, partial(soak_tests, PAGES, PAGES_SIZE), nullcontext),
    "content": Soak(1, 3_600, partial(soak_tests, CONTENT_TEST, CONTENT_SIZE), nullcontext),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
