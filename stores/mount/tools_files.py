"""Whole files for the tools: read as they are, and replaced at once. Nothing translates line ends.

A file is written beside its place and then renamed to it, so that nobody, the mount's next pass included, sees half of
it; a link that stands there by then is replaced and not followed.
"""

import os
import secrets
import stat
from contextlib import suppress

from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.mount.constants import WRITING_PREFIX
from stores.mount.tools_paths import Place, ToolError

FILE_BYTES_MAX = 262_144  # of a file that is read whole or edited. Source: stores contract, section 7
WRITTEN_BYTES_MAX = 4_194_304  # ours
SCANNED_BYTES_MAX = 268_435_456  # ours: of a file of which some lines are read

_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_whole(place: Place) -> tuple[bytes, os.stat_result]:
    """The content, and what the file was when it was read. Raises: ToolError, OSError."""
    descriptor = _open_regular(place, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        content = file.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise ToolError(
            f"{place.path}: It has {max(facts.st_size, len(content))} bytes, more than {FILE_BYTES_MAX}: read some lines of it with view_range."
        )
    return content, facts


def read_lines(place: Place, first: int, last: int) -> bytes:
    """The lines from the first, which is 1, to the last, both included; -1 is the end. Raises: ToolError, OSError."""
    taken: list[bytes] = []
    size = scanned = 0
    number = 1
    with os.fdopen(_open_regular(place, os.O_RDONLY), "rb") as file:
        while (last == -1 or number <= last) and (piece := file.readline(FILE_BYTES_MAX + 1)):
            scanned += len(piece)
            if scanned > SCANNED_BYTES_MAX:
                raise ToolError(f"{place.path}: The lines begin after {SCANNED_BYTES_MAX} bytes.")
            if number >= first:
                size += len(piece)
                taken.append(piece)
            if size > FILE_BYTES_MAX:
                raise ToolError(
                    f"{place.path}: The lines have more than {FILE_BYTES_MAX} bytes; ask for fewer."
                )
            number += piece.endswith(b"\n")
    return b"".join(taken)


def as_text(place: Place, content: bytes) -> str:
    """Raises: ToolError."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{place.path}: It is not UTF-8 text.") from error


def replace_file(place: Place, content: bytes, *, unless_changed: os.stat_result | None = None) -> None:
    """Put the content in place of the file. `unless_changed`: as it was when it was read. Raises: ToolError, OSError."""
    _check_size(place, content)
    before = _stat_existing(place)
    if unless_changed is not None and (before is None or _mark(before) != _mark(unless_changed)):
        raise ToolError(f"{place.path}: Somebody else changed it meanwhile; read it again.")
    written = WRITING_PREFIX + secrets.token_hex(8)
    descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o666, dir_fd=place.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if before is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        os.rename(written, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(written, dir_fd=place.folder)
        raise


def _check_size(place: Place, content: bytes) -> None:
    """A file of a mount that no memory can hold would never be saved, and nobody would say so."""
    limit = WRITTEN_BYTES_MAX if place.mount is None else MEMORY_CONTENT_BYTES_MAX
    if len(content) > limit:
        where = "a file here" if place.mount is None else f"a memory of the store {place.mount.name}"
        raise ToolError(f"{place.path}: It would have {len(content)} bytes; {where} holds at most {limit}.")


def _stat_existing(place: Place) -> os.stat_result | None:
    """Of the file that may be replaced; None when there is none. Raises: ToolError, OSError."""
    try:
        descriptor = _open_regular(place, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _mark(facts: os.stat_result) -> tuple[int, ...]:
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def _open_regular(place: Place, flags: int) -> int:
    """Opened and then looked at, so that nothing can take its place in between; a pipe or a device is only opened."""
    descriptor = os.open(place.name, flags | _OPEN, dir_fd=place.folder)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
    raise ToolError(f"{place.path}: It is {kind}.")
