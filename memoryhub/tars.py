"""Tar files as the hub writes and accepts them: plain files with short names, and nothing else.

The general reader of the standard library follows headers that name links, devices, sparse files and members of any
size; this one knows none of them. Source: POSIX.1-1988 ustar; GNU's headers for such members differ in nothing read here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

BLOCK_BYTES = 512
RECORD_BYTES = 10_240  # a tar ends with zeros up to a multiple of this
NAME_BYTES_MAX = 100
SIZE_BYTES_MAX = 0o777_7777_7777
_GZIP, _MAGIC = b"\x1f\x8b", slice(257, 262)
_KINDS = {
    "1": "a hard link",
    "2": "a symbolic link",
    "3": "a device",
    "4": "a device",
    "5": "a folder",
    "6": "a pipe",
    "S": "a sparse file",
}


class TarError(ValueError):
    """The bytes are not a tar the hub accepts. The message names the member and says why."""


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    offset: int
    size: int


def member_header(name: str, size: int) -> bytes:
    """The block before a file; the same for the same name and size."""
    assert len(name.encode()) <= NAME_BYTES_MAX, "members have short names"
    assert size <= SIZE_BYTES_MAX, "a member's size fits in its field"
    fields = (
        _field(name, 100) + _octal(0o644, 8) + _octal(0, 8) + _octal(0, 8) + _octal(size, 12) + _octal(0, 12)
    )
    rest = b"0" + bytes(100) + b"ustar\0" + b"00" + bytes(32 + 32 + 8 + 8 + 155 + 12)
    checksum = sum(fields) + sum(rest) + 8 * 0x20
    return fields + f"{checksum:06o}\0 ".encode() + rest


def padding(size: int) -> bytes:
    """The zeros behind a file of this size."""
    return bytes(-size % BLOCK_BYTES)


def end_of_tar(written: int) -> bytes:
    """What follows the last member when `written` bytes stand before it."""
    end = 2 * BLOCK_BYTES
    return bytes(end + -(written + end) % RECORD_BYTES)


def member_bytes(size: int) -> int:
    """What a file of this size takes in a tar."""
    return BLOCK_BYTES + size + -size % BLOCK_BYTES


def read_members(tar: IO[bytes], *, members_max: int) -> Iterator[Member]:
    """Every member in order, without its content. `tar` can seek, and is left anywhere. Raises: TarError."""
    end = tar.seek(0, 2)
    offset = count = 0
    while (member := _read_member(tar, offset, end)) is not None:
        count += 1
        if count > members_max:
            raise TarError(f"The archive has more than {members_max} members.")
        yield member
        offset = member.offset + member.size + -member.size % BLOCK_BYTES
    _check_end(tar, offset)


def _read_member(tar: IO[bytes], offset: int, end: int) -> Member | None:
    """The member whose header stands at the offset; None at the end of the tar."""
    tar.seek(offset)
    header = tar.read(BLOCK_BYTES)
    if offset == 0 and header.startswith(_GZIP):
        raise TarError("The archive is compressed: send a plain tar.")
    if len(header) < BLOCK_BYTES:
        raise TarError(f"The archive is cut off after {end} bytes.")
    if not any(header):
        return None
    member = _parse_header(header, offset)
    if member.offset + member.size > end:
        raise TarError(f"{member.name}: The archive is cut off within this member.")
    return member


def _parse_header(header: bytes, offset: int) -> Member:
    checksum = sum(header[:148]) + 8 * 0x20 + sum(header[156:])
    if header[_MAGIC] != b"ustar" or _number(header[148:156]) != checksum:
        raise TarError(f"At byte {offset} stands no tar header.")
    raw_name, kind = header[:100].split(b"\0")[0], chr(header[156])
    name = raw_name.decode("ascii", "backslashreplace")
    if not name.isprintable():
        name = name.encode("unicode_escape").decode()
    if kind not in ("0", "\0"):
        raise TarError(f"{name}: This is {_KINDS.get(kind, 'an extended header')}, not a plain file.")
    if any(header[345:500]) and header[257:263] == b"ustar\0":
        raise TarError(f"{name}: Its name is longer than {NAME_BYTES_MAX} bytes.")
    size = _number(header[124:136])
    if size is None:
        raise TarError(f"{name}: Its size cannot be read.")
    return Member(name, offset + BLOCK_BYTES, size)


def _check_end(tar: IO[bytes], offset: int) -> None:
    """Two blocks of zeros at least, and nothing but zeros behind the last member."""
    tar.seek(offset)
    size = 0
    while chunk := tar.read(65_536):
        size += len(chunk)
        if chunk.count(0) != len(chunk):
            raise TarError("Something stands behind the end of the archive.")
    if size < 2 * BLOCK_BYTES:
        raise TarError("The archive is cut off before its end.")


def _field(text: str, width: int) -> bytes:
    return text.encode().ljust(width, b"\0")


def _octal(number: int, width: int) -> bytes:
    return f"{number:0{width - 1}o}\0".encode()


def _number(field: bytes) -> int | None:
    digits = field.rstrip(b"\0 ").lstrip(b" ")
    if not digits or not digits.isdigit() or b"8" in digits or b"9" in digits:
        return None
    return int(digits, 8)
