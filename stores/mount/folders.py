"""A folder held by its descriptor: each name below it is opened from its parent's descriptor, and no link is followed.

Whoever works in the folder may replace any part of a path at any moment, so a path is never checked first and used then.
Paths are those of memories: `/a/b`, where every character but `/` is an ordinary one.
"""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.mount.constants import FILE_MODE, FOLDER_MODE, WRITING_PREFIX
from stores.mount.exchanges import exchange

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_TRIES_MAX = 10  # of a replacement, while somebody else replaces the same name


class InTheWayError(Exception):
    """Something that is no folder stands where the path needs one. `path`: of that."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is no folder")
        self.path = path


class OpenFolder:
    """A folder that is open: by `open_folder`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @contextmanager
    def parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a path lies in, and the path's last name.

        Raises: InTheWayError; FileNotFoundError for a folder that is not there, unless it is to be created.
        """
        names = path.split("/")[1:]
        held = os.dup(self.descriptor)
        try:
            for index, name in enumerate(names[:-1]):
                try:
                    inner = _step(held, name, create=create)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        raise InTheWayError("/" + "/".join(names[: index + 1])) from error
                    raise
                os.close(held)
                held = inner
            yield held, names[-1]
        finally:
            os.close(held)

    def read(self, path: str) -> bytes | None:
        """None when there is no regular file, or one that is linked from elsewhere too or larger than a memory may be."""
        try:
            with self.parent(path) as (folder, name):
                return read_file(folder, name)
        except (FileNotFoundError, InTheWayError):
            return None

    def has_file(self, path: str) -> bool:
        """Raises: OSError when that cannot be known."""
        try:
            with self.parent(path) as (folder, name):
                return stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode)
        except (FileNotFoundError, InTheWayError):
            return False

    def put(self, path: str, content: bytes) -> str | None:
        """Write a file at once. What stood there is left beside it under the returned name, None when nothing did.

        Nothing that somebody writes meanwhile is lost: what is taken away is what stood there at that very moment.
        Raises: OSError, InTheWayError.
        """
        with self.parent(path, create=True) as (folder, name):
            written = _write_beside(folder, content)
            try:
                displaced = _swap_in(folder, written, name)
            except BaseException:
                _unlink(folder, written)
                raise
            return written if displaced else None

    def put_back(self, path: str, displaced: str) -> None:
        """Undo a `put`: what stood there stands there again, and what was written is gone."""
        with self.parent(path) as (folder, name):
            exchange(folder, displaced, name)
            _unlink(folder, displaced)

    def take(self, path: str) -> str:
        """Take what stands at a path out of sight, into the returned name beside it. Raises: OSError, InTheWayError."""
        with self.parent(path) as (folder, name):
            beside = new_name()
            os.rename(name, beside, src_dir_fd=folder, dst_dir_fd=folder)
            return beside

    def give_back(self, path: str, taken: str) -> bool:
        """Undo a `take`. False when something new stands there: then nothing was done."""
        with self.parent(path) as (folder, name):
            try:
                os.link(taken, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                return False
            _unlink(folder, taken)
            return True

    def beside(self, path: str, name: str) -> str:
        """The path of a name in the folder of a path."""
        return path.rpartition("/")[0] + "/" + name

    def digest(self, path: str) -> str | None:
        """None for what is no regular file of ours."""
        content = self.read(path)
        return None if content is None else hashlib.sha256(content).hexdigest()

    def unlink(self, path: str) -> None:
        with self.parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def prune(self, path: str) -> None:
        """Remove the folders above a path that hold nothing any more."""
        while (path := path.rpartition("/")[0]) != "":
            try:
                with self.parent(path) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except (OSError, InTheWayError):
                return


@contextmanager
def open_folder(root: Path, parent: int) -> Iterator[OpenFolder]:
    """The folder of that name in the held parent. Raises: FileNotFoundError; NotADirectoryError for what is no folder."""
    try:
        descriptor = os.open(root.name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "It is a link", str(root)) from error
        raise
    try:
        yield OpenFolder(descriptor)
    finally:
        os.close(descriptor)


def open_parent(path: Path) -> int:
    """A descriptor of a folder, reached from the root without following a link; what is missing is made, 0700."""
    held = os.open(path.anchor, _PASS)
    for name in path.parts[1:]:
        try:
            inner = _step(held, name, create=True, flags=_PASS)
        finally:
            os.close(held)
        held = inner
    return held


def _step(folder: int, name: str, *, create: bool, flags: int = _DIRECTORY) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def read_file(folder: int, name: str) -> bytes | None:
    """See `OpenFolder.read`. One byte more than a memory may have is the most that is read."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_FOLDER or error.errno == errno.ENXIO:  # a socket
            return None
        raise
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MEMORY_CONTENT_BYTES_MAX + 1)
        return content if len(content) <= MEMORY_CONTENT_BYTES_MAX else None
    finally:
        os.close(descriptor)


def new_name() -> str:
    return WRITING_PREFIX + secrets.token_hex(8)


def _write_beside(folder: int, content: bytes) -> str:
    name = new_name()
    descriptor = os.open(name, _WRITE, FILE_MODE, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except BaseException:
        _unlink(folder, name)
        raise
    return name


def _swap_in(folder: int, written: str, name: str) -> bool:
    """True when what stood there has the written name now."""
    for _ in range(_TRIES_MAX):
        with suppress(FileExistsError):
            os.link(written, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            _unlink(folder, written)
            return False
        with suppress(FileNotFoundError):
            exchange(folder, written, name)
            return True
    raise OSError(errno.EBUSY, "Somebody else keeps replacing this name", name)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
