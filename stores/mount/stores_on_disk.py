"""One store as a folder: what was in step last, what was sent, what waits, and how to reach both sides."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from stores.mount.constants import KEPT_FOLDER, NAME_BYTES_MAX, WRITING_PREFIX
from stores.mount.folders import OpenFolder, open_folder, open_parent
from stores.mount.ignores import Ignores
from stores.mount.keeping import KeptFiles
from stores.mount.remote import RemoteMemory, RemoteStore
from stores.mount.reports import Reporter
from stores.mount.scans import Scanner
from stores.mount.views import RemoteView
from stores.paths import find_path_problem


class Deletions(StrEnum):
    """Whether a file that is gone may delete its memory. `log_only`: all checks, and then a report."""

    ENABLED = "enabled"
    LOG_ONLY = "log_only"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class MountOptions:
    """`kept`: where losing edits go; None: `.memoryhub-kept` beside the mounts."""

    deletions: Deletions = Deletions.ENABLED
    ignores: Ignores = field(default_factory=Ignores)
    kept: Path | None = None


class StoreOnDisk:
    """`baseline`: path -> digest that both sides had. `refused`: path -> digest that the server will not have. `pending_delete`:
    path -> when it was first seen missing. `sent`: path -> digest whose fate is unknown."""

    def __init__(
        self, remote: RemoteStore, root: Path, *, read_only: bool, options: MountOptions, reporter: Reporter
    ) -> None:
        self.remote, self.read_only, self.options, self.reporter = remote, read_only, options, reporter
        self._above = Path(os.path.realpath(root.parent))
        self.root = self._above / root.name
        self.scanner = Scanner(remote.store_id, options.ignores)
        self.kept = KeptFiles((options.kept or self._above / KEPT_FOLDER).absolute() / root.name)
        self.view = RemoteView()
        self.is_archived = False
        self.is_ours = False  # the root was made by us
        self.baseline: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.pending_delete: dict[str, float] = {}
        self.sent: dict[str, str] = {}
        self._parent: int | None = None

    @property
    def store_id(self) -> str:
        return self.remote.store_id

    @property
    def writable(self) -> bool:
        return not self.read_only and not self.is_archived

    def parent(self) -> int:
        """The folder above the root, held; made again when it is gone."""
        if self._parent is not None and os.fstat(self._parent).st_nlink == 0:
            self.close()
        if self._parent is None:
            self._parent = open_parent(self._above)
        return self._parent

    @contextmanager
    def open(self) -> Iterator[OpenFolder]:
        """Raises: FileNotFoundError, NotADirectoryError."""
        with open_folder(self.root, self.parent()) as folder:
            yield folder

    def close(self) -> None:
        if self._parent is not None:
            os.close(self._parent)
            self._parent = None

    def forget_everything(self) -> None:
        """The folder is made anew: nothing that was seen in it counts."""
        self.baseline.clear()
        self.pending_delete.clear()
        self.sent.clear()

    def takes(self, path: str) -> bool:
        """Whether a memory's path can be a file here. One that cannot is reported once, and is never a deletion."""
        if self.options.ignores.covers(path):
            return False
        problem = find_disk_problem(path)
        if problem is not None:
            self.reporter.say_once("left_out", path, reason=problem)
        return problem is None

    def settle(self, path: str, memory: RemoteMemory) -> None:
        """Both sides hold it now."""
        self.baseline[path] = memory.digest
        self.refused.pop(path, None)
        self.sent.pop(path, None)
        self.view.put(memory)


def find_disk_problem(path: str) -> str | None:
    """Why a path cannot be a file of a folder, or None. Whatever a server says, no path leads out of one."""
    names = path.split("/")[1:]
    if any(len(os.fsencode(name)) > NAME_BYTES_MAX for name in names):
        return f"a name has more than {NAME_BYTES_MAX} bytes"
    if any(name.startswith(WRITING_PREFIX) for name in names):
        return "mounts write under names like this"
    return find_path_problem(path)
