"""Files that come from elsewhere, to be read one after the other: one file, a folder, or a ZIP.

Nothing is followed and nothing is unpacked: a link, a pipe, an encrypted or damaged member is told instead of read, and
every size is looked at while it is read, whatever an archive says of itself. Order is that of the names.
Source of the ZIP's structures: PKWARE APPNOTE 4.3.7, 4.3.12, 4.3.16.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Protocol

from memoryhub.errors import InvalidRequest

ZIP_DIRECTORY_BYTES_MAX = 4_194_304  # what lists the members; a reader keeps it in memory
_END, _END_BYTES, _COMMENT_BYTES_MAX = b"PK\x05\x06", 22, 65_535
_LOCATOR, _LOCATOR_BYTES = b"PK\x06\x07", 20
_ENCRYPTED = 0x1
_PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE_BYTES = 65_536
_HIDDEN = (".", "__MACOSX")
_TOO_LARGE = "The file has more than {} bytes."


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """`depth`: how many folders may stand above a file. `file_bytes`: of each; `all_bytes`: of all together.

    `hold`: what one file is read into, which is closed when the next is asked for: memory, unless it may be too large for that.
    """

    files: int
    file_bytes: int
    all_bytes: int
    depth: int
    hold: Callable[[], AbstractContextManager[IO[bytes]]] = BytesIO


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read. `name`: its path in the source, with `/`. `stream`: it stands at the start, until the next is asked for."""

    name: str
    stream: IO[bytes] = field(repr=False)

    @property
    def content(self) -> bytes:
        """The whole of it, in memory."""
        self.stream.seek(0)
        return self.stream.read()


@dataclass(frozen=True, slots=True)
class Unread:
    """What was found and not read. `reason`: a sentence."""

    name: str
    reason: str


type Found = SourceFile | Unread


class Source(Protocol):
    def files(self, limits: SourceLimits) -> Iterator[Found]:
        """Every file, or why it was not read. Raises: InvalidRequest when a limit of the whole is passed."""
        ...


def refuse_source(sentence: str) -> InvalidRequest:
    return InvalidRequest(sentence, error_code="import_invalid")


def refuse_large(sentence: str) -> InvalidRequest:
    return InvalidRequest(sentence, error_code="import_too_large")


def refuse_several(sentence: str) -> InvalidRequest:
    return InvalidRequest(sentence, error_code="import_of_several_users")


@dataclass
class _Budget:
    """What may still be read."""

    limits: SourceLimits
    files: int = 0
    all_bytes: int = 0

    def count(self) -> None:
        self.files += 1
        if self.files > self.limits.files:
            raise refuse_large(f"The source has more than {self.limits.files} files.")

    def take(self, name: str, source: IO[bytes]) -> Iterator[Found]:
        """One, which is read up to one byte more than a file may have."""
        with self.limits.hold() as held:
            size = _copy(source, held, bytes_max=self.limits.file_bytes + 1)
            if size > self.limits.file_bytes:
                yield Unread(name, _TOO_LARGE.format(self.limits.file_bytes))
                return
            self.all_bytes += size
            if self.all_bytes > self.limits.all_bytes:
                raise refuse_large(
                    f"The files of the source have more than {self.limits.all_bytes} bytes together."
                )
            held.seek(0)
            yield SourceFile(name, held)


def _copy(source: IO[bytes], held: IO[bytes], *, bytes_max: int) -> int:
    """How many bytes were copied."""
    size = 0
    while piece := source.read(min(_PIECE_BYTES, bytes_max - size)):
        size += held.write(piece)
    return size


@dataclass(frozen=True, slots=True)
class OneFile:
    """An open file that can seek, under a name for people."""

    name: str
    stream: IO[bytes]

    def files(self, limits: SourceLimits) -> Iterator[Found]:
        self.stream.seek(0)
        yield from _Budget(limits).take(self.name, self.stream)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine. Its files are opened from the folder they stand in, so no link is ever followed."""

    path: Path

    def files(self, limits: SourceLimits) -> Iterator[Found]:
        try:
            top = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise refuse_source(f"{self.path} is no folder that can be read: {error.strerror}.") from error
        yield from _walk(top, "", 0, _Budget(limits))


def _walk(folder: int, prefix: str, depth: int, budget: _Budget) -> Iterator[Found]:
    """Closes the folder."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, budget.limits.files + 1))
        for name in names:
            budget.count()
            yield from _visit(folder, name, prefix, depth, budget)
    finally:
        os.close(folder)


