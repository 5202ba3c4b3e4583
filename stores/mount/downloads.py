"""A store's folder made: nothing may be there before, and all of it is there afterwards. Source: stores contract, section 9.2."""

import os
from contextlib import suppress
from pathlib import Path

from memoryhub.client.errors import ClientError
from stores.mount.constants import FOLDER_MODE, MARKER
from stores.mount.deadlines import Deadline
from stores.mount.folders import OpenFolder
from stores.mount.remote import ContentDiffersError
from stores.mount.scans import marker_text
from stores.mount.stores_on_disk import StoreOnDisk
from stores.mount.writing import write_memory


class MountError(Exception):
    """A store cannot be mounted, so nothing may start that was promised its memory. `kind` is for exit codes."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def check_mount_path(mount_path: str) -> Path:
    """Raises: MountError. It is never moved elsewhere: the prompt names it."""
    path = Path(mount_path)
    is_clean = os.path.normpath(mount_path) == mount_path.rstrip("/") and "\0" not in mount_path
    if not path.is_absolute() or not is_clean or not path.name:
        raise MountError("folder", f"The mount path {mount_path!r} is no clean absolute path.")
    return path


def download(store: StoreOnDisk) -> None:
    """Raises: MountError; then a folder that was made is gone again, and one that was there is as it was."""
    try:
        os.mkdir(store.root.name, FOLDER_MODE, dir_fd=store.parent())
    except FileExistsError as error:
        raise MountError(
            "occupied",
            f"{store.root} exists already. A mount starts with nothing there, so that what somebody left is not taken for "
            "memories: move it away and start again.",
        ) from error
    except OSError as error:
        raise MountError("folder", f"{store.root} cannot be made: {error.strerror}.") from error
    store.is_ours = True
    try:
        with store.open() as folder:
            _require_case(folder, store)
            _fill(store, folder, Deadline())
    except (ClientError, ContentDiffersError, OSError) as error:
        raise MountError("download", f"The store {store.store_id} cannot be downloaded: {error}") from error
    store.reporter.say("downloaded", count=len(store.baseline), root=str(store.root))


def rebuild(store: StoreOnDisk, reason: str, deadline: Deadline) -> None:
    """The folder was taken away, which is no deletion of what was in it: make it anew, and send nothing. Raises: as it fails."""
    store.reporter.say("rebuilt", reason=reason)
    store.forget_everything()
    with suppress(FileExistsError):
        os.mkdir(store.root.name, FOLDER_MODE, dir_fd=store.parent())
    with store.open() as folder:
        _fill(store, folder, deadline)


def _fill(store: StoreOnDisk, folder: OpenFolder, deadline: Deadline) -> None:
    store.forget_everything()
    hidden = folder.put(MARKER, marker_text(store.store_id).encode())
    if hidden is not None:
        folder.unlink(folder.beside(MARKER, hidden))
    cursor = store.view.begin(store.remote)
    for memory, content in store.remote.list_contents():
        deadline.check()
        store.view.put(memory)
        if store.takes(memory.path):
            write_memory(store, folder, memory, content)
    store.view.follow(cursor)


def _require_case(folder: OpenFolder, store: StoreOnDisk) -> None:
    """Raises: MountError where `A` and `a` are one file: memories would overwrite each other."""
    probe = "/.memoryhub-case"
    folder.put(probe, b"")
    try:
        if folder.has_file(probe.upper()):
            raise MountError("folder", f"{store.root.parent} is on a disk that does not tell A from a.")
    finally:
        folder.unlink(probe)
