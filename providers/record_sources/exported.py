"""The records of a scope as lines of JSON: what the hub exports, and takes again. Pure.

    {"agent", "format": "memoryhub.records", "format_version": 1, "scope"}
    {"author", "created_at", "id", "occurred_at", "origin", "provenance", "tags", "text", "thread", "title", "version"}   for each, oldest first
    {"records": how many, "sha256": of all bytes before this line}

Each line is canonical (RFC 8785) and ends with LF, so equal scopes give equal bytes, and a file that was cut off is no export.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memoryhub.digests import canonical_json
from memoryhub.source_files import Found, SourceFile, refuse_source
from memoryhub.strict_json import StrictJSONError, parse_object
from providers.contract import ORIGINS, Provenance
from providers.limits import EXPORTED_LINE_BYTES_MAX, PROVENANCE_EVENTS_MAX
from providers.record_sources.items import Candidate, Item, Refusal, Wishes, read_moment, refuse_unread

NAME = "memoryhub"
FORMAT, FORMAT_VERSION = "memoryhub.records", 1
_CAME_FROM = f"import:{NAME}:"  # in front of the id that a record had where it was exported first
_KEPT = ("text", "thread", "author", "title")
LINE_KEYS = frozenset((*_KEPT, "id", "version", "origin", "provenance", "tags", "occurred_at", "created_at"))
_ID_BYTES_MAX = 200


def header_line(agent: str, scope: str) -> bytes:
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "agent": agent, "scope": scope}
    return canonical_json(head) + b"\n"


def record_line(wire: dict[str, Any]) -> bytes:
    """`wire`: of LINE_KEYS, each with its value or null."""
    assert wire.keys() == LINE_KEYS, "a line has every field"
    return canonical_json(wire) + b"\n"


def closing_line(records: int, sha256: str) -> bytes:
    return canonical_json({"records": records, "sha256": sha256}) + b"\n"


@dataclass
class _Lines:
    """What was read so far."""

    name: str
    number: int = 0
    records: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def where(self) -> str:
        return f"{self.name}, line {self.number}"


def read_exported(files: Iterable[Found], wishes: Wishes) -> Iterator[Item]:
    """Raises: InvalidRequest for what is no whole export."""
    for file in files:
        if isinstance(file, SourceFile):
            yield from _read(file)
        else:
            yield refuse_unread(file)


def _read(file: SourceFile) -> Iterator[Item]:
    lines = _Lines(file.name)
    is_closed = False
    while raw := file.stream.readline(EXPORTED_LINE_BYTES_MAX + 1):
        lines.number += 1
        if is_closed:
            raise refuse_source(f"{lines.where}: Something stands behind the end of the export.")
        value = _parse(raw, lines)
        if lines.number == 1:
            _check_header(value, lines)
        elif "records" in value:
            _check_closing(value, lines)
            is_closed = True
        else:
            lines.records += 1
            yield _read_record(value, lines)
        lines.digest.update(raw)
    if not is_closed:
        raise refuse_source(f"{lines.name}: The export is cut off after {lines.number} lines.")


def _parse(raw: bytes, lines: _Lines) -> dict[str, Any]:
    if len(raw) > EXPORTED_LINE_BYTES_MAX:
        raise refuse_source(f"{lines.where}: It is longer than {EXPORTED_LINE_BYTES_MAX} bytes.")
    try:
        value = parse_object(raw)
        if canonical_json(value) + b"\n" == raw:
            return value
    except (StrictJSONError, ValueError) as error:
        raise refuse_source(f"{lines.where}: It is no line of an export of records.") from error
    raise refuse_source(f"{lines.where}: It is not in canonical form (RFC 8785).")


def _check_header(value: dict[str, Any], lines: _Lines) -> None:
    if value.get("format") != FORMAT or value.get("format_version") != FORMAT_VERSION:
        raise refuse_source(f"{lines.where}: It is no export of records of a version that is known here.")


def _check_closing(value: dict[str, Any], lines: _Lines) -> None:
    if value != {"records": lines.records, "sha256": lines.digest.hexdigest()}:
        raise refuse_source(f"{lines.where}: The lines before are not those that were exported.")


def _read_record(value: dict[str, Any], lines: _Lines) -> Item:
    if value.keys() != LINE_KEYS:
        return Refusal(lines.where, "It is no record: its fields are not those of an export.")
    record_id, provenance = value["id"], value["provenance"]
    try:
        given = Provenance.read(provenance)
        occurred_at = read_moment(value["occurred_at"])
    except (TypeError, ValueError) as error:
        return Refusal(lines.where, f"It is no record: {error}.")
    if not isinstance(record_id, str) or not 1 <= len(record_id.encode()) <= _ID_BYTES_MAX:
        return Refusal(lines.where, f"Its id must have 1 to {_ID_BYTES_MAX} bytes.")
    if value["origin"] not in ORIGINS:
        return Refusal(lines.where, f"Its origin must be one of {', '.join(ORIGINS)}.")
    first_id, provenance = _trace(record_id, given)
    fields = {name: value[name] for name in _KEPT} | {"tags": value["tags"] or [], "occurred_at": occurred_at}
    fields |= {"origin": value["origin"], "provenance": provenance}
    return Candidate(lines.where, _CAME_FROM + first_id, fields, record_id=first_id)


def _trace(record_id: str, given: Provenance) -> tuple[str, Provenance]:
    """The id that it had first, and its provenance with that at the end: so it is one record on whatever way it comes back."""
    last = given.event_ids[-1] if given.event_ids else ""
    if last.startswith(_CAME_FROM):
        return last.removeprefix(_CAME_FROM), given
    events = given.event_ids[: PROVENANCE_EVENTS_MAX - 1]
    return record_id, Provenance(given.thread_id, (*events, _CAME_FROM + record_id))
