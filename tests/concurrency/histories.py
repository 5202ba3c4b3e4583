"""What clients saw of memories that several of them changed at once, and two checkers of it.

`find_chain_faults` takes linear time. It needs written values to be unique and the versions read back after the run,
and says in a sentence what went wrong. `find_order` needs neither: it searches for one order of all the calls to one
memory that explains every answer and keeps the order of calls that did not overlap.

A call whose answer was lost may have taken effect once, at any time after it began, or never. One that was never
sent does not belong in a history. All times are of one monotonic clock.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

type Kind = Literal["read", "create", "update", "delete"]
type Outcome = Literal["done", "refused", "lost"]

type Places = Mapping[str | None, int]  # digest -> its place among the versions
type Successors = Mapping[str | None, Call | None]  # digest -> the call that replaced it

STATES_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call to one memory. `value` is what was read or written, `expected` the precondition: digests, None: absent.

    `refused`: the answer said that the memory is not as expected. `lost`: there was no answer, `ended` is infinite.
    """

    client: str
    memory: str
    kind: Kind
    outcome: Outcome
    began: float
    ended: float
    value: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        change = f"{_short(self.expected)} -> {_short(self.value)}"
        shown = _short(self.value) if self.kind == "read" else change
        return f"{self.client} {self.kind} {shown}: {self.outcome} [{self.began:.6f}, {self.ended:.6f}]"


def _short(value: str | None) -> str:
    return "nothing" if value is None else value[:12]


class Recorder:
    """Collects the calls of many threads."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def note(
        self,
        client: str,
        memory: str,
        kind: Kind,
        outcome: Outcome,
        began: float,
        *,
        value: str | None = None,
        expected: str | None = None,
    ) -> None:
        """Note a call that has just ended."""
        ended = math.inf if outcome == "lost" else time.monotonic()
        self.calls.append(Call(client, memory, kind, outcome, began, ended, value, expected))

    def count(self, kind: Kind, outcome: Outcome) -> int:
        return sum(call.kind == kind and call.outcome == outcome for call in self.calls)


def by_memory(calls: Iterable[Call]) -> dict[str, list[Call]]:
    histories: dict[str, list[Call]] = {}
    for call in calls:
        histories.setdefault(call.memory, []).append(call)
    return histories


# In linear time.


def find_chain_faults(calls: Sequence[Call], versions: Sequence[str]) -> list[str]:
    """The faults of one memory's reads and updates. `versions`: the digests of its versions, oldest first.

    The first version was there before the calls began.
    """
    place: Places = {value: index for index, value in enumerate(versions)}
    writers = {call.value: call for call in calls if call.kind == "update" and call.value is not None}
    faults = [] if len(place) == len(versions) else ["DOUBLED: a value stands in two versions"]
    faults += [
        f"UNWRITTEN: {_short(value)} was written by no call" for value in versions[1:] if value not in writers
    ]
    faults += _find_lost_updates(calls)
    replaced_by = _successors(versions, writers)
    for call in calls:
        if call.outcome != "lost":
            fault = _judge(call, place, replaced_by)
            faults += [f"{fault}: {call}"] if fault else []
    return faults + _find_turned_order(versions, writers)


def _successors(versions: Sequence[str], writers: Mapping[str, Call]) -> Successors:
    """Each value -> the call that replaced it."""
    following = dict(zip(versions, versions[1:], strict=False))
    return {value: writers.get(after) for value, after in following.items()}


def _find_lost_updates(calls: Sequence[Call]) -> list[str]:
    replaced: dict[str | None, Call] = {}
    faults = []
    for call in calls:
        if call.kind != "update" or call.outcome != "done":
            continue
        other = replaced.setdefault(call.expected, call)
        if other is not call:
            faults.append(f"LOST UPDATE: two writers replaced {_short(call.expected)}: {other}; {call}")
    return faults


def _judge(call: Call, place: Places, replaced_by: Successors) -> str | None:
    """What is wrong with one answered call."""
    if call.kind == "read":
        return _judge_read(call, place, replaced_by)
    if call.outcome == "refused":
        return _judge_refusal(call, place, replaced_by)
    if call.value not in place:
        return "VANISHED"
    if place[call.value] and place.get(call.expected) != place[call.value] - 1:
        return "NOT ON WHAT IT EXPECTED"
    return None


def _judge_read(call: Call, place: Places, replaced_by: Successors) -> str | None:
    if call.value not in place:
        return "PHANTOM"
    successor = replaced_by.get(call.value)
    return "STALE READ" if successor is not None and successor.ended < call.began else None


def _judge_refusal(call: Call, place: Places, replaced_by: Successors) -> str | None:
    if call.value in place:
        return "REFUSED BUT WRITTEN"
    if call.expected not in place:
        return None
    if call.expected not in replaced_by:
        return "REFUSED WITHOUT CAUSE"
    successor = replaced_by[call.expected]
    return "REFUSED BEFORE ITS CAUSE" if successor is not None and successor.began > call.ended else None


def _find_turned_order(versions: Sequence[str], writers: Mapping[str, Call]) -> list[str]:
    """Versions whose writer began after the writer of a later version had ended."""
    faults, earliest_end = [], math.inf
    for value in reversed(versions):
        writer = writers.get(value)
        if writer is None:
            continue
        if writer.began > earliest_end:
            faults.append(f"ORDER TURNED: {writer} stands before a version that was answered before it began")
        earliest_end = min(earliest_end, writer.ended)
    return faults


# Exact.


def without_effectless(calls: Iterable[Call], versions: Sequence[str]) -> list[Call]:
    """The calls without the lost ones whose value stands in no version: those never took effect."""
    written = set(versions)
    return [call for call in calls if call.outcome != "lost" or call.value in written]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`order` None: no order explains the answers, or the search was given up; `why` says which."""

    order: list[Call] | None
    why: str = ""


