"""Holding a row in the test's own process, and calls that wait for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.transaction import atomic

from memoryhub import ids
from stores.models import Memory
from tests.answers import Answer


@contextmanager
def held(memory_id: str) -> Iterator[None]:
    """A transaction of this process holds the memory's row, as an update under way does, with its store shared."""
    with atomic():
        memory = Memory.objects.select_for_update().get(id=ids.from_wire(ids.MEMORY, memory_id))
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM stores_memorystore WHERE id = %s FOR SHARE", [memory.store_id])
        yield


class Asked:
    """A call made in a thread of its own, so that the test may see it wait."""

    def __init__(self, ask: Callable[[], Answer]) -> None:
        self.answer: Answer | None = None
        self.thread = threading.Thread(target=self._run, args=[ask], daemon=True)
        self.thread.start()

    def _run(self, ask: Callable[[], Answer]) -> None:
        self.answer = ask()

    def wait(self, seconds: float) -> Answer | None:
        self.thread.join(seconds)
        return self.answer
