"""What a source gives: records to be, and what is refused. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.source_files import Found, SourceFile, Unread
from memoryhub.strict_json import StrictJSONError, check_text, parse
from providers.contract import Provenance
from providers.limits import IMPORT_DOCUMENT_VALUES_MAX, IMPORT_PART_BYTES

KEY_DIGITS = 40
SHOWN_LENGTH_MAX = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record to be. `where`: file and place, for people; `key`: of its save, the same each time the source is read.

    `fields`: of a MemoryRecord, without its binding and, unless the source says them, origin and provenance.
    `record_id`: what it was called by the hub that exported it.
    """

    where: str
    key: str
    fields: Mapping[str, Any] = field(repr=False)
    record_id: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is not taken. `reason`: a sentence."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Of somebody else than was asked for."""

    where: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """`user`: whose memories are taken, of a source that has several users'."""

    user: str | None = None


type Item = Candidate | Refusal | LeftOut
type Read = Callable[[Iterable[Found], Wishes], Iterator[Item]]


def key_of(source: str, *identity: str) -> str:
    """The key of what has no short name of its own."""
    return f"import:{source}:{sha256_hex(canonical_json(list(identity)))[:KEY_DIGITS]}"


def refuse_unread(unread: Unread) -> Refusal:
    return Refusal(unread.name, unread.reason)


def read_text(file: SourceFile) -> str | Refusal:
    try:
        text = file.content.decode("utf-8-sig")
        check_text(text)
    except (UnicodeDecodeError, StrictJSONError):
        return Refusal(file.name, "It is not UTF-8 text.")
    return text


def read_json(content: bytes, where: str) -> Any | Refusal:
    if content.count(b"{") + content.count(b"[") > IMPORT_DOCUMENT_VALUES_MAX:
        return Refusal(where, f"It holds more than {IMPORT_DOCUMENT_VALUES_MAX:,} objects and lists.")
    try:
        return parse(content)
    except StrictJSONError as error:
        return Refusal(where, str(error).replace("The body", "It", 1))


def read_moment(value: Any) -> datetime | None:
    """Aware; what names no zone is UTC. Raises: ValueError for what is neither absent nor a time."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("its time is not a text")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{value[:SHOWN_LENGTH_MAX]!r} is no time") from error


def imported(key: str) -> dict[str, Any]:
    """Where a record comes from that another product kept."""
    return {"provenance": Provenance("import", (key,))}


def split_text(text: str) -> list[str]:
    """Parts of whole paragraphs, as many as fit into IMPORT_PART_BYTES; a longer paragraph is cut at lines, blanks or characters.

    Nothing but blank lines between parts is left out.
    """
    parts: list[str] = []
    held = ""
    for piece in _pieces(text):
        if held and len((held + piece).encode()) > IMPORT_PART_BYTES:
            parts.append(held)
            held = ""
        held += piece
    parts.append(held)
    return [part.strip("\r\n") for part in parts if part.strip()]


def _pieces(text: str) -> Iterator[str]:
    """Paragraphs with the blank lines behind them, none longer than a part; joined they are the text."""
    paragraph: list[str] = []
    is_ended = False
    for line in text.splitlines(keepends=True):
        is_blank = not line.strip()
        if is_ended and not is_blank:
            yield from _cut("".join(paragraph))
            paragraph = []
        is_ended = is_blank and bool(paragraph)
        paragraph.append(line)
    yield from _cut("".join(paragraph))


def _cut(paragraph: str) -> Iterator[str]:
    at = 0
    while len((part := paragraph[at : at + IMPORT_PART_BYTES + 1]).encode()) > IMPORT_PART_BYTES:
        head = part.encode()[:IMPORT_PART_BYTES].decode(errors="ignore")
        end = max(head.rfind("\n"), head.rfind(" ")) + 1 or len(head)
        yield head[:end]
        at += end
    yield part