def find_order(calls: Sequence[Call], first: str | None) -> Verdict:
    """An order of one memory's calls that explains every answer, from the state `first`.

    Depth first over (calls placed, state), and never the same pair twice. The next call may be any that began before
    the first end among those not placed yet. Calls are placed almost in the order of their beginnings, so a set of
    placed calls is kept as the count of leading ones and the bits of the few placed beyond.
    """
    ordered = sorted(calls, key=lambda call: call.began)
    answered = sum(call.outcome != "lost" for call in ordered)
    stack: list[_Step] = [_Step(0, 0, first, 0, None, None)]
    seen: set[tuple[int, int, str | None]] = set()
    furthest = stack[0]
    while stack:
        step = stack.pop()
        if step.answered == answered:
            return Verdict(step.path())
        if step.answered > furthest.answered:
            furthest = step
        for following in _following(step, ordered):
            mark = (following.leading, following.beyond, following.state)
            if mark not in seen:
                seen.add(mark)
                stack.append(following)
        if len(seen) > STATES_MAX:
            return Verdict(None, "given up: too many states")
    return Verdict(None, _explain(furthest, ordered))


@dataclass(frozen=True, slots=True)
class _Step:
    leading: int
    beyond: int
    state: str | None
    answered: int
    call: Call | None
    before: "_Step | None"

    def path(self) -> list[Call]:
        step: _Step | None = self
        calls = []
        while step is not None and step.call is not None:
            calls.append(step.call)
            step = step.before
        return calls[::-1]


def _candidates(step: _Step, ordered: Sequence[Call]) -> list[int]:
    """The calls that may come next: none that is left ended before they began."""
    found, first_end = [], math.inf
    for index in range(step.leading, len(ordered)):
        call = ordered[index]
        if call.began > first_end:
            break
        if not step.beyond >> (index - step.leading) & 1:
            found.append(index)
            first_end = min(first_end, call.ended)
    return [index for index in found if ordered[index].began <= first_end]


def _following(step: _Step, ordered: Sequence[Call]) -> list[_Step]:
    """The steps after this one; those of answered calls last, since the last is tried first."""
    steps = []
    for index in _candidates(step, ordered):
        call = ordered[index]
        allowed, state = _apply(call, step.state)
        if not allowed or (call.outcome == "lost" and state == step.state):
            continue  # a lost call without effect explains nothing
        beyond, leading = step.beyond | 1 << (index - step.leading), step.leading
        while beyond & 1:
            beyond, leading = beyond >> 1, leading + 1
        count = step.answered + (call.outcome != "lost")
        steps.append(_Step(leading, beyond, state, count, call, step))
    return sorted(steps, key=lambda following: following.answered)


def _apply(call: Call, state: str | None) -> tuple[bool, str | None]:
    """Whether the answer is possible in a state, and the state after it. Source: contract stores 4.9."""
    if call.kind == "read":
        return call.value == state, state
    applies = state is None if call.kind == "create" else call.expected == state
    wanted = None if call.kind == "delete" else call.value
    already = call.kind == "update" and state == wanted and state is not None
    takes_effect = applies or already
    if call.outcome == "lost":
        return True, wanted if takes_effect else state
    return (
        (True, wanted)
        if takes_effect and call.outcome == "done"
        else (
            not takes_effect and call.outcome == "refused",
            state,
        )
    )


def _explain(step: _Step, ordered: Sequence[Call]) -> str:
    last = "\n".join(f"    {call}" for call in step.path()[-4:])
    stuck = "\n".join(f"    {ordered[index]}" for index in _candidates(step, ordered)[:8])
    return (
        f"no order explains the answers; after {step.answered} of them, with the state {_short(step.state)}"
        f" left by\n{last}\n  none of these fits:\n{stuck}"
    )
