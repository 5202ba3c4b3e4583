"""A command of the model in a shell: not confined, but without the credentials of who runs it, and with an end.

Each command is a shell of its own, in a process group of its own. When the shell has ended, or its time is up, all of the
group is killed: nothing that it started goes on writing. What leaves the group on purpose (`setsid`) is not reached.
"""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from stores.mount.tools_paths import ToolError

OUTPUT_BYTES_MAX = 102_400  # source: stores contract, section 7
SECONDS_DEFAULT = 120.0  # source: stores contract, section 7
SECONDS_MAX = 600.0
COMMAND_LENGTH_MAX = 131_071  # bytes of one argument; Linux
_LOOK_SECONDS = 0.01
_PIECE_BYTES = 65_536
_DRAIN_SECONDS = 2.0

# Variables of the hub, its workers and model services, and what is named as a secret is.
_CREDENTIALS = re.compile(
    r"MEMORYHUB_.*|ANTHROPIC_.*|OPENAI_.*|AWS_.*|.*(TOKEN|SECRET|PASSW(OR)?D|CREDENTIAL|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY).*|.*_KEYS?"
    r"|(DATABASE|REDIS|CELERY_BROKER|BROKER)_URL|PGPASS.*",
    re.IGNORECASE,
)


def is_credential(name: str) -> bool:
    """Whether a variable of this name may hold a secret."""
    return _CREDENTIALS.fullmatch(name) is not None


def plain_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command is given of an environment."""
    return {name: value for name, value in environment.items() if not is_credential(name)}


@dataclass(frozen=True, slots=True)
class Ended:
    """`output`: the last OUTPUT_BYTES_MAX bytes of both streams. `code` None: its time was up."""

    output: str
    code: int | None
    is_cut: bool


class Shells:
    """Runs commands, several at a time. After `close` none runs and none begins."""

    def __init__(self, workdir: str, environment: Mapping[str, str]) -> None:
        self._workdir = workdir
        self._environment = {**environment, "TERM": "dumb"}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, command: str, seconds: float) -> Ended:
        """Raises: ToolError."""
        shell = self._start(command)
        output = _Output(shell)
        try:
            code = _wait(shell, time.monotonic() + seconds)
        finally:
            self._end(shell)
        text, is_cut = output.take()
        return Ended(text, code, is_cut)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for shell in self._running:
                _kill_group(shell)

    def _start(self, command: str) -> subprocess.Popen[bytes]:
        """The shell is known as soon as it runs, so that `close` finds it."""
        with self._lock:
            if self._is_closed:
                raise ToolError("The session has ended.")
            try:
                shell = subprocess.Popen(
                    ["/bin/bash", "--noprofile", "--norc", "-c", command],
                    cwd=self._workdir,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise ToolError(f"The command cannot be started: {error}.") from error
            self._running.add(shell)
            return shell

    def _end(self, shell: subprocess.Popen[bytes]) -> None:
        """The group goes before its leader is reaped: until then nobody else has its number."""
        with self._lock:
            self._running.discard(shell)
            _kill_group(shell)
        shell.wait()


def _kill_group(shell: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(shell.pid, signal.SIGKILL)


def _wait(shell: subprocess.Popen[bytes], until: float) -> int | None:
    """The exit code, without reaping the shell; None when its time is up."""
    while time.monotonic() < until:
        ended = os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        time.sleep(_LOOK_SECONDS)
    return None


class _Output:
    """Reads what a shell writes, in a thread, and keeps the end of it."""

    def __init__(self, shell: subprocess.Popen[bytes]) -> None:
        assert shell.stdout is not None
        self._stream = shell.stdout
        self._kept = bytearray()
        self._is_cut = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), _PIECE_BYTES):
                self._kept += piece
                if len(self._kept) > OUTPUT_BYTES_MAX:
                    del self._kept[: len(self._kept) - OUTPUT_BYTES_MAX]
                    self._is_cut = True

    def take(self) -> tuple[str, bool]:
        """After the group is gone. What left the group may hold the pipe open: it is not waited for."""
        self._thread.join(_DRAIN_SECONDS)
        text = bytes(self._kept).decode("utf-8", "replace")
        if not self._thread.is_alive():
            self._stream.close()
        return text, self._is_cut
