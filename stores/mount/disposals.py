"""The folder goes when the work is done; what could not be saved does not go with it. Source: stores contract, section 9.7."""

import shutil
from contextlib import ExitStack

from stores.mount.flushes import find_changed
from stores.mount.folders import InTheWayError, OpenFolder
from stores.mount.passes import look, say_untrusted
from stores.mount.scans import Scan, ScanFailedError
from stores.mount.stores_on_disk import StoreOnDisk


def dispose(store: StoreOnDisk) -> int:
    """How many files were kept aside because the server does not have them. Never raises."""
    if not store.is_ours:
        return 0
    kept = 0
    try:
        kept = _dispose(store)
    except (OSError, ScanFailedError, InTheWayError, RecursionError) as error:
        store.reporter.say("folder_left", root=str(store.root), error=str(error))
    store.close()
    return kept


def _dispose(store: StoreOnDisk) -> int:
    with ExitStack() as stack:
        folder, scan = look(store, stack)
        if folder is None or scan is None:
            return 0
        if not scan.marker and (scan.files or scan.held or scan.marker is False):
            say_untrusted(store, scan)
            store.reporter.say("folder_left", root=str(store.root), error="the marker is not right")
            return 0
        kept = _keep_unsaved(store, folder, scan)
    shutil.rmtree(store.root.name, dir_fd=store.parent())
    store.is_ours = False
    store.reporter.say("disposed", root=str(store.root))
    return kept


def _keep_unsaved(store: StoreOnDisk, folder: OpenFolder, scan: Scan) -> int:
    """Refused files too: the folder holds their only copy. A file that cannot be moved leaves the whole folder. Raises: OSError.

    Nothing was promised of changes in a folder that only receives.
    """
    if store.read_only:
        return 0
    store.kept.begin_pass()
    paths = {*find_changed(store, scan), *(path for path in store.refused if path in scan.files)}
    for path in sorted(paths):
        hidden = folder.take(path)
        kept = store.kept.keep(folder, path, hidden)
        store.reporter.say("kept_aside", path, kept=str(kept), reason="it was not saved when the mount ended")
    return len(paths)
