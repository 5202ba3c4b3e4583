"""Calls drawn in time, and the figures of a service: pure, so without a database."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from providers.models import HttpAttempt, HttpOperation
from providers.retries import Event
from providers.service_figures import CODES_SHOWN_MAX, Ended, measure
from providers.waterfalls import EVENT_WORDS, LEAST_WIDTH, draw_together, draw_waterfall

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)


def attempt(
    number: int, start: int, end: int, delay: float | None = None, event: str = "busy"
) -> HttpAttempt:
    return HttpAttempt(
        number=number,
        started_at=BEGAN + timedelta(milliseconds=start),
        finished_at=BEGAN + timedelta(milliseconds=end),
        delay_seconds=delay,
        event=event,
    )


def operation(*attempts: HttpAttempt, **facts: Any) -> HttpOperation:
    """Its attempts in any order, as a prefetch gives them."""
    facts = {
        "started_at": BEGAN,
        "created_at": BEGAN,
        "shown_state": "done",
        "attempt": len(attempts),
    } | facts
    held = SimpleNamespace(all=lambda: list(attempts)[::-1])
    return cast(HttpOperation, SimpleNamespace(attempts=held, **facts))


def test_every_event_has_its_words() -> None:
    assert EVENT_WORDS.keys() == set(Event)
    assert len(set(EVENT_WORDS.values())) == len(EVENT_WORDS)


def test_attempts_and_pauses_stand_where_they_were() -> None:
    drawn = draw_waterfall(operation(attempt(1, 0, 250, 0.25), attempt(2, 500, 1_000, None, "succeeded")))
    first, second = drawn.bars
    assert (first.x, first.width, first.wait_x, first.wait_width) == (0, 25, 25, 25)
    assert (second.x, second.width, second.wait_width) == (50, 50, 0)
    assert (first.style, second.style) == ("bad", "good")
    assert (first.start_ms, first.took_ms, first.wait_ms, second.wait_ms) == (0, 250, 250, None)
    assert (drawn.scale_ms, drawn.whole_ms, drawn.is_sending) == (1_000, 1_000, False)
    assert first.y < second.y < drawn.height


def test_a_pause_that_lasts_is_within_the_drawing() -> None:
    drawn = draw_waterfall(operation(attempt(1, 0, 250, 0.75), shown_state="waiting"))
    assert drawn.scale_ms == 1_000
    assert drawn.bars[0].wait_x + drawn.bars[0].wait_width == 100


@pytest.mark.parametrize("end", [0, 1, 10_000])
def test_nothing_leaves_the_drawing_and_everything_can_be_seen(end: int) -> None:
    for bar in draw_waterfall(operation(attempt(1, 0, 0, 0.0), attempt(2, end, end))).bars:
        assert bar.width >= LEAST_WIDTH
        assert bar.x + bar.width <= 100
        assert bar.wait_x + bar.wait_width <= 100


def test_a_clock_that_was_set_back_draws_no_bar_backwards() -> None:
    [bar] = draw_waterfall(operation(attempt(1, -500, -400))).bars
    assert (bar.start_ms, bar.took_ms, bar.x) == (0, 0, 0)


def test_calls_of_a_list_are_on_one_scale() -> None:
    short, long = operation(attempt(1, 0, 100)), operation(attempt(1, 0, 1_000))
    widths = [waterfall.bars[0].width for _, waterfall in draw_together([short, long])]
    assert widths == [10, 100]
    assert draw_together([]) == []


def test_an_attempt_without_a_row_is_under_way() -> None:
    assert draw_waterfall(operation(attempt(1, 0, 9, 0.25), shown_state="sending", attempt=2)).is_sending
    assert not draw_waterfall(operation(attempt(1, 0, 9, 0.25), shown_state="waiting", attempt=1)).is_sending


def ended(code: str, milliseconds: int | None = None) -> Ended:
    if milliseconds is None:
        return code, None, BEGAN
    return code, BEGAN, BEGAN + timedelta(milliseconds=milliseconds)


def test_figures_of_no_call() -> None:
    figures = measure([], count_max=10)
    assert (figures.count, figures.failed, figures.answered_percent) == (0, 0, 0)
    assert (figures.median_ms, figures.p95_ms, figures.is_cut) == (None, None, False)


def test_the_middle_and_the_95th_of_a_hundred() -> None:
    figures = measure([ended("ok", one) for one in range(1, 101)], count_max=100)
    assert (figures.median_ms, figures.p95_ms, figures.is_cut) == (50, 95, False)
    assert measure([ended("ok", 7)], count_max=1).p95_ms == 7
    assert measure([ended("ok", one) for one in (1, 2, 3)], count_max=9).p95_ms == 3


def test_one_call_more_than_is_counted_is_told() -> None:
    figures = measure([ended("ok", 1)] * 11, count_max=10)
    assert (figures.count, figures.is_cut) == (10, True)


def test_failures_stand_by_code_the_most_frequent_first() -> None:
    calls = (
        [ended("ok", 1)] * 4 + [ended("uncertain", 1)] + [ended("conflict")] * 2 + [ended("cancelled", 9)] * 3
    )
    figures = measure(calls, count_max=100)
    assert (figures.answered, figures.uncertain, figures.failed) == (4, 1, 5)
    assert figures.failures == [("cancelled", 3), ("conflict", 2)]
    assert figures.answered_percent == 40
    assert figures.median_ms == 1, "a call that was never begun took no time"


def test_codes_beyond_those_shown_are_counted_together() -> None:
    calls = [ended(f"code-{number}", 1) for number in range(CODES_SHOWN_MAX + 2)]
    figures = measure(calls, count_max=100)
    assert len(figures.failures) == CODES_SHOWN_MAX
    assert figures.more_failures == 2
    assert figures.failed == CODES_SHOWN_MAX + 2
