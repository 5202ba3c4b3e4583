"""A file that is gone deletes its memory only when it stays gone. Source: stores contract, section 9.5."""

import time
from collections.abc import Mapping

from memoryhub.client.errors import ClientError, HubRefused
from stores.mount.constants import DELETE_CONFIRM_SECONDS, deletes_max
from stores.mount.deadlines import Deadline
from stores.mount.folders import OpenFolder
from stores.mount.remote import RemoteMemory
from stores.mount.stores_on_disk import Deletions, StoreOnDisk

_KEPT_THERE = frozenset({409, 412})


def send_deletes(
    store: StoreOnDisk,
    folder: OpenFolder,
    gone: Mapping[str, RemoteMemory],
    *,
    freeing: set[str],
    final: bool,
    count_max: int,
    deadline: Deadline,
) -> int:
    """Those whose path something else needs come first and are not waited for: what replaced the file confirms it.

    How many were sent, of `count_max` at most.
    """
    if store.options.deletions is Deletions.DISABLED:
        return 0
    now, sent, held = time.monotonic(), 0, 0
    for path in sorted(gone, key=lambda one: (one not in freeing, one)):
        since = store.pending_delete.setdefault(path, now)
        if not (final or path in freeing) and now - since < DELETE_CONFIRM_SECONDS:
            continue
        if not store.scanner.marker_is_right(folder):
            return sent
        if folder.has_file(path):
            store.pending_delete.pop(path, None)
        elif sent >= count_max:
            held += 1
        else:
            sent += 1
            _delete(store, path, gone[path], deadline)
    if held:
        store.reporter.say("deletes_held", sent=sent, held=held)
    return sent


def _delete(store: StoreOnDisk, path: str, memory: RemoteMemory, deadline: Deadline) -> None:
    if store.options.deletions is Deletions.LOG_ONLY:
        store.reporter.say("would_delete", path)
        return
    deadline.check()  # after the last look at the file: once the time is up, folders may be taken away
    try:
        store.remote.delete(memory)
    except HubRefused as refused:
        if refused.status in _KEPT_THERE:
            store.reporter.say("delete_lost", path, error=refused.message)
            return
        if refused.status != 404:
            store.reporter.say_once("delete_failed", path, state=memory.digest, error=str(refused))
            return
    except ClientError as error:
        store.reporter.say("delete_failed", path, error=str(error))
        return
    store.view.remove(memory.id)
    store.baseline.pop(path, None)
    store.pending_delete.pop(path, None)
    store.reporter.say("deleted", path)


def deletes_of(store: StoreOnDisk) -> int:
    return deletes_max(len(store.baseline))
