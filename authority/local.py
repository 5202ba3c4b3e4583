"""An authority within one process: the same host methods over any two stores, one call at a time, in order of arrival.

For commands and tests. A hub keeps its pin in the database and its calls in rows.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from authority.adopt import Adoption, adopt
from authority.advance import advance
from authority.graph import Head
from authority.host_requests import read_adoption_request, read_advance_request
from authority.receipts import Receipt
from authority.terms import Terms


class LocalAuthority:
    """`pin`: the reviewed head that readers see; only the two methods move it."""

    def __init__(self, terms: Terms, pin: Head, *, reach: Callable[[str], None] = lambda _: None) -> None:
        self._terms, self._reach = terms, reach
        self.pin = pin
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    def advance_canonical(self, value: Any) -> Receipt:
        """Raises: what was raised, unchanged."""
        request = read_advance_request(value)
        with self._turn():
            return self._publish(advance(self._terms, self.pin, request))

    def adopt_nomination(self, value: Any) -> Receipt:
        """Raises: what was raised, unchanged."""
        request = read_adoption_request(value)
        with self._turn():
            return self._publish(adopt(Adoption(self._terms, self.pin, request, self._reach)))

    def _publish(self, receipt: Receipt) -> Receipt:
        self.pin = receipt.head
        return receipt

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Whoever came first goes first; a call that fails gives its turn up, too."""
        mine = threading.Event()
        with self._guard:
            self._waiting.append(mine)
            if self._waiting[0] is mine:
                mine.set()
        mine.wait()
        try:
            yield
        finally:
            with self._guard:
                self._waiting.popleft()
                if self._waiting:
                    self._waiting[0].set()
