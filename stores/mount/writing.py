"""A memory's text into its file, and a deleted memory's file away. What somebody changed meanwhile is kept aside, never lost."""

import os

from stores.mount.folders import InTheWayError, OpenFolder
from stores.mount.remote import RemoteMemory
from stores.mount.stores_on_disk import StoreOnDisk

_TRIES_MAX = 25  # a path has at most 20 names, and each may stand in the way


def write_memory(store: StoreOnDisk, folder: OpenFolder, memory: RemoteMemory, content: bytes) -> bool:
    """Write the file and say that both sides agree. False, and reported, when it cannot be written."""
    path = memory.path
    try:
        hidden = _put(store, folder, path, content)
        if hidden is not None:
            _clear(store, folder, path, hidden, known={store.baseline.get(path), memory.digest})
    except (OSError, InTheWayError) as error:
        store.reporter.say_once("write_failed", path, state=memory.digest, error=_sentence(error))
        return False
    store.settle(path, memory)
    return True


def _put(store: StoreOnDisk, folder: OpenFolder, path: str, content: bytes) -> str | None:
    for _ in range(_TRIES_MAX):
        try:
            return folder.put(path, content)
        except InTheWayError as error:
            _keep(store, folder, error.path, folder.take(error.path), reason="a folder is needed here")
    raise InTheWayError(path)


def _clear(store: StoreOnDisk, folder: OpenFolder, path: str, hidden: str, *, known: set[str | None]) -> None:
    """Do away with what stood at a path: at once when it is known to be old, else aside."""
    place = folder.beside(path, hidden)
    digest = folder.digest(place)
    if digest is not None and digest in known:
        folder.unlink(place)
        return
    if digest is None and _remove_empty(folder, place):
        return
    try:
        _keep(store, folder, path, hidden, reason="both sides changed it, and the server's text stands")
    except OSError:
        folder.put_back(path, hidden)
        raise


def _keep(store: StoreOnDisk, folder: OpenFolder, path: str, hidden: str, *, reason: str) -> None:
    kept = store.kept.keep(folder, path, hidden)
    store.reporter.say("kept_aside", path, kept=str(kept), reason=reason)


def _remove_empty(folder: OpenFolder, place: str) -> bool:
    try:
        with folder.parent(place) as (above, name):
            os.rmdir(name, dir_fd=above)
    except OSError:
        return False
    return True


def remove_file(store: StoreOnDisk, folder: OpenFolder, path: str, digest: str) -> None:
    """Of a memory that is deleted: only while it holds what was in step. An edit stays, as does the baseline on a failure."""
    try:
        hidden = folder.take(path)
    except (FileNotFoundError, InTheWayError):
        store.baseline.pop(path, None)
        return
    except OSError as error:
        store.reporter.say("remove_failed", path, error=_sentence(error))
        return
    place = folder.beside(path, hidden)
    if folder.digest(place) == digest:
        folder.unlink(place)
        folder.prune(path)
        store.baseline.pop(path, None)
        store.reporter.say("removed", path)
        return
    if not _give_back(folder, path, hidden):
        _keep(store, folder, path, hidden, reason="it was replaced while its memory was deleted")


def _give_back(folder: OpenFolder, path: str, hidden: str) -> bool:
    try:
        return folder.give_back(path, hidden)
    except OSError:  # a folder cannot be linked
        return False


def _sentence(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
