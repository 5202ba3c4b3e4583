"""One pass over one store: look at both sides, decide, and make them equal. Source: stores contract, section 9.4.

The order: files of deleted memories go, moves and deletions are sent (they free paths), then edits and new files, then what
the server has comes. A move that fails is found again by the next pass, as a deletion and a new file.
"""

from contextlib import ExitStack
from functools import partial

from memoryhub.client.errors import ClientError, HubRefused
from stores.mount.constants import FETCHES_PARALLEL
from stores.mount.deadlines import CutOffError, Deadline, run_all
from stores.mount.deletions import deletes_of, send_deletes
from stores.mount.downloads import rebuild
from stores.mount.folders import InTheWayError, OpenFolder
from stores.mount.places import Occupied
from stores.mount.plans import Plan, make_plan
from stores.mount.remote import ContentDiffersError, RemoteMemory
from stores.mount.renames import Rename
from stores.mount.scans import Scan, ScanFailedError
from stores.mount.stores_on_disk import StoreOnDisk
from stores.mount.uploads import upload_file
from stores.mount.writing import remove_file, write_memory

FAILURES = (ClientError, ContentDiffersError, ScanFailedError, InTheWayError, OSError, CutOffError)


def run_pass(store: StoreOnDisk, deadline: Deadline, *, final: bool = False) -> bool:
    """Whether it came to its end. Never raises: what fails is reported, and the next pass tries again."""
    try:
        _run(store, deadline, final=final)
    except FAILURES as error:
        store.reporter.say("pass_failed", error=f"{type(error).__name__}: {error}")
        return False
    return True


def _run(store: StoreOnDisk, deadline: Deadline, *, final: bool) -> None:
    with ExitStack() as stack:
        folder, scan = look(store, stack)
        if folder is not None and scan is not None and scan.marker:
            _reconcile(store, folder, scan, deadline, final=final)
        elif scan is not None and (scan.files or scan.held or scan.marker is False):
            say_untrusted(store, scan)
        else:
            rebuild(store, "the folder or its marker is gone", deadline)


def look(store: StoreOnDisk, stack: ExitStack) -> tuple[OpenFolder | None, Scan | None]:
    """The folder, open until the stack closes, and what is in it; (None, None) when there is none. Raises: ScanFailedError."""
    try:
        folder = stack.enter_context(store.open())
    except FileNotFoundError:
        return None, None
    except NotADirectoryError as error:
        raise ScanFailedError(
            f"{store.root} is no folder any more: it is left as it is, and nothing is synced."
        ) from error
    scan = store.scanner.scan(folder)
    for name, what in scan.odd.items():
        store.reporter.say_once("not_synced", name, reason=what)
    return folder, scan


def say_untrusted(store: StoreOnDisk, scan: Scan) -> None:
    what = "gone" if scan.marker is None else "another store's"
    store.reporter.say_once("untrusted", reason=f"the marker is {what}: the files are left as they are")


def settle_sent(store: StoreOnDisk) -> None:
    """An upload whose answer was lost and whose bytes the server holds was ours. Then all are forgotten: kept longer, one
    would claim another writer's equal bytes."""
    for path, digest in list(store.sent.items()):
        memory = store.view.memories.get(path)
        if memory is not None and memory.digest == digest:
            store.baseline[path] = digest
    store.sent.clear()


def _reconcile(
    store: StoreOnDisk, folder: OpenFolder, scan: Scan, deadline: Deadline, *, final: bool
) -> None:
    deadline.check()
    for path in scan.files.keys() & store.pending_delete.keys():
        del store.pending_delete[path]
    store.view.refresh(store.remote)
    deadline.check()
    settle_sent(store)
    if not scan.files and not scan.held and len(store.baseline) > 1:
        rebuild(store, "every file is gone at once", deadline)
        return
    store.kept.begin_pass()
    _carry_out(store, folder, make_plan(store, scan), deadline, final=final)


