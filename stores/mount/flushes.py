"""What was not sent is sent, and nothing else is done: for every end, also a bad one. Source: stores contract, section 9.6."""

from contextlib import ExitStack
from functools import partial

from stores.mount.constants import UPLOADS_PARALLEL
from stores.mount.deadlines import CutOffError, Deadline, run_all
from stores.mount.folders import OpenFolder
from stores.mount.passes import FAILURES, look, say_untrusted, settle_sent
from stores.mount.scans import Scan
from stores.mount.stores_on_disk import StoreOnDisk
from stores.mount.uploads import Sent, upload_file


def flush(store: StoreOnDisk, deadline: Deadline) -> bool:
    """Whether everything that can be saved is. Never raises."""
    if not store.writable:
        return True
    try:
        return _flush(store, deadline)
    except FAILURES as error:
        store.reporter.say("flush_failed", error=f"{type(error).__name__}: {error}")
        return False


def _flush(store: StoreOnDisk, deadline: Deadline) -> bool:
    with ExitStack() as stack:
        folder, scan = look(store, stack)
        if folder is None or scan is None:
            return True
        if not scan.marker:
            if scan.files:
                say_untrusted(store, scan)
            return not scan.files
        changed = find_changed(store, scan)
        return not changed or _send(store, folder, scan, changed, deadline)


def find_changed(store: StoreOnDisk, scan: Scan) -> list[str]:
    """A path whose last answer is missing counts even when the file is as before: the server may be ahead of it."""
    return sorted(
        path
        for path, digest in scan.files.items()
        if (digest != store.baseline.get(path) or path in store.sent) and store.refused.get(path) != digest
    )


def _send(store: StoreOnDisk, folder: OpenFolder, scan: Scan, changed: list[str], deadline: Deadline) -> bool:
    deadline.check()
    store.view.refresh(store.remote)
    deadline.check()
    settle_sent(store)
    results: dict[str, Sent] = {}
    tasks = [
        partial(_send_one, store, folder, path, scan.files[path], results, deadline)
        for path in changed
        if not _needs_nothing(store, path, scan.files[path])
    ]
    late = run_all(tasks, parallel=UPLOADS_PARALLEL, deadline=deadline)
    if late:
        raise CutOffError(f"The time was up; {late} of {len(changed)} changed files were not sent.")
    return all(result in (Sent.SAVED, Sent.REFUSED) for result in results.values())


def _send_one(
    store: StoreOnDisk,
    folder: OpenFolder,
    path: str,
    digest: str,
    results: dict[str, Sent],
    deadline: Deadline,
) -> None:
    memory = store.view.memories.get(path)
    if memory is not None and memory.digest != store.baseline.get(path):
        store.reporter.say(
            "conflict", path, what="edited on both sides, and the end of the mount leaves the server's"
        )
        results[path] = Sent.LOST
        return
    results[path] = upload_file(store, folder, path, memory, scanned=digest, deadline=deadline)


def _needs_nothing(store: StoreOnDisk, path: str, digest: str) -> bool:
    memory = store.view.memories.get(path)
    if memory is not None and memory.digest == digest:
        store.settle(path, memory)
        return True
    return digest == store.baseline.get(path)
