"""The life of one work item, in this order on every way out: no tool writes any more, the last pass (after a clean end only),
the flush, the folders, the lease, the stop of the item. Source: stores contract, section 9.1."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.parse import quote

from memoryhub.client.transport import Transport
from stores.mount.constants import REQUEST_SECONDS, SYNC_SECONDS_DEFAULT
from stores.mount.downloads import MountError
from stores.mount.leases import Lease
from stores.mount.mounted_stores import Ending, MountedStores, Wanted, wanted_by_session
from stores.mount.queues import WorkItem, WorkQueue
from stores.mount.reports import Listener
from stores.mount.stores_on_disk import MountOptions

_OVER = frozenset({"ended", "terminated", "deleted", "archived"})


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is given. `over`: it has to end, now. It calls `stores.sync_if_due()` after every tool call."""

    session: dict[str, Any]
    stores: MountedStores
    over: threading.Event


class Run(Protocol):
    def __call__(self, task: Task, /) -> bool:
        """Whether the end was a clean one. When it returns or raises, nothing of it writes any more."""


@dataclass(frozen=True, slots=True)
class WorkOptions:
    """`place`: a store's folder may be elsewhere than the session says only when an operator wants that."""

    url: str
    mount: MountOptions = field(default_factory=MountOptions)
    sync_seconds: float = SYNC_SECONDS_DEFAULT
    listener: Listener = lambda event: None
    place: Callable[[Wanted], Wanted] = lambda wanted: wanted


@dataclass(frozen=True, slots=True)
class WorkEnd:
    """`ending` None: the session was over before anything began. `lease_lost`: with the reason, None when it was kept."""

    ending: Ending | None
    lease_lost: str | None


def run_work_item(queue: WorkQueue, item: WorkItem, run: Run, options: WorkOptions) -> WorkEnd:
    """The item is acknowledged already. Raises: MountError, ClientError, and what `run` raises; the item is stopped all the same."""
    ending = None
    lease = Lease(partial(queue.beat, item.id))
    try:
        with lease:
            ending = _run(item, run, lease, options)
    finally:
        if not lease.is_lost:
            queue.stop(item.id, force=True)
    return WorkEnd(ending, lease.reason if lease.is_lost else None)


def _run(item: WorkItem, run: Run, lease: Lease, options: WorkOptions) -> Ending | None:
    if item.token is None:
        raise MountError(
            "token",
            f"The work item {item.id} came without a token, so the stores of its session cannot be mounted: nothing is run.",
        )
    with Transport(options.url, item.token, timeout_seconds=REQUEST_SECONDS) as transport:
        session = transport.call("GET", f"/v1/sessions/{quote(item.session_id, safe='')}")
        if is_over(session):
            return None
        stores = MountedStores(
            transport,
            [options.place(wanted) for wanted in wanted_by_session(session)],
            options=options.mount,
            sync_seconds=options.sync_seconds,
            listener=options.listener,
        )
        stores.download()
        return run_mounted(stores, partial(run, Task(session, stores, lease.over)))


def is_over(session: dict[str, Any]) -> bool:
    return bool({session.get("state"), session.get("status")} & _OVER)


def run_mounted(stores: MountedStores, run: Callable[[], bool]) -> Ending:
    """Run it over stores that are downloaded, and end them in order whatever it does."""
    is_clean = False
    try:
        is_clean = run()
    finally:
        ending = stores.end(is_clean=is_clean)
    return ending