def _visit(folder: int, name: str, prefix: str, depth: int, budget: _Budget) -> Iterator[Found]:
    shown = prefix + name.encode(errors="backslashreplace").decode()
    problem = _find_name_problem(name)
    if problem is not None:
        yield Unread(shown, problem)
        return
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) and depth < budget.limits.depth:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            yield from _walk(inner, f"{shown}/", depth + 1, budget)
            return
        yield from _read_entry(folder, name, shown, mode, budget)
    except OSError as error:
        yield Unread(shown, f"It cannot be read: {error.strerror}.")


def _find_name_problem(name: str) -> str | None:
    with suppress(UnicodeEncodeError):
        name.encode()
        return "It is hidden, so it is left out." if name.startswith(_HIDDEN) else None
    return "Its name is not UTF-8."


def _read_entry(folder: int, name: str, shown: str, mode: int, budget: _Budget) -> Iterator[Found]:
    """Raises: OSError."""
    if not stat.S_ISREG(mode):
        yield Unread(shown, _say_kind(mode, budget.limits))
        return
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):  # another since it was looked at
            yield Unread(shown, _say_kind(mode=0, limits=budget.limits))
        else:
            yield from budget.take(shown, file)


def _say_kind(mode: int, limits: SourceLimits) -> str:
    if stat.S_ISDIR(mode):
        return f"It stands more than {limits.depth} folders deep."
    return "It is a link, and none is followed." if stat.S_ISLNK(mode) else "It is no plain file."


@dataclass(frozen=True, slots=True)
class ZipSource:
    """A ZIP in a file that can seek."""

    stream: IO[bytes]

    def files(self, limits: SourceLimits) -> Iterator[Found]:
        _check_directory(self.stream)
        budget = _Budget(limits)
        try:
            with zipfile.ZipFile(self.stream) as archive:
                members = sorted(archive.infolist(), key=lambda member: member.filename)
                yield from _read_members(archive, members, budget)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError) as error:
            raise refuse_source("The archive is damaged, or no ZIP.") from error


def is_zip(stream: IO[bytes]) -> bool:
    stream.seek(0)
    return stream.read(4) in (b"PK\x03\x04", _END)


def _check_directory(stream: IO[bytes]) -> None:
    """What would be read into memory at once, before it is. Raises: InvalidRequest."""
    size = stream.seek(0, os.SEEK_END)
    start = max(0, size - _END_BYTES - _COMMENT_BYTES_MAX - _LOCATOR_BYTES)
    stream.seek(start)
    tail = stream.read()
    at = len(tail) - _END_BYTES if tail[-_END_BYTES:].startswith(_END) else tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise refuse_source("The archive is damaged, or no ZIP.")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    is_large = tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_LOCATOR)
    if is_large or directory_bytes > ZIP_DIRECTORY_BYTES_MAX:
        raise refuse_large("The archive has too many members.")


def _read_members(
    archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], budget: _Budget
) -> Iterator[Found]:
    seen: set[str] = set()
    for member in members:
        if member.is_dir():
            continue
        budget.count()
        problem = _find_member_problem(member, seen, budget.limits)
        seen.add(member.filename)
        if problem is not None:
            yield Unread(_shown(member), problem)
        else:
            yield from _read_member(archive, member, budget)


def _shown(member: zipfile.ZipInfo) -> str:
    return member.filename if member.filename.isprintable() else repr(member.filename)


def _find_member_problem(member: zipfile.ZipInfo, seen: set[str], limits: SourceLimits) -> str | None:
    parts = member.filename.split("/")
    problem = next(filter(None, map(_find_name_problem, parts)), None)
    if not all(parts) or "\\" in member.filename or any(part in (".", "..") for part in parts):
        return "Its name is no path below the archive."
    if problem is not None:
        return problem
    if member.filename in seen:
        return "The archive holds it twice."
    if stat.S_ISLNK(member.external_attr >> 16):
        return "It is a link, and none is followed."
    if len(parts) - 1 > limits.depth:
        return f"It stands more than {limits.depth} folders deep."
    if member.flag_bits & _ENCRYPTED:
        return "It is encrypted."
    if member.compress_type not in _PLAIN_METHODS:
        return "It is compressed in a way that is not read here."
    return _TOO_LARGE.format(limits.file_bytes) if member.file_size > limits.file_bytes else None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: _Budget) -> Iterator[Found]:
    try:
        with archive.open(member) as file:
            yield from budget.take(_shown(member), file)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        yield Unread(_shown(member), "The archive is damaged in this member.")
