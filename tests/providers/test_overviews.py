"""The overview of a collection. Contract, section 7.1."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from providers.limits import OVERVIEW_BYTES_MAX
from providers.overviews import OverviewEntry, write_overview

NOON = datetime(2026, 9, 10, 12, tzinfo=UTC)


def entry(
    id_: str = "team-a", title: str = "Team A", summary: str = "", at: datetime = NOON
) -> OverviewEntry:
    return OverviewEntry(id_, title, summary, at)


def test_a_line_has_id_title_summary_and_day() -> None:
    text, listed = write_overview([entry(title="Team A playbook", summary="Deploy only before noon.")])
    assert text == "team-a | Team A playbook | Deploy only before noon. | 2026-09-10"
    assert len(listed) == 1


def test_nothing_is_empty() -> None:
    assert write_overview([]) == ("", [])


def test_the_day_is_that_of_utc() -> None:
    late = datetime(2026, 9, 10, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert write_overview([entry(at=late)])[0].endswith("2026-09-11")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\r\nb", "a b"),
        ("a\tb", "a b"),
        ("a\u2028b", "a b"),
        ("a\x85b", "a b"),
        ("a|b", "a\\|b"),
        ("a | b", "a \\| b"),
    ],
)
def test_a_field_stays_on_its_line_and_in_its_place(written: str, shown: str) -> None:
    text, _ = write_overview([entry(title=written)])
    assert text == f"team-a | {shown} |  | 2026-09-10"


def test_fifty_lines_at_most() -> None:
    text, listed = write_overview(entry(f"d{number}") for number in range(60))
    assert (len(listed), len(text.splitlines()), listed[-1].id) == (50, 50, "d49")


def test_lines_of_full_size_stop_at_whole_ones() -> None:
    full = [entry("i" * 128, "t" * 240, "s" * 240) for _ in range(30)]
    text, listed = write_overview(full)
    assert (len(listed), len(text.encode())) == (26, 26 * 627 + 25)


def test_a_line_that_just_fits_is_shown_and_one_byte_more_is_not() -> None:
    filler = [entry("i" * 128, "t" * 240, "s" * 240) for _ in range(26)]
    used = len(write_overview(filler)[0].encode())
    room = OVERVIEW_BYTES_MAX - used - 1 - len("i |  |  | 2026-09-10")
    assert 0 < room < 240
    assert len(write_overview([*filler, entry("i", "t" * room)])[1]) == 27
    assert len(write_overview([*filler, entry("i", "t" * (room + 1))])[1]) == 26
