"""Which paths stand in each other's way: a file where another path needs a folder. Pure."""

from collections.abc import Collection, Iterable


def folders_above(path: str) -> list[str]:
    """Outermost first: of `/a/b/c` these are `/a` and `/a/b`."""
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(2, len(names))]


class Occupied:
    """Paths of files, to be asked about others many times."""

    def __init__(self, paths: Collection[str]) -> None:
        self._files = paths
        self._folders = _all_folders(paths)

    def blocks(self, path: str) -> bool:
        """A file lies below the path, or in place of a folder above it."""
        return path in self._folders or any(folder in self._files for folder in folders_above(path))


def _all_folders(paths: Iterable[str]) -> set[str]:
    return {folder for path in paths for folder in folders_above(path)}
