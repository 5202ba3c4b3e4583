"""Times on the wire: RFC 3339, UTC, `Z`, microseconds. Source: contract stores 2.3."""

from datetime import UTC, datetime


def to_wire(moment: datetime) -> str:
    # strftime writes the year 999 with three digits
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def optional_to_wire(moment: datetime | None) -> str | None:
    return None if moment is None else to_wire(moment)


def to_wire_milliseconds(moment: datetime) -> str:
    """As the contract of document and HTTP memory writes times."""
    return to_wire(moment)[:-4] + "Z"
