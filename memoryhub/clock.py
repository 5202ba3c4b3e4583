"""Times on the wire: RFC 3339, UTC, `Z`, microseconds. Source: contract stores 2.3."""

from datetime import UTC, datetime


def to_wire(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def optional_to_wire(moment: datetime | None) -> str | None:
    return None if moment is None else to_wire(moment)


def to_wire_milliseconds(moment: datetime) -> str:
    """As the contract of document and HTTP memory writes times."""
    return to_wire(moment)[:-4] + "Z"
