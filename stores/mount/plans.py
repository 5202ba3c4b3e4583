"""What a pass will do: each path decided once, in groups, in the order in which they may be carried out."""

from dataclasses import dataclass, field

from stores.mount.decisions import Action, decide
from stores.mount.places import Occupied
from stores.mount.remote import RemoteMemory
from stores.mount.renames import Rename, find_renames
from stores.mount.scans import Scan
from stores.mount.stores_on_disk import Deletions, StoreOnDisk


@dataclass(slots=True)
class Plan:
    """`creates` and `updates`: path -> digest of the file. `freeing`: those of `deletes` whose name something else needs."""

    removes: dict[str, str] = field(default_factory=dict)
    deletes: dict[str, RemoteMemory] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    creates: dict[str, str] = field(default_factory=dict)
    pulls: list[RemoteMemory] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)
    freeing: set[str] = field(default_factory=set)


def make_plan(store: StoreOnDisk, scan: Scan) -> Plan:
    """Settles what needs no work, and says what cannot be sent."""
    plan = Plan()
    for path in changed_paths(store, scan):
        memory = store.view.memories.get(path)
        action = decide(
            baseline=store.baseline.get(path),
            local=scan.files.get(path),
            remote=None if memory is None else memory.digest,
            writable=store.writable,
        )
        _place(store, plan, path, action, scan.files.get(path), memory)
    if store.options.deletions is Deletions.ENABLED:
        _find_moves(store, plan, scan)
    if plan.deletes:
        local = Occupied(scan.files)
        plan.freeing = {path for path in plan.deletes if local.blocks(path)}
    return plan


def changed_paths(store: StoreOnDisk, scan: Scan) -> list[str]:
    """Those whose three sides are not equal, without what a mount leaves alone."""
    baseline, local, remote = store.baseline, scan.files, store.view.memories
    found = [
        path
        for path in {*baseline, *local, *remote}
        if not (
            path in remote
            and path in local
            and path in baseline
            and baseline[path] == local[path] == remote[path].digest
        )
    ]
    return sorted(path for path in found if path not in scan.held and _is_ours(store, path, path in remote))


def _is_ours(store: StoreOnDisk, path: str, is_remote: bool) -> bool:
    return store.takes(path) if is_remote else not store.options.ignores.covers(path)


def _place(
    store: StoreOnDisk, plan: Plan, path: str, action: Action, local: str | None, memory: RemoteMemory | None
) -> None:
    match action:
        case Action.SETTLED:
            assert memory is not None
            store.settle(path, memory)
        case Action.PULL | Action.PULL_OVER_EDIT | Action.PULL_OVER_DELETE:
            assert memory is not None
            store.pending_delete.pop(path, None)
            plan.pulls.append(memory)
            _say_conflict(store, path, action, memory)
        case Action.UPDATE | Action.CREATE:
            assert local is not None
            if store.refused.get(path) != local:
                group = plan.updates if action is Action.UPDATE else plan.creates
                group[path] = local
        case Action.DELETE:
            assert memory is not None
            plan.deletes[path] = memory
        case Action.REMOVE:
            assert local is not None
            plan.removes[path] = local
        case Action.WAIT:
            store.reporter.say_once("not_sent", path, state=local or "", reason="the store is read-only here")
        case Action.KEEP | Action.FORGET:
            store.baseline.pop(path, None)
            store.pending_delete.pop(path, None)
            if action is Action.KEEP:
                store.reporter.say_once("only_here", path, state=local or "")


def _say_conflict(store: StoreOnDisk, path: str, action: Action, memory: RemoteMemory) -> None:
    if action is Action.PULL_OVER_EDIT:
        store.reporter.say_once("conflict", path, state=memory.digest, what="edited on both sides")
    elif action is Action.PULL_OVER_DELETE:
        store.reporter.say_once(
            "conflict", path, state=memory.digest, what="deleted here and edited on the server"
        )


def _find_moves(store: StoreOnDisk, plan: Plan, scan: Scan) -> None:
    """A move is sent as one; what it covers is no deletion and no new memory."""
    gone = {path: memory.digest for path, memory in plan.deletes.items()}
    new = {path: digest for path, digest in plan.creates.items() if path not in store.baseline}
    plan.renames = find_renames(gone, new)
    for rename in plan.renames:
        del plan.creates[rename.new]
