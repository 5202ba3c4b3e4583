"""The parts of a running hub: processes that are started, watched, started again when they die, and ended.

Imports nothing of Django.
"""

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from memoryhub.embedded import EmbeddedError, processes

RESTART_SECONDS_MIN = 0.1
RESTART_SECONDS_MAX = 30.0
STEADY_SECONDS = 20.0  # a part that lived this long starts again without waiting
LOG_BYTES_MAX = 10_000_000
STDERR = 2  # our stdout is kept for what we print


class Part(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def pid(self) -> int | None: ...

    @property
    def log(self) -> Path | None:
        """The file that takes what it says; None when that goes to our stderr."""


READY_FILE = "MEMORYHUB_READY_FILE"  # the variable that names what a program touches when it works


class Program:
    """A command that runs until it is told to end. `log` takes what it says; None leaves it on stderr."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        log: Path | None,
        stop_seconds: float,
        descriptors: Sequence[int] = (),
    ) -> None:
        self.command = list(command)
        self.environment = dict(environment)
        self.log = log
        self.stop_seconds = stop_seconds
        self.descriptors = tuple(descriptors)
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return at once. It gets a session of its own, so Ctrl-C reaches us alone and the order is ours."""
        output = self.log.open("ab") if self.log else None
        try:
            self._child = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output or STDERR,
                stderr=output or STDERR,
                pass_fds=self.descriptors,
                start_new_session=True,
                preexec_fn=processes.die_with_parent(signal.SIGTERM),
            )
        finally:
            if output:
                output.close()

    def stop(self) -> None:
        """Ask it to end, then make it; its own children end with it."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        processes.end_processes([child.pid], (signal.SIGTERM, self.stop_seconds))
        processes.kill_group(child.pid)  # before it is collected: its number is still its own
        child.wait(5)

    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.poll() is None else None


class Watch:
    """Keeps one part alive. Each death in a row doubles the pause before the next start."""

    def __init__(self, name: str, part: Part) -> None:
        self.name = name
        self.part = part
        self.deaths_in_a_row = 0
        self._started_at = time.monotonic()
        self._start_at: float | None = None

    def start(self) -> None:
        self._started_at = time.monotonic()
        self.part.start()

    def stop(self) -> None:
        self.part.stop()

    def mend(self) -> str | None:
        """Look at the part once: note its death, or start it again when the pause is over.

        Gives what there is to say about it, or None.
        """
        if self.part.pid() is not None:
            return None
        if self._start_at is None:
            return self._note_death()
        if time.monotonic() < self._start_at:
            return None
        return self._start_again()

    def _note_death(self) -> str:
        if time.monotonic() - self._started_at > STEADY_SECONDS:
            self.deaths_in_a_row = 0
        pause = min(RESTART_SECONDS_MIN * 2**self.deaths_in_a_row, RESTART_SECONDS_MAX)
        self.deaths_in_a_row += 1
        self._start_at = time.monotonic() + pause
        said = f"{self.name} ended unexpectedly and is started again"
        if self.deaths_in_a_row == 1:
            return f"{said}."
        return f"{said}: {self.part.log or 'what stands above'} says why."

    def _start_again(self) -> str | None:
        self._start_at = None
        try:
            self.start()
        except (EmbeddedError, OSError) as error:
            return f"{self.name} does not start: {error}"
        return None


def rotate_log(path: Path) -> Path:
    """Put a log that has grown long aside; gives its path."""
    if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
        path.replace(path.with_suffix(path.suffix + ".1"))
    return path
