"""What is true of a process, and ending one within a bound. Reads /proc where there is one."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def is_running(pid: int) -> bool:
    """Whether the process lives. One that ended and was not collected by its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _state(pid) != "Z"


def _state(pid: int) -> str | None:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None


def name_of(pid: int) -> str | None:
    """The program's short name, or None where the system does not tell."""
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return None


def folder_of(pid: int) -> Path | None:
    """The folder a process works in, or None where the system does not tell."""
    try:
        return (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None


def started_with(pid: int, variable: str, value: str) -> bool:
    """Whether it was started with this environment variable; False where the system does not tell."""
    try:
        return f"{variable}={value}".encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def list_processes() -> Iterator[int]:
    """Every process id of the machine; none where there is no /proc."""
    return (int(entry.name) for entry in PROC.glob("[0-9]*"))


def end_processes(pids: Iterable[int], *signals: tuple[signal.Signals, float]) -> bool:
    """Send each signal in turn and wait its seconds, until no process lives. False if one still does."""
    every = list(pids)
    for number, seconds in signals:
        for pid in filter(is_running, every):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        if wait_until(lambda: not any(map(is_running, every)), seconds):
            return True
    return not any(map(is_running, every))


def kill_group(pid: int) -> None:
    """End at once what is left of the session a process led."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool], seconds: float, *, step_seconds: float = 0.01) -> bool:
    """Ask again and again until the condition holds (True) or the seconds have passed (False)."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step_seconds)
    return True


def die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """A preexec_fn that has Linux send the signal when the starting thread is gone. Elsewhere None.

    A parent that was gone already before the call sends nothing, so the new process looks once itself.
    """
    if _libc is None:
        return None
    libc, parent = _libc, os.getpid()

    def arrange() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os.kill(os.getpid(), number)

    return arrange
