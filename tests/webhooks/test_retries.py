"""What follows an attempt, over everything that can happen."""

import pytest

from memoryhub.webhook_retries import (
    DELAYS_SECONDS,
    RETRY_AFTER_SECONDS_MAX,
    Decision,
    Outcome,
    decide,
    outcome_of,
    pause_seconds,
)

AGAIN = set(Outcome) - {Outcome.DELIVERED, Outcome.GONE}


def next_of(
    outcome: Outcome, tries: int = 1, retry_after: float | None = None, chance: float = 0
) -> Decision:
    return decide(outcome, tries=tries, retry_after=retry_after, chance=chance)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "delivered"),
        (204, "delivered"),
        (299, "delivered"),
        (301, "redirected"),
        (308, "redirected"),
        (400, "refused"),
        (410, "gone"),
        (429, "refused"),
        (500, "refused"),
        (101, "refused"),
    ],
)
def test_a_status_says_how_it_ended(status: int, outcome: str) -> None:
    assert outcome_of(status) == outcome


def test_success_is_the_end_and_a_receiver_that_is_gone_disables() -> None:
    assert next_of(Outcome.DELIVERED) == Decision(is_delivered=True)
    assert next_of(Outcome.GONE) == Decision(disables=True)


@pytest.mark.parametrize("outcome", sorted(AGAIN))
def test_everything_else_is_tried_again_until_the_tries_are_over(outcome: Outcome) -> None:
    delays = [next_of(outcome, tries).delay_seconds for tries in range(1, len(DELAYS_SECONDS) + 2)]
    assert delays == [*DELAYS_SECONDS, None]


def test_the_tries_last_for_about_a_day() -> None:
    assert 23 * 3_600 < sum(DELAYS_SECONDS) < 24 * 3_600
    assert list(DELAYS_SECONDS) == sorted(DELAYS_SECONDS)


def test_chance_makes_a_wait_longer_by_a_fifth_at_most() -> None:
    waits = [next_of(Outcome.REFUSED, 3, chance=chance).delay_seconds for chance in (0, 0.5, 1)]
    assert waits == pytest.approx([120, 132, 144])


def test_a_receiver_may_ask_for_more_time_and_not_for_less_or_for_ever() -> None:
    assert next_of(Outcome.REFUSED, 1, retry_after=90).delay_seconds == 90
    assert next_of(Outcome.REFUSED, 4, retry_after=1).delay_seconds == DELAYS_SECONDS[3]
    assert next_of(Outcome.REFUSED, 1, retry_after=10**9).delay_seconds == RETRY_AFTER_SECONDS_MAX


def test_a_receiver_that_fails_is_left_alone_longer_and_longer_up_to_five_minutes() -> None:
    assert [pause_seconds(failures) for failures in (1, 2, 5, 8, 9, 1_000_000)] == [2, 4, 32, 256, 300, 300]
