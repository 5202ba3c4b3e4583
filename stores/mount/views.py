"""What the server holds, as far as a mount knows: kept up to date by the feed of changes, or by a listing where there is none."""

from collections.abc import Mapping

from stores.mount.remote import Change, RemoteMemory, RemoteStore


class RemoteView:
    """`memories`: by path."""

    def __init__(self) -> None:
        self.memories: dict[str, RemoteMemory] = {}
        self._paths: dict[str, str] = {}  # by id
        self._cursor: int | None = None
        self._has_feed = True

    def begin(self, remote: RemoteStore) -> int | None:
        """Forget everything. Where the feed stands now: to be given to `follow` when a listing was put in whole."""
        self.replace({})
        self._cursor = None
        cursor = remote.find_cursor() if self._has_feed else None
        self._has_feed = cursor is not None
        return cursor

    def follow(self, cursor: int | None) -> None:
        """Everything up to there is known. Without it, the next `refresh` lists."""
        self._cursor = cursor

    def refresh(self, remote: RemoteStore) -> None:
        """Ask what changed. Raises: ClientError; when a listing breaks off, the next call lists again."""
        if self._cursor is not None:
            feed = remote.find_changes(self._cursor)
            if feed is not None:
                self._cursor = feed.cursor
                self._apply(feed.changes)
                return
            self._has_feed = False
        cursor = self.begin(remote)
        self.replace(remote.list_memories())
        self.follow(cursor)

    def _apply(self, changes: list[Change]) -> None:
        """The last state of each memory: first all old paths go, then the new ones come, so a swap is no collision."""
        for change in changes:
            self.remove(change.id)
        for change in changes:
            if change.memory is not None:
                self.put(change.memory)

    def replace(self, memories: Mapping[str, RemoteMemory]) -> None:
        self.memories = dict(memories)
        self._paths = {memory.id: path for path, memory in memories.items()}

    def put(self, memory: RemoteMemory) -> None:
        self.remove(memory.id)
        self.memories[memory.path] = memory
        self._paths[memory.id] = memory.path

    def remove(self, memory_id: str) -> None:
        path = self._paths.pop(memory_id, None)
        held = self.memories.get(path) if path is not None else None
        if held is not None and held.id == memory_id:
            del self.memories[held.path]
