"""Where the file tools may go: a path is resolved, tested, and then opened as what it was resolved to.

`.` and `..` go first, by the letters; then every link is followed, the last one and a dangling one too. What is left must
lie in the working directory or in a mount. It is opened from `/` downwards, each name from the descriptor of the one
before and never through a link: so whoever swaps a directory for a link between the test and the opening is refused.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stores.mount.roots import Mount

PATH_BYTES_MAX = 4_096  # of a path; Linux
TRIES_MAX = 10  # of a path that somebody else keeps changing
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED = (errno.ELOOP, errno.ENOTDIR)
_REASONS = {
    errno.ENOENT: "no such file or directory",
    errno.ENOTDIR: "a part of the path is no directory",
    errno.EISDIR: "it is a directory",
    errno.ELOOP: "its links lead in a circle, or it was changed just now",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
    errno.ENXIO: "it is no regular file",
}


class ToolError(Exception):
    """What a tool will not or cannot do, in one sentence for the model."""


def reason_of(error: OSError) -> str:
    return _REASONS.get(error.errno or 0, (error.strerror or "it failed").lower())


def shown(path: str) -> str:
    """A path as text: of a name that is no UTF-8 with marks in place of its bytes."""
    return os.fsencode(path).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Place:
    """An existing or future file, inside a root. `folder`: the descriptor of its directory. `mount`: that it lies in."""

    path: str
    folder: int
    name: str
    mount: Mount | None


class Roots:
    """The working directory and the mounts, as they are on the disk when this is made: the stores are downloaded by then."""

    def __init__(self, workdir: Path, mounts: Iterable[Mount]) -> None:
        """Raises: ValueError for one that is no directory."""
        self.workdir = _real_directory(workdir)
        self.mounts = [(_real_directory(mount.root), mount) for mount in mounts]

    def resolve(self, path: str) -> str:
        """The path without links, inside a root. Raises: ToolError."""
        _check_path(path)
        plain = os.path.normpath(os.path.join(self.workdir, path))
        resolved = os.path.realpath(plain)
        if not any(is_within(resolved, root) for root in (self.workdir, *(root for root, _ in self.mounts))):
            raise ToolError(
                f"{path}: It is outside the working directory {shown(self.workdir)} and the mounted stores."
            )
        return resolved

    def mount_of(self, resolved: str) -> Mount | None:
        return next((mount for root, mount in self.mounts if is_within(resolved, root)), None)

    def require_writable(self, path: str, resolved: str) -> None:
        """Raises: ToolError that names the file and the root."""
        for root, mount in self.mounts:
            if mount.read_only and is_within(resolved, root):
                raise ToolError(
                    f"{path}: It is inside {shown(root)}, the store {mount.name}, which is read-only in this session."
                )

    @contextmanager
    def open_place(self, path: str, *, writes: bool = False) -> Iterator[Place]:
        """The directory of a path held open; with `writes` those that are missing are made. Raises: ToolError, OSError."""
        resolved, folder = self._open(path, writes=writes)
        if resolved == self.workdir or any(resolved == root for root, _ in self.mounts):
            os.close(folder)
            raise ToolError(f"{path}: It is a directory.")
        try:
            yield Place(resolved, folder, os.path.basename(resolved), self.mount_of(resolved))
        finally:
            os.close(folder)

    def _open(self, path: str, *, writes: bool) -> tuple[str, int]:
        for _ in range(TRIES_MAX):
            resolved = self.resolve(path)
            if writes:
                self.require_writable(path, resolved)
            try:
                return resolved, open_directory(os.path.dirname(resolved), create=writes)
            except OSError as error:
                if error.errno not in _MOVED or self.resolve(path) == resolved:
                    raise
        raise ToolError(f"{path}: Somebody else keeps changing it; try again.")

    @contextmanager
    def open_tree(self, path: str | None) -> Iterator[tuple[str, int]]:
        """A directory to look through, held open: the working directory when none is named. Raises: ToolError, OSError."""
        resolved = self.workdir if path is None else self.resolve(path)
        folder = open_directory(resolved)
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            yield resolved, readable
        finally:
            os.close(readable)
            os.close(folder)


def is_within(path: str, root: str) -> bool:
    """By whole names; both without links."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def open_directory(path: str, *, create: bool = False) -> int:
    """A descriptor of a directory, reached from `/` without following a link. Raises: OSError."""
    held = os.open("/", _PASS)
    for name in path.split("/"):
        if name == "":
            continue
        assert name not in (".", ".."), path
        try:
            inner = _step(held, name, create=create)
        finally:
            os.close(held)
        held = inner
    return held


def _step(folder: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _PASS, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # made by somebody else meanwhile
        os.mkdir(name, dir_fd=folder)
    return os.open(name, _PASS, dir_fd=folder)


def _check_path(path: str) -> None:
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise ToolError("The path holds half a character.") from error
    if not path or "\0" in path or size > PATH_BYTES_MAX:
        raise ToolError(f"The path must have 1 to {PATH_BYTES_MAX} bytes, and no NUL.")


def _real_directory(path: Path) -> str:
    try:
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        raise ValueError(f"{path} is not there: mount the stores before the tools are made.") from error
    if not os.path.isdir(real):
        raise ValueError(f"{path} is no directory.")
    return real
