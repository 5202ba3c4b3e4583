"""A real hub over HTTP: gunicorn with several processes on a port of the system's choice, and its caller.

Imports nothing of Django, so that tools may use it too.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from memoryhub.embedded import processes
from memoryhub.parts import Program
from tests.answers import Answer

READY_SECONDS_MAX = 90.0
ANSWER_SECONDS_MAX = 20.0
IDLE_SECONDS_MAX = 20.0  # gunicorn closes a connection that was idle for 30
TCP_ESTABLISHED = "01"  # /proc/net/tcp


def url_of(database: Mapping[str, Any], *, host: str | None = None) -> str:
    """DATABASE_URL for one of Django's DATABASES; `host`: reached through another folder of sockets."""
    credentials = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}"
    folder = quote(host or str(database["HOST"]))
    return f"postgresql://{credentials}@/{database['NAME']}?host={folder}&port={database['PORT'] or 5432}"


class NoAnswerError(Exception):
    """The connection ended before an answer: it is not known whether the request was carried out."""


class LiveHub:
    """The web server of a hub. It ends with the process that started it, or by `stop`."""

    def __init__(
        self,
        folder: Path,
        *,
        database_url: str,
        redis_url: str | None = None,
        web_processes: int = 2,
        web_threads: int = 8,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.log = folder / "web.log"
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "DATABASE_URL": database_url,
            "PORT": str(self.port),
            "MEMORYHUB_LISTEN_FD": str(self.listener.fileno()),
            "MEMORYHUB_WEB_PROCESSES": str(web_processes),
            "MEMORYHUB_WEB_THREADS": str(web_threads),
            "MEMORYHUB_LOG_LEVEL": "WARNING",
            **({"REDIS_URL": redis_url} if redis_url else {}),
            **(settings or {}),
        }
        self.program = Program(
            [sys.executable, "-m", "gunicorn", "-c", "python:memoryhub.gunicorn_config", "memoryhub.wsgi"],
            environment=environment,
            log=self.log,
            stop_seconds=15,
            descriptors=[self.listener.fileno()],
        )
        self.web_processes = web_processes
        self.callers: list[LiveCaller] = []

    def start(self) -> None:
        """Return when every process serves. Raises: AssertionError with the log's end."""
        self.program.start()
        if not processes.wait_until(self._is_ready, READY_SECONDS_MAX):
            raise AssertionError(f"the hub did not start:\n{self.log.read_text()[-4_000:]}")

    def stop(self) -> None:
        self.close_callers()
        self.listener.close()
        self.program.stop()

    def caller(self, key: str) -> "LiveCaller":
        self.callers.append(LiveCaller(self.port, key))
        return self.callers[-1]

    def close_callers(self) -> None:
        while self.callers:
            self.callers.pop().close()

    def worker_pids(self) -> list[int]:
        """The web processes, without the one that watches them."""
        master = self.program.pid()
        return [] if master is None else _children(master)

    def kill_worker(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def connections_by_worker(self) -> dict[int, int]:
        """How many open connections each web process holds: that a race really ran in several."""
        ours = _established(self.port)
        return {pid: len(ours & _socket_inodes(pid)) for pid in self.worker_pids()}

    def _is_ready(self) -> bool:
        if self.program.pid() is None:
            raise AssertionError(f"the hub ended at its start:\n{self.log.read_text()[-4_000:]}")
        if len(self.worker_pids()) < self.web_processes:
            return False
        probe = LiveCaller(self.port, "none")
        try:
            return probe("GET", "/v1/memory_stores").status == 401
        except NoAnswerError:
            return False
        finally:
            probe.close()


def _children(pid: int) -> list[int]:
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in listed]


def _established(port: int) -> set[str]:
    """The inodes of established connections of a local port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == TCP_ESTABLISHED}


def _socket_inodes(pid: int) -> set[str]:
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:  # closed since it was listed
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return inodes


class LiveCaller:
    """Calls a hub over HTTP with one key; one kept connection per thread. The signature is `tests.world.Caller`'s."""

    def __init__(self, port: int, key: str, *, answer_seconds: float = ANSWER_SECONDS_MAX) -> None:
        self.port = port
        self.key = key
        self.answer_seconds = answer_seconds
        self._local = threading.local()
        self._opened: list[HTTPConnection] = []

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Answer:
        """Raises: NoAnswerError."""
        sent = (
            raw if raw is not None else b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        )
        named = {"Content-Type": content_type, "Authorization": f"Bearer {self.key}", **(headers or {})}
        target = f"{path}?{urlencode(query, doseq=True)}" if query else path
        connection = self._connection()
        try:
            connection.request(method, target, body=sent, headers=named)
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as error:
            self._drop()
            raise NoAnswerError(f"{method} {path}: {type(error).__name__}") from error
        self._local.used_at = time.monotonic()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, content)

    def close(self) -> None:
        """Close the connections of every thread; no call may be under way."""
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._local = threading.local()

    def _drop(self) -> None:
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _connection(self) -> HTTPConnection:
        if time.monotonic() - getattr(self._local, "used_at", 0.0) > IDLE_SECONDS_MAX:
            self._drop()
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=self.answer_seconds)
            self._local.connection = connection
            self._opened.append(connection)
        return connection
