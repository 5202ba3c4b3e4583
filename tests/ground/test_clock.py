"""Times on the wire, at the ends of what a time can be."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoryhub.clock import to_wire, to_wire_milliseconds


@pytest.mark.parametrize(
    ("moment", "wire"),
    [
        (datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30T12:00:00.000000Z"),
        (datetime(2026, 11, 30, 12, tzinfo=timezone(timedelta(hours=2.5))), "2026-11-30T09:30:00.000000Z"),
        (datetime(999, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "0999-01-02T03:04:05.000006Z"),
        (datetime.min.replace(tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_written_whole_and_read_again(moment: datetime, wire: str) -> None:
    assert to_wire(moment) == wire
    assert datetime.fromisoformat(wire) == moment
    assert to_wire_milliseconds(moment) == wire[:-4] + "Z"
