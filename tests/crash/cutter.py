"""A door before PostgreSQL that cuts a connection at its COMMIT: the change is saved, or not, and nobody is told.

Source: PostgreSQL's frontend/backend protocol 3.0. After the first packet each message of the client is a type byte,
a length of four bytes that counts itself, and a body; psycopg sends COMMIT as a simple query.
"""

import socket
import struct
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

type Moment = Literal["before", "after"]

COMMIT = b"COMMIT\0"


class CommitCutter:
    """Listens in `folder` under the name PostgreSQL's socket has; passes everything on, but for the armed COMMIT."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.folder = tempfile.mkdtemp(prefix="memoryhub-cut-")  # short: a socket's path may have 103 bytes
        self.cut_count = 0
        self._armed: tuple[Moment, int] | None = None
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.folder}/{target.name}")
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, moment: Moment, number: int = 1) -> None:
        """Cut the next COMMIT but `number - 1`, before PostgreSQL has it, or when it has carried it out."""
        with self._lock:
            self._armed = (moment, number)

    def disarm(self) -> bool:
        """Whether nothing was cut since it was armed."""
        with self._lock:
            armed, self._armed = self._armed, None
            return armed is not None

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        Path(self.folder, self.target.name).unlink(missing_ok=True)
        Path(self.folder).rmdir()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            silenced = threading.Event()
            with suppress(OSError, EOFError):
                server.connect(str(self.target))
                back = threading.Thread(target=_pass_back, args=[server, client, silenced], daemon=True)
                back.start()
                self._pass_on(client, server, silenced)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            back.join(10)

    def _pass_on(self, client: socket.socket, server: socket.socket, silenced: threading.Event) -> None:
        first = _read(client, 4)
        server.sendall(first + _read(client, struct.unpack("!i", first)[0] - 4))
        while True:
            head = _read(client, 5)
            body = _read(client, struct.unpack("!i", head[1:])[0] - 4)
            moment = self._moment() if head[:1] == b"Q" and body == COMMIT else None
            if moment == "after":
                silenced.set()
            if moment != "before":
                server.sendall(head + body)
            if moment == "after":
                _await_end(silenced)
            if moment is not None:
                return

    def _moment(self) -> Moment | None:
        """When to cut this COMMIT; None: not at all."""
        with self._lock:
            if self._armed is None:
                return None
            moment, number = self._armed
            self._armed = (moment, number - 1) if number > 1 else None
            self.cut_count += number == 1
            return moment if number == 1 else None


def _await_end(silenced: threading.Event) -> None:
    """Wait until the answer to the COMMIT, which nobody gets, is there: the event is cleared then."""
    end = threading.Event()
    for _ in range(1_000):
        if not silenced.is_set():
            return
        end.wait(0.01)


def _pass_back(server: socket.socket, client: socket.socket, silenced: threading.Event) -> None:
    with suppress(OSError):
        while piece := server.recv(65_536):
            if silenced.is_set():
                silenced.clear()
                return
            client.sendall(piece)


def _read(connection: socket.socket, size: int) -> bytes:
    """Raises: EOFError."""
    pieces = b""
    while len(pieces) < size:
        piece = connection.recv(size - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return pieces
