"""One look at a whole folder: the digest of every regular file, the marker, and what is left out and why."""

import errno
import hashlib
import os
import stat
import time
from dataclasses import dataclass, field

from memoryhub.digests import sha256_hex
from stores.limits import MEMORY_CONTENT_BYTES_MAX, PATH_SEGMENTS_MAX
from stores.mount.constants import (
    FOREIGN_MARKER,
    MARKER,
    MARKER_VERSION,
    SCANNED_MAX,
    STAMP_SECONDS,
    WRITING_PREFIX,
)
from stores.mount.folders import OpenFolder, read_file
from stores.mount.ignores import Ignores

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ScanFailedError(Exception):
    """The folder could not be read whole: nothing may be concluded from what was not seen."""


@dataclass(slots=True)
class Scan:
    """`files`: path -> digest; of a file too large for a memory, a word that equals no digest.

    `held`: paths whose file cannot be judged, so nothing may happen to them. `odd`: path or shown name -> what it is.
    `marker`: True when it is right, False when it is wrong, None when there is none.
    """

    files: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    odd: dict[str, str] = field(default_factory=dict)
    marker: bool | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """`rested`: nothing can have changed within the grain of the clock since it was hashed."""

    stamp: tuple[int, int, int, int]
    digest: str
    rested: bool


class Scanner:
    """Remembers digests between scans, so that a folder at rest is not read again."""

    def __init__(self, store_id: str, ignores: Ignores) -> None:
        self.ignores = ignores
        self._marker_digest = sha256_hex(marker_text(store_id))
        self._known: dict[str, _Known] = {}

    def scan(self, folder: OpenFolder) -> Scan:
        """Raises: ScanFailedError, OSError."""
        found = Scan()
        seen: dict[str, _Known] = {}
        walk = _Walk(self, found, seen)
        walk.folder(os.dup(folder.descriptor), "")
        self._known = seen
        return found

    def marker_is_right(self, folder: OpenFolder) -> bool:
        return folder.digest(MARKER) == self._marker_digest

    def digest_of(self, folder: int, name: str, path: str, facts: os.stat_result) -> _Known | None:
        """None when it is no regular file any more."""
        stamp = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
        known = self._known.get(path)
        if known is not None and known.rested and known.stamp == stamp:
            return known
        rested = time.time() - max(facts.st_mtime, facts.st_ctime) > STAMP_SECONDS
        if facts.st_size > MEMORY_CONTENT_BYTES_MAX:
            return _Known(stamp, f"too large: {facts.st_size} {facts.st_mtime_ns}", rested)
        content = read_file(folder, name)
        if content is None:
            return None
        return _Known(stamp, hashlib.sha256(content).hexdigest(), rested)

    def take_marker(self, found: Scan) -> None:
        digest = found.files.pop(MARKER, None)
        found.files.pop(FOREIGN_MARKER, None)
        found.marker = None if digest is None else digest == self._marker_digest


class _Walk:
    """One scan under way."""

    def __init__(self, scanner: Scanner, found: Scan, seen: dict[str, _Known]) -> None:
        self.scanner, self.found, self.seen = scanner, found, seen
        self.count = 0

    def folder(self, descriptor: int, path: str) -> None:
        """Takes the descriptor over. Folders are opened one at a time from their parent: at most one per level is open."""
        folders = []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if self._is_folder(descriptor, entry, f"{path}/{entry.name}"):
                        folders.append(entry.name)
            if not path:
                self.scanner.take_marker(self.found)
            for name in folders:
                self._enter(descriptor, name, f"{path}/{name}")
        finally:
            os.close(descriptor)

    def _enter(self, descriptor: int, name: str, path: str) -> None:
        if path.count("/") >= PATH_SEGMENTS_MAX:
            self.found.odd[path] = "too deep"
            return
        try:
            inner = os.open(name, _FOLDER, dir_fd=descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if error.errno == errno.ELOOP:
                return
            raise ScanFailedError(f"The folder {path} cannot be read: {error.strerror}.") from error
        self.folder(inner, path)

    def _is_folder(self, descriptor: int, entry: os.DirEntry[str], path: str) -> bool:
        """Notes a file; says whether it is a folder to go into."""
        self.count += 1
        if self.count > SCANNED_MAX:
            raise ScanFailedError(f"The folder holds more than {SCANNED_MAX} names.")
        if entry.name.startswith(WRITING_PREFIX) or self.scanner.ignores.covers(path):
            return False
        try:
            facts = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not path.isascii() and not _is_text(path):
            self.found.odd[os.fsencode(path).decode(errors="backslashreplace")] = "its name is not UTF-8"
            return False
        if stat.S_ISDIR(facts.st_mode):
            return True
        self._note_file(descriptor, entry.name, path, facts)
        return False

    def _note_file(self, descriptor: int, name: str, path: str, facts: os.stat_result) -> None:
        if not stat.S_ISREG(facts.st_mode):
            self.found.odd[path] = "it is no regular file"
        elif facts.st_nlink > 1:
            self.found.held.add(path)
            self.found.odd[path] = "it is linked from elsewhere too"
        else:
            self._note_digest(descriptor, name, path, facts)

    def _note_digest(self, descriptor: int, name: str, path: str, facts: os.stat_result) -> None:
        try:
            known = self.scanner.digest_of(descriptor, name, path, facts)
        except PermissionError:
            self.found.held.add(path)
            self.found.odd[path] = "it cannot be read"
            return
        if known is None:
            return
        self.seen[path] = known
        self.found.files[path] = known.digest


def marker_text(store_id: str) -> str:
    return f"version {MARKER_VERSION}\n{store_id}"


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
