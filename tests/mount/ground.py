"""A store on a real hub, mounted in a folder, with an owner beside it and faults between."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoryhub.client.errors import ConnectionFailed, HubRefused
from memoryhub.client.transport import Transport
from stores.models import Memory
from stores.mount.mounted_stores import MountedStores, Wanted
from stores.mount.reports import Event
from stores.mount.stores_on_disk import MountOptions, StoreOnDisk
from tests.stores.shelf import Shelf

type Fault = Callable[[str, str], str | None]


class FaultyTransport(Transport):
    """Counts what is asked. `fault` says of each request: None, `drop` (not sent), `lose` (answer lost) or a status."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key, timeout_seconds=20)
        self.asked: list[tuple[str, str]] = []
        self.fault: Fault = lambda method, path: None
        self._count_lock = threading.Lock()

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        with self._count_lock:
            self.asked.append((method, path))
        fault = self.fault(method, path)
        if fault == "drop":
            raise ConnectionFailed("dropped")
        if fault not in (None, "lose"):
            raise HubRefused(int(str(fault)), {"error": {"type": "api_error", "message": "A fault."}})
        answer = super().call(method, path, body, **options)
        if fault == "lose":
            raise ConnectionFailed("lost")
        return answer

    def count(self) -> int:
        """Since the last time."""
        counted, self.asked = len(self.asked), []
        return counted


@dataclass
class Bench:
    """One store, its mount, and what the mount said."""

    shelf: Shelf
    transport: FaultyTransport
    folder: Path
    events: list[Event] = field(default_factory=list)
    mounted: MountedStores | None = None

    @property
    def root(self) -> Path:
        return self.folder / "notes"

    def mount(self, *, read_only: bool = False, **options: Any) -> MountedStores:
        wanted = Wanted(self.shelf.store_id, self.root, read_only, "Notes")
        self.mounted = MountedStores(
            self.transport, [wanted], options=MountOptions(**options), listener=self.events.append
        )
        self.mounted.download()
        return self.mounted

    @property
    def disk(self) -> StoreOnDisk:
        assert self.mounted is not None
        return self.mounted._stores[0]

    def sync(self) -> bool:
        assert self.mounted is not None
        return self.mounted.sync()

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def confirm_deletes(self) -> bool:
        """Two passes, half a minute apart."""
        self.sync()
        for path in self.disk.pending_delete:
            self.disk.pending_delete[path] -= 31
        return self.sync()

    def memories(self) -> dict[str, str]:
        return {
            memory.path: str(memory.head.content)
            for memory in Memory.objects.filter(store_id=self.shelf.store.id).select_related("head")
        }

    def files(self) -> dict[str, str]:
        return files_of(self.root)

    def operations(self) -> list[tuple[str, str | None]]:
        """Of all versions, oldest first."""
        return [(version.operation, version.path) for version in reversed(self.shelf.versions())]

    def said(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]

    def memory(self, path: str) -> Memory:
        return Memory.objects.get(store_id=self.shelf.store.id, path_key=path.encode())

    def kept(self) -> list[str]:
        """Contents of what was kept aside."""
        return sorted(
            file.read_text() for file in (self.folder / ".memoryhub-kept").rglob("*") if file.is_file()
        )


def files_of(root: Path) -> dict[str, str]:
    """Path -> text, of the regular files but the marker."""
    return {
        "/" + file.relative_to(root).as_posix(): file.read_text()
        for file in root.rglob("*")
        if file.is_file() and not file.is_symlink() and file.name != ".memoryhub-store"
    }
