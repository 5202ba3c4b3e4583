"""The checkers find the faults they are for, and nothing in sound histories."""

import math
import random
from collections.abc import Iterable

import pytest

from tests.concurrency.histories import Call, Kind, Outcome, find_chain_faults, find_order


def call(
    kind: Kind,
    value: str | None,
    began: float,
    ended: float,
    *,
    expected: str | None = None,
    outcome: Outcome = "done",
    client: str = "c",
) -> Call:
    return Call(client, "mem", kind, outcome, began, ended, value, expected)


def faults_of(calls: Iterable[Call], versions: list[str]) -> set[str]:
    return {fault.partition(":")[0] for fault in find_chain_faults(list(calls), versions)}


SOUND = [
    call("read", "a", 0, 1),
    call("update", "b", 2, 4, expected="a"),
    call("update", "c", 2, 5, expected="a", outcome="refused"),
    call("read", "a", 3, 3.5),
    call("read", "b", 3, 4),
    call("update", "d", 6, math.inf, expected="b", outcome="lost"),
    call("read", "b", 7, 8),
    call("update", "e", 9, 10, expected="d"),
]


def test_a_sound_history_has_no_fault_and_an_order() -> None:
    assert faults_of(SOUND, ["a", "b", "d", "e"]) == set()
    order = find_order(SOUND, "a").order
    assert order is not None
    assert [c.value for c in order if c.kind == "update" and c.outcome != "refused"] == ["b", "d", "e"]


PLANTED = {
    "LOST UPDATE": (
        [call("update", "b", 0, 1, expected="a"), call("update", "c", 0, 2, expected="a")],
        ["a", "b", "c"],
    ),
    "VANISHED": ([call("update", "b", 0, 1, expected="a"), call("read", "a", 2, 3)], ["a"]),
    "STALE READ": ([call("update", "b", 0, 1, expected="a"), call("read", "a", 2, 3)], ["a", "b"]),
    "PHANTOM": ([call("read", "x", 0, 1)], ["a"]),
    "REFUSED WITHOUT CAUSE": ([call("update", "b", 0, 1, expected="a", outcome="refused")], ["a"]),
    "REFUSED BEFORE ITS CAUSE": (
        [
            call("update", "b", 0, 1, expected="a", outcome="refused"),
            call("update", "c", 2, 3, expected="a"),
        ],
        ["a", "c"],
    ),
    "REFUSED BUT WRITTEN": (
        [call("update", "b", 0, 1, expected="a", outcome="refused"), call("read", "b", 2, 3)],
        ["a", "b"],
    ),
    "ORDER TURNED": (
        [
            call("update", "b", 5, 6, expected="a"),
            call("update", "c", 0, 1, expected="b"),
        ],
        ["a", "b", "c"],
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_both_checkers_find_a_planted_fault(name: str) -> None:
    calls, versions = PLANTED[name]
    assert name in faults_of(calls, versions)
    assert find_order(calls, versions[0]).order is None


def test_a_write_done_twice_is_found() -> None:
    calls = [call("update", "b", 0, 1, expected="a"), call("update", "c", 2, 3, expected="b")]
    assert faults_of(calls, ["a", "b", "c", "b"]) >= {"DOUBLED"}
    assert faults_of(calls, ["a", "b", "x", "c"]) >= {"UNWRITTEN", "NOT ON WHAT IT EXPECTED"}


def test_what_already_is_as_wanted_is_a_success_and_a_stale_undo_is_not() -> None:
    twice = [call("update", "b", 0, 1, expected="a"), call("update", "b", 2, 3, expected="a")]
    assert find_order(twice, "a").order is not None
    undo = [call("update", "b", 0, 1, expected="a"), call("update", "a", 2, 3, expected="a")]
    assert find_order(undo, "a").order is None


def test_creates_and_deletes_have_an_order_too() -> None:
    calls = [
        call("create", "a", 0, 1),
        call("create", "b", 2, 3, outcome="refused"),
        call("delete", None, 4, 5, expected="a"),
        call("read", None, 6, 7),
        call("create", "b", 8, 9),
    ]
    assert find_order(calls, None).order is not None
    assert find_order([*calls, call("read", "a", 10, 11)], None).order is None


@pytest.mark.parametrize("seed", range(20))
def test_a_lost_update_hidden_in_a_long_random_history_is_found(seed: int) -> None:
    calls, versions = simulate(seed, calls_count=400)
    assert find_chain_faults(calls, versions) == []
    assert find_order(calls, "0").order is not None
    spoiled, written = spoil(calls, versions, random.Random(seed))
    assert find_chain_faults(spoiled, written), f"seed {seed}"
    assert find_order(spoiled, "0").order is None, f"seed {seed}"


def simulate(seed: int, *, calls_count: int) -> tuple[list[Call], list[str]]:
    """A sound history: eight clients, each call takes effect at one instant within its interval."""
    rng = random.Random(seed)
    clock, state, versions, calls = 0.0, "0", ["0"], []
    known = dict.fromkeys(map(str, range(8)), "0")
    for number in range(1, calls_count):
        client = rng.choice(list(known))
        clock += 1
        began, ended = clock - rng.random() * 4, clock + rng.random() * 4
        if rng.random() < 0.5:
            known[client] = state
            calls.append(Call(client, "mem", "read", "done", began, ended, state))
            continue
        fits = known[client] == state
        outcome: Outcome = "lost" if rng.random() < 0.05 else "done" if fits else "refused"
        end = math.inf if outcome == "lost" else ended
        calls.append(Call(client, "mem", "update", outcome, began, end, str(number), known[client]))
        if fits:
            state = str(number)
            versions.append(state)
    return calls, versions


def spoil(calls: list[Call], versions: list[str], rng: random.Random) -> tuple[list[Call], list[str]]:
    """One refused update is answered as done, and its version stands right after the one that was first."""
    refused = [index for index, c in enumerate(calls) if c.outcome == "refused" and c.expected in versions]
    index = rng.choice(refused)
    old = calls[index]
    done = Call(old.client, old.memory, "update", "done", old.began, old.ended, old.value, old.expected)
    at = versions.index(old.expected or "") + 1
    return [*calls[:index], done, *calls[index + 1 :]], [*versions[:at], old.value or "", *versions[at:]]
