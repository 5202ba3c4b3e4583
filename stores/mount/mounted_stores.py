"""The stores of one session as folders: downloaded together, kept in step, flushed and disposed of. Source: contract, section 9.

with MountedStores(transport, [Wanted("memstore_…", Path("/mnt/memory/notes"), read_only=False, name="Notes")]) as stores:
    ...                  # an agent works in stores.mounts.roots
    stores.sync_if_due()
    stores.finish()      # a clean end; leaving the block flushes and removes the folders in any case
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from memoryhub.client.transport import Transport
from stores.limits import STORES_PER_SESSION_MAX
from stores.mount.constants import (
    FINISH_SECONDS,
    FLUSH_SECONDS,
    PASS_SECONDS,
    SYNC_SECONDS_DEFAULT,
    SYNC_SECONDS_MIN,
)
from stores.mount.deadlines import Deadline, run_all
from stores.mount.disposals import dispose
from stores.mount.downloads import MountError, check_mount_path, download
from stores.mount.flushes import flush
from stores.mount.passes import run_pass
from stores.mount.remote import RemoteStore
from stores.mount.reports import Listener, Reporter
from stores.mount.roots import Mount, Mounts
from stores.mount.stores_on_disk import MountOptions, StoreOnDisk


@dataclass(frozen=True, slots=True)
class Wanted:
    """A store and where it goes."""

    store_id: str
    root: Path
    read_only: bool
    name: str


@dataclass(frozen=True, slots=True)
class Ending:
    """`is_saved`: the server has everything. `kept`: how many files lie aside because it does not."""

    is_saved: bool
    kept: int


def wanted_by_session(session: dict[str, Any]) -> list[Wanted]:
    """The stores that a session attaches, as `GET /v1/sessions/{id}` shows them. Raises: MountError."""
    return [
        Wanted(
            one["memory_store_id"],
            check_mount_path(one["mount_path"]),
            read_only=one["access"] == "read_only",
            name=one["name"],
        )
        for one in session.get("resources") or []
        if one.get("type") == "memory_store"
    ]


def check_sync_seconds(seconds: float) -> float:
    """Raises: ValueError, also for NaN, which no comparison would stop."""
    if not (seconds >= SYNC_SECONDS_MIN and math.isfinite(seconds)):
        raise ValueError(f"Passes may be {SYNC_SECONDS_MIN:g} seconds apart or more, not {seconds:g}.")
    return seconds


class MountedStores:
    """Not for several threads at once. Events go to `listener`, which several threads call, one at a time for each store."""

    def __init__(
        self,
        transport: Transport,
        wanted: Sequence[Wanted],
        *,
        options: MountOptions | None = None,
        sync_seconds: float = SYNC_SECONDS_DEFAULT,
        listener: Listener = lambda event: None,
    ) -> None:
        if len(wanted) > STORES_PER_SESSION_MAX:
            raise MountError("setting", f"At most {STORES_PER_SESSION_MAX} stores can be mounted together.")
        if len({one.root for one in wanted}) < len(wanted):
            raise MountError("setting", "Two stores would be mounted at one path.")
        self._sync_seconds = check_sync_seconds(sync_seconds)
        self._wanted = list(wanted)
        self._make = partial(_make_store, transport, options or MountOptions(), listener)
        self._stores: list[StoreOnDisk] = []
        self._last_end = time.monotonic()
        self._finished = False

    @property
    def mounts(self) -> Mounts:
        """With the roots as they are on the disk: a link above them is resolved."""
        named = {one.store_id: one.name for one in self._wanted}
        return Mounts(
            tuple(Mount(store.root, store.read_only, named[store.store_id]) for store in self._stores)
        )

    def __enter__(self) -> "MountedStores":
        self.download()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(is_clean=False)

    def download(self) -> None:
        """All or nothing. Raises: MountError; the folders that were made are gone again."""
        try:
            for wanted in self._wanted:
                store = self._make(wanted)
                self._stores.append(store)
                download(store)
        except BaseException:
            self.dispose()
            raise
        self._last_end = time.monotonic()

    def sync(self) -> bool:
        """One pass over every store now, in a minute at most. Whether all came to their end. Never raises."""
        return self._each(run_pass, Deadline(PASS_SECONDS))

    def sync_if_due(self) -> bool:
        """A pass, if the last one ended long enough ago. Whether there was one. Never raises."""
        if time.monotonic() - self._last_end < self._sync_seconds:
            return False
        self.sync()
        return True

    def finish(self, seconds: float = FINISH_SECONDS) -> bool:
        """The last pass of a clean end: deletions are not waited for. Whether it came to its end in time.

        Raises: RuntimeError when it is called again: a repeat would keep skipping the wait.
        """
        if self._finished:
            raise RuntimeError("The last pass was made already.")
        self._finished = True
        return self._each(partial(run_pass, final=True), Deadline(seconds))

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Send what was not sent, in this time. Whether everything that can be saved is. Never raises."""
        return self._each(flush, Deadline(seconds))

    def end(self, *, is_clean: bool) -> "Ending":
        """The last pass of a clean end, the flush and the folders, each whatever the one before did. Never raises."""
        is_finished, is_saved, kept = True, False, 0
        try:
            if is_clean:
                is_finished = self.finish()
        finally:
            try:
                is_saved = self.flush()
            finally:
                kept = self.dispose()
        return Ending(is_finished and is_saved and kept == 0, kept)

    def dispose(self) -> int:
        """Remove the folders. How many unsaved files were kept aside. Never raises."""
        kept = sum(dispose(store) for store in self._stores)
        self._stores.clear()
        return kept

    def _each(self, act: Callable[[StoreOnDisk, Deadline], bool], deadline: Deadline) -> bool:
        """Every store beside the others: one that fails stops none."""
        results: list[bool] = []
        tasks = [partial(_note, results, act, store, deadline) for store in self._stores]
        late = run_all(tasks, parallel=STORES_PER_SESSION_MAX, deadline=deadline)
        self._last_end = time.monotonic()
        return late == 0 and all(results)


def _note(
    results: list[bool], act: Callable[[StoreOnDisk, Deadline], bool], store: StoreOnDisk, deadline: Deadline
) -> None:
    results.append(act(store, deadline))


def _make_store(
    transport: Transport, options: MountOptions, listener: Listener, wanted: Wanted
) -> StoreOnDisk:
    return StoreOnDisk(
        RemoteStore(transport, wanted.store_id),
        wanted.root,
        read_only=wanted.read_only,
        options=options,
        reporter=Reporter(wanted.store_id, listener),
    )
