"""A command under the mounts: a plain process in a group of its own, so that all it started can be ended with it."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType

GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL
LOOK_SECONDS = 0.2
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})


@dataclass(frozen=True, slots=True)
class Exited:
    """`code`: as a shell has it, 128 and the signal's number for a command that a signal ended. `is_clean`: it ended by itself."""

    code: int
    is_clean: bool


class CommandMissingError(Exception):
    """`code`: 127 when there is no such command, 126 when it may not be run."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Signals:
    """`stop`: the last that asked for an end, which is then none that is clean. Each is passed on when it arrives."""

    def __init__(self) -> None:
        self.stop: int | None = None
        self.pass_on: Callable[[int], None] = lambda number: None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number in _STOPS:
            self.stop = number
        self.pass_on(number)

    @contextmanager
    def held(self) -> Iterator["Signals"]:
        """Until the end no signal ends this process: what is left to do is bounded."""
        before = {number: signal.signal(number, self._note) for number in FORWARDED}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run_command(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    signals: Signals,
    over: threading.Event,
    meanwhile: Callable[[], object],
) -> Exited:
    """Until it ends, a signal asks for its end, or `over` is set. `meanwhile` is called several times a second.

    Nothing of its group runs when this returns. Raises: CommandMissingError.
    """
    if signals.stop is not None or over.is_set():
        return Exited(128 + (signals.stop or signal.SIGTERM), is_clean=False)
    with _started(command, environment) as process:
        asked_at = None
        signals.pass_on = partial(_signal, process)
        if signals.stop is not None:  # it came while the command was being started
            _signal(process, signals.stop)
        while process.poll() is None:
            if asked_at is None and (signals.stop is not None or over.is_set()):
                asked_at = time.monotonic()
                if signals.stop is None:
                    _signal(process, signal.SIGTERM)
            if asked_at is not None and time.monotonic() - asked_at > GRACE_SECONDS:
                _signal(process, signal.SIGKILL)
            meanwhile()
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
    signals.pass_on = lambda number: None
    code = process.returncode
    is_clean = code >= 0 and signals.stop is None and not over.is_set()
    return Exited(code if code >= 0 else 128 - code, is_clean)


@contextmanager
def _started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    try:
        process = subprocess.Popen(command, env=environment, process_group=0)
    except OSError as error:
        code = 127 if error.errno == errno.ENOENT else 126
        raise CommandMissingError(code, f"{command[0]} cannot be run: {error.strerror}.") from error
    try:
        if has_terminal:
            _give_terminal(process.pid)
            _signal(process, signal.SIGCONT)  # it may have asked for the terminal before it had it
        yield process
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()
        if has_terminal:
            _give_terminal(os.getpgrp())


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """To all of the group, which outlives the process that leads it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _give_terminal(group: int) -> None:
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with suppress(OSError):
            os.tcsetpgrp(sys.stdin.fileno(), group)
    finally:
        signal.signal(signal.SIGTTOU, before)
