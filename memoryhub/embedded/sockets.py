"""The folder of the sockets, made so that no other user can put one there."""

import os
from pathlib import Path

from memoryhub.embedded.connections import socket_folder
from memoryhub.embedded.errors import EmbeddedError
from memoryhub.embedded.folder import make_folder


def make_socket_folder(data_dir: Path) -> Path:
    """Make it and give its path. Raises: EmbeddedError when a stranger made it first."""
    folder = socket_folder(data_dir)
    make_folder(folder)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise EmbeddedError(
            f"{folder} belongs to another user: remove it, or take a shorter MEMORYHUB_DATA_DIR."
        )
    return folder
