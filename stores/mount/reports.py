"""What a mount has to say: each event once, in words of the contract, without contents."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

REPORTED_MAX = 10_000  # events that are said only once, remembered by one mount


@dataclass(frozen=True, slots=True)
class Event:
    """`kind`: a row of the table in docs/mount.md. `path`: a memory's, when it is about one."""

    kind: str
    store_id: str
    path: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


type Listener = Callable[[Event], None]


class Reporter:
    """Hands events of one store to a listener, from any thread."""

    def __init__(self, store_id: str, listener: Listener) -> None:
        self.store_id = store_id
        self._listener = listener
        self._lock = threading.Lock()
        self._said: set[tuple[str, str | None, str]] = set()

    def say(self, kind: str, path: str | None = None, **facts: Any) -> None:
        with self._lock:
            self._listener(Event(kind, self.store_id, path, facts))

    def say_once(self, kind: str, path: str | None = None, *, state: str = "", **facts: Any) -> None:
        """Again only when `state`, such as a digest, is another."""
        key = (kind, path, state)
        with self._lock:
            if key in self._said or len(self._said) >= REPORTED_MAX:
                return
            self._said.add(key)
            self._listener(Event(kind, self.store_id, path, facts))

    def forget(self, kind: str, path: str | None = None) -> None:
        """It holds no more: say it when it comes again."""
        with self._lock:
            self._said = {key for key in self._said if key[:2] != (kind, path)}
