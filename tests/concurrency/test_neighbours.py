"""The judge of `./hub soak neighbour` reports a tenant who suffers, and one who is not held back."""

import time
from collections import Counter

import pytest

from tests.answers import Answer
from tests.concurrency.neighbours import Neighbours, Stream


def stream(seconds: float, **statuses: int) -> Stream:
    counted = Counter({int(status.removeprefix("s")): count for status, count in statuses.items()})
    return Stream([seconds] * counted.total(), counted)


def seen(
    *, alone: Stream | None = None, beside: Stream | None = None, loud: Stream | None = None
) -> list[str]:
    return Neighbours(
        alone or stream(0.01, s200=100), beside or stream(0.02, s200=100), loud or stream(0.01, s200=9, s429=91)
    ).faults  # fmt: skip


def test_two_times_the_p99_is_no_fault() -> None:
    assert seen() == []


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ({"beside": stream(0.021, s200=100)}, "p99"),
        ({"beside": stream(0.01, s200=99, s429=1)}, "the quiet tenant was refused"),
        ({"alone": stream(0.01, s200=99, s503=1)}, "the quiet tenant was refused"),
        ({"loud": stream(0.01, s200=51, s429=49)}, "the loud tenant was not held back"),
    ],
)
def test_each_fault_is_named(found: dict[str, Stream], fault: str) -> None:
    [said] = seen(**found)
    assert fault in said


@pytest.mark.parametrize(
    ("wait", "is_fault"), [("60", False), ("1", False), ("", True), ("0", True), ("61", True)]
)
def test_a_refusal_says_when_to_come_again(wait: str, is_fault: bool) -> None:
    got = Stream()
    got.note(Answer(429, {"retry-after": wait} if wait else {}, b""), time.monotonic())
    assert bool(got.faults) == is_fault
    assert (got.statuses[429], len(got.seconds)) == (1, 1)
