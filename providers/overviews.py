"""The overview of a collection: one line a document, as a model reads it. Pure.

Source: contract of document and HTTP memory, section 7.1.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from providers.limits import OVERVIEW_BYTES_MAX, OVERVIEW_LINES_MAX

# What would break a line or pass for the next field: every control character and line or paragraph separator.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class OverviewEntry:
    id: str
    title: str
    summary: str
    updated_at: datetime


def write_overview[Entry: OverviewEntry](entries: Iterable[Entry]) -> tuple[str, list[Entry]]:
    """(text, the entries that stand in it): whole lines, from the first that is given until one does not fit."""
    lines: list[str] = []
    listed: list[Entry] = []
    size = 0
    for entry in entries:
        line = _line(entry)
        size += len(line.encode()) + (1 if lines else 0)
        if len(lines) == OVERVIEW_LINES_MAX or size > OVERVIEW_BYTES_MAX:
            break
        lines.append(line)
        listed.append(entry)
    return "\n".join(lines), listed


def _line(entry: OverviewEntry) -> str:
    day = entry.updated_at.astimezone(UTC).date().isoformat()
    return " | ".join((entry.id, _field(entry.title), _field(entry.summary), day))


def _field(text: str) -> str:
    return _BREAKS.sub(" ", text).replace("|", "\\|")
