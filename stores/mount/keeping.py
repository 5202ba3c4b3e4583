"""The losing edit: what the server's text replaces is moved beside the mounts, whole and at once, and reported."""

import errno
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from stores.mount.constants import KEPT_MAX
from stores.mount.folders import OpenFolder, open_parent


class KeptFiles:
    """A folder outside the mount, one below it for each pass in which something lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self._pass_name: str | None = None

    def begin_pass(self) -> None:
        self._pass_name = None

    def keep(self, folder: OpenFolder, path: str, hidden: str) -> Path:
        """Move what has the name `hidden` beside a path; where to. Raises: OSError, and then it stays where it was."""
        if self.count >= KEPT_MAX:
            raise OSError(errno.EDQUOT, f"More than {KEPT_MAX} files were kept aside", str(self.folder))
        name = self._pass_name = self._pass_name or _new_name()
        target = OpenFolder(open_parent(self.folder / name))
        try:
            with (
                folder.parent(path) as (source, _),
                target.parent(path, create=True) as (place, last),
            ):
                os.rename(hidden, last, src_dir_fd=source, dst_dir_fd=place)
        finally:
            os.close(target.descriptor)
        self.count += 1
        return self.folder / name / path[1:]


def _new_name() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