def _carry_out(
    store: StoreOnDisk, folder: OpenFolder, plan: Plan, deadline: Deadline, *, final: bool
) -> None:
    for path, digest in plan.removes.items():
        remove_file(store, folder, path, digest)
    _free_paths(store, folder, plan, deadline, final=final)
    creates = _leave_out_blocked(store, plan.creates)
    tasks = [
        partial(_upload, store, folder, path, digest, deadline)
        for path, digest in {**plan.updates, **creates}.items()
    ]
    late = run_all(tasks, parallel=FETCHES_PARALLEL, deadline=deadline)
    pulls = [partial(_pull, store, folder, memory, deadline) for memory in plan.pulls]
    late += run_all(pulls, parallel=FETCHES_PARALLEL, deadline=deadline)
    if late:
        raise CutOffError(f"The time was up; {late} files were not brought in step.")


def _free_paths(
    store: StoreOnDisk, folder: OpenFolder, plan: Plan, deadline: Deadline, *, final: bool
) -> None:
    """Deletions that free a path, then moves, then the other deletions."""
    moved = {rename.old for rename in plan.renames}
    gone = {path: memory for path, memory in plan.deletes.items() if path not in moved}
    freeing = {path: memory for path, memory in gone.items() if path in plan.freeing}
    count_max = deletes_of(store)
    sent = send_deletes(
        store, folder, freeing, freeing=plan.freeing, final=final, count_max=count_max, deadline=deadline
    )
    _send_renames(store, folder, plan, deadline)
    rest = {path: memory for path, memory in gone.items() if path not in plan.freeing}
    send_deletes(
        store, folder, rest, freeing=set(), final=final, count_max=count_max - sent, deadline=deadline
    )


def _send_renames(store: StoreOnDisk, folder: OpenFolder, plan: Plan, deadline: Deadline) -> None:
    """Those whose new path another one leaves wait for it: a second round sends them."""
    left = plan.renames
    for _ in range(2):
        left = [rename for rename in left if not _send_rename(store, folder, plan, rename, deadline)]


def _send_rename(
    store: StoreOnDisk, folder: OpenFolder, plan: Plan, rename: Rename, deadline: Deadline
) -> bool:
    """False when it may work a little later."""
    if not store.scanner.marker_is_right(folder) or folder.has_file(rename.old):
        return True
    deadline.check()
    try:
        saved = store.remote.rename(plan.deletes[rename.old], rename.new)
    except HubRefused as refused:
        store.reporter.say_once(
            "rename_failed", rename.old, state=rename.new, to=rename.new, error=refused.message
        )
        return refused.status != 409
    except ClientError as error:
        store.reporter.say("rename_failed", rename.old, to=rename.new, error=str(error))
        return True
    store.baseline.pop(rename.old, None)
    store.settle(rename.new, saved)
    store.reporter.say("renamed", rename.old, to=rename.new)
    return True


def _leave_out_blocked(store: StoreOnDisk, creates: dict[str, str]) -> dict[str, str]:
    """Without those where a memory stands that needs the path: the server would refuse them."""
    if not creates:
        return creates
    remote = Occupied(store.view.memories)
    blocked = {path for path in creates if remote.blocks(path)}
    for path in blocked:
        store.reporter.say_once("blocked", path)
    return {path: digest for path, digest in creates.items() if path not in blocked}


def _upload(store: StoreOnDisk, folder: OpenFolder, path: str, digest: str, deadline: Deadline) -> None:
    upload_file(store, folder, path, store.view.memories.get(path), scanned=digest, deadline=deadline)


def _pull(store: StoreOnDisk, folder: OpenFolder, listed: RemoteMemory, deadline: Deadline) -> None:
    """404: the next pass sorts it out. A memory that moved since is written where it is now, or not at all."""
    try:
        found = store.remote.get_content(listed.id)
    except (ClientError, ContentDiffersError) as error:
        store.reporter.say("pull_failed", listed.path, error=str(error))
        return
    if found is None or found[0].path != listed.path:
        return
    deadline.check()
    if write_memory(store, folder, *found):
        store.reporter.say("pulled", listed.path, digest=found[0].digest)
