"""Where the stores of a session lie on a disk, as whoever builds tools over them is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mount:
    """One store as a folder. `name`: the store's, for people and models."""

    root: Path
    read_only: bool
    name: str


@dataclass(frozen=True, slots=True)
class Mounts:
    """All stores of one session, in the order in which they were attached."""

    mounts: tuple[Mount, ...]

    def __iter__(self) -> Iterator[Mount]:
        return iter(self.mounts)

    def __len__(self) -> int:
        return len(self.mounts)

    @property
    def roots(self) -> list[Path]:
        return [mount.root for mount in self.mounts]

    @property
    def read_only_roots(self) -> list[Path]:
        return [mount.root for mount in self.mounts if mount.read_only]

    def find_mount(self, path: Path) -> Mount | None:
        """The mount that holds a path, or None. The path is compared as it is: resolve it first."""
        return next((mount for mount in self.mounts if path.is_relative_to(mount.root)), None)
