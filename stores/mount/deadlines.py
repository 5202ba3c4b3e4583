"""Work that must end in time: many tasks a few at a time, none begun after the time is up and none waited for."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait


class CutOffError(Exception):
    """The time is up: what was not begun is not done."""


class Deadline:
    """`seconds`: from now on; None for no end."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    @property
    def remaining(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raises: CutOffError."""
        if self.passed:
            raise CutOffError("The time was up before everything was done.")


def run_all(tasks: Sequence[Callable[[], None]], *, parallel: int, deadline: Deadline) -> int:
    """How many did not end in time. Raises what a task raised, CutOffError apart."""
    if not tasks:
        return 0
    pool = ThreadPoolExecutor(max_workers=min(parallel, len(tasks)), thread_name_prefix="mount")
    try:
        futures = [pool.submit(_begin, task, deadline) for task in tasks]
        ended, unfinished = wait(futures, timeout=deadline.remaining)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    failures = [future.exception() for future in ended]
    for failure in failures:
        if failure is not None and not isinstance(failure, CutOffError):
            raise failure
    return len(unfinished) + sum(isinstance(failure, CutOffError) for failure in failures)


def _begin(task: Callable[[], None], deadline: Deadline) -> None:
    deadline.check()
    task()
