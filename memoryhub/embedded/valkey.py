"""A private queue in the data folder: a Valkey on a socket, its messages on the disk within a second.

It lives and dies with the process that started it: it holds nothing that the database does not hold too.
"""

import signal
import socket
import subprocess
from pathlib import Path

from memoryhub.embedded import processes
from memoryhub.embedded.binaries import find_valkey
from memoryhub.embedded.connections import queue_socket, queue_url
from memoryhub.embedded.errors import EmbeddedError
from memoryhub.embedded.folder import make_folder
from memoryhub.embedded.sockets import make_socket_folder

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10


class EmbeddedQueue:
    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.socket = queue_socket(data_dir)
        self.log = data_dir / "logs" / "valkey.log"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when it answers. Raises: EmbeddedError."""
        if self.pid() is None:
            self._make_folders()
            self._end_stranded()
            self._launch()

    def stop(self) -> None:
        if self._child is not None:
            steps = ((signal.SIGTERM, STOP_SECONDS_MAX), (signal.SIGKILL, 5.0))
            processes.end_processes([self._child.pid], *steps)
            self._child.wait(5)

    def ready(self) -> bool:
        return self._ask(b"PING\r\n").startswith(b"+PONG")

    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def url(self) -> str:
        return queue_url(self.data_dir)

    def _make_folders(self) -> None:
        make_folder(self.data_dir)
        make_folder(self.data_dir / "logs", mode=0o700)
        make_folder(self.data_dir / "valkey", mode=0o700)
        make_socket_folder(self.data_dir)

    def _end_stranded(self) -> None:
        """Ask one that outlived its parent to write its file and end: two on one file would spoil it."""
        if self._ask(b"PING\r\n"):
            self._ask(b"SHUTDOWN\r\n")
            if not processes.wait_until(lambda: not self._ask(b"PING\r\n"), STOP_SECONDS_MAX):
                raise EmbeddedError(f"An old queue of {self.data_dir} does not end: end it and start again.")

    def _launch(self) -> None:
        if self._child is not None:
            self._child.wait(5)  # the one before, which has ended: collected before it is forgotten
        self._child = subprocess.Popen(
            self._command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=processes.die_with_parent(signal.SIGTERM),
        )
        if not processes.wait_until(self._has_started, START_SECONDS_MAX) or self.pid() is None:
            self.stop()
            raise EmbeddedError(f"The queue did not start: read {self.log}.")

    def _has_started(self) -> bool:
        return self.pid() is None or self.ready()

    def _command(self) -> list[str]:
        """With every setting as an argument; an empty `save` turns snapshots off, the command log is kept."""
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data_dir / "valkey"),
            "appendonly": "yes",
            "save": "",
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
            "logfile": str(self.log),
            "loglevel": "warning",
        }
        arguments = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return [str(find_valkey()), *arguments]

    def _ask(self, command: bytes) -> bytes:
        """The first bytes of its answer, or none when nobody listens."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket))
                connection.sendall(command)
                return connection.recv(64)
            except OSError:
                return b""
