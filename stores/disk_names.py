"""Names of files for the paths of memories that every disk takes, and that never meet. Pure.

A path is its own name without the first slash, but: what some system forbids in a name stands as %XX; and a path that some
disk would take for another one, that begins with `_renamed`, or whose name would be too long, goes into the folder `_renamed`.
"""

import re
from collections.abc import Iterable
from itertools import count

SEGMENT_BYTES_MAX = 200
RENAMED_BYTES_MAX = 150  # of the end of a name that follows a number
RENAMED_FOLDER = "_renamed"
_FORBIDDEN = re.compile(r'[\\:*?"<>|%\x00-\x1f\x7f]|[ .]+$')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows


def disk_names(paths: Iterable[str]) -> dict[str, str]:
    """`{path: name}`: relative, no two equal on any disk, none a folder of another, never `..`."""
    taken = _Taken()
    return {path: taken.name_of(path) for path in paths}


class _Taken:
    """What is in use, as a disk sees it that knows no case."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self.numbers = count(1)

    def name_of(self, path: str) -> str:
        segments = [_portable(segment) for segment in path.removeprefix("/").split("/")]
        name = "/".join(segments)
        if _fits(segments) and self._take(name):
            return name
        end = segments[-1].encode()[-RENAMED_BYTES_MAX:].decode(errors="ignore")
        return f"{RENAMED_FOLDER}/{next(self.numbers):04}-{end}"

    def _take(self, name: str) -> bool:
        folded = name.casefold()
        parts = folded.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))}
        if folded in self.files or folded in self.folders or above & self.files:
            return False
        self.files.add(folded)
        self.folders |= above
        return True


def _fits(segments: list[str]) -> bool:
    is_short = all(len(segment.encode()) <= SEGMENT_BYTES_MAX for segment in segments)
    return is_short and segments[0].casefold() != RENAMED_FOLDER


def _portable(segment: str) -> str:
    escaped = _FORBIDDEN.sub(lambda found: "".join(f"%{ord(char):02X}" for char in found[0]), segment)
    return f"%{ord(escaped[0]):02X}{escaped[1:]}" if _DEVICE.fullmatch(escaped) else escaped
