"""Running one coroutine from a thread that runs many, one after the other: its event loop is kept between them."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

_kept = threading.local()


class _Loop:
    """Ends with its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        self.loop.close()


def run[Result](work: Coroutine[Any, Any, Result]) -> Result:
    """As `asyncio.run`. Raises: what `work` raises, CancelledError included."""
    if not hasattr(_kept, "of_thread"):
        _kept.of_thread = _Loop()
    loop: asyncio.AbstractEventLoop = _kept.of_thread.loop
    try:
        return loop.run_until_complete(work)
    finally:
        if asyncio.all_tasks(loop):  # it left something running, which must not go on in the next one's time
            del _kept.of_thread
