"""The threads in which the MCP server does what waits for the database, so that its event loop never does.

As many as the setting says; a bounded number waits for them, for a bounded time. Nothing is kept from one piece of work
to the next: its connection goes back to the pool.
"""

from collections.abc import Callable

import anyio
import anyio.to_thread
from django.db import connections

from memoryhub.errors import Unavailable

WAITING_MAX = 256  # beyond, a caller is told at once
WAIT_SECONDS_MAX = 10


class Threads:
    def __init__(self, count: int) -> None:
        self._free = anyio.Semaphore(count)
        self._limiter = anyio.CapacityLimiter(count)

    async def run[Result](self, work: Callable[[], Result]) -> Result:
        """What the work gives. Raises: Unavailable when no thread was free in time, so that nothing was done."""
        await self._wait()
        try:
            return await anyio.to_thread.run_sync(_run_alone, work, limiter=self._limiter)
        finally:
            self._free.release()

    async def _wait(self) -> None:
        if self._free.value == 0 and self._free.statistics().tasks_waiting >= WAITING_MAX:
            raise _overloaded()
        try:
            with anyio.fail_after(WAIT_SECONDS_MAX):
                await self._free.acquire()
        except TimeoutError as error:
            raise _overloaded() from error


def _overloaded() -> Unavailable:
    return Unavailable(
        "The hub has too many calls of tools at once, so nothing was done; repeat it in a moment.",
        error_code="mcp_overloaded",
    )


def _run_alone[Result](work: Callable[[], Result]) -> Result:
    try:
        return work()
    finally:
        connections.close_all()
