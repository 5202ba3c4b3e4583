"""Real parts for services: a web process, a worker of Celery, the queue, an endpoint that misbehaves, a proxy that loses replies."""

import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import redis
from django.conf import settings
from django.db import connection

from memoryhub.embedded import EmbeddedQueue
from memoryhub.parts import Program
from memoryhub.supervisor import PROVIDER_OPTIONS
from tests.embedded import make_data_dir
from tests.live import LiveHub, url_of
from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint

# What the clock of a hub's worker rings for, here beside it.
SWEEPING = """
import time, django
django.setup()
from providers import http_operations
while True:
    http_operations.sweep()
    time.sleep(0.5)
"""


class LosingProxy:
    """Hands requests on to a hub; the replies of some it swallows, after the hub has done what was asked."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.hub_port = 0
        self.losing = 0
        self.passed: list[tuple[int, bytes]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                taken, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[taken], daemon=True).start()

    def _serve(self, taken: socket.socket) -> None:
        with taken:
            exchange = misbehaving._read(taken)
            if exchange is None:
                return
            path = exchange.line.split()[1]
            onward = HTTPConnection("127.0.0.1", self.hub_port, timeout=15)
            headers = {name: exchange.headers[name] for name in ("authorization", "content-type")}
            onward.request("POST", path, exchange.body, headers)
            reply = onward.getresponse()
            self.passed.append((reply.status, body := reply.read()))
            onward.close()
            if self.losing > 0 and exchange.json["operation"] == "tool":
                self.losing -= 1
                return
            with suppress(OSError):
                taken.sendall(misbehaving.answer(reply.status, body))


class Parts:
    """A web process, a worker for services, an endpoint that misbehaves and a proxy before the hub itself."""

    def __init__(self, folder: Path) -> None:
        self.endpoint, self.calm = Endpoint(), Endpoint()
        self.proxy = LosingProxy()
        origins = (self.endpoint.origin, self.calm.origin, self.proxy.origin)
        listed = ";".join(f"{origin}=127.0.0.0/8" for origin in origins)
        self.listed = listed
        named = {"MEMORYHUB_EGRESS_PRIVATE_ORIGINS": listed, "MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": "0"}
        database_url = url_of(connection.settings_dict)
        self.data_dir = make_data_dir()
        self.queue = EmbeddedQueue(self.data_dir)  # of its own: another run's workers have another database
        self.queue.start()
        self.hub = LiveHub(
            folder,
            database_url=database_url,
            redis_url=self.queue.url(),
            web_processes=1,
            web_threads=24,
            settings=named,
        )
        self.proxy.hub_port = self.hub.port
        self.folder = folder
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "DATABASE_URL": database_url,
            "REDIS_URL": self.queue.url(),
            **named,
        }
        calling = ["-m", "celery", "--quiet", "-A", "memoryhub.celery", "worker", *PROVIDER_OPTIONS]
        self.worker = self._program("worker", calling)
        self.sweeper = self._program("sweeper", ["-c", SWEEPING])

    def _program(self, name: str, arguments: list[str]) -> Program:
        return Program(
            [sys.executable, *arguments],
            environment=self.environment,
            log=self.folder / f"{name}.log",
            stop_seconds=15,
        )

    def flush_queue(self) -> None:
        with redis.Redis.from_url(self.queue.url()) as client:
            client.flushall()

    def start(self) -> None:
        self.worker.start()
        self.sweeper.start()
        self.hub.start()

    def stop(self) -> None:
        self.hub.stop()
        self.worker.stop()
        self.sweeper.stop()
        self.queue.stop()
        shutil.rmtree(self.data_dir, ignore_errors=True)
        self.endpoint.close()
        self.calm.close()
        self.proxy.listener.close()


@contextmanager
def running_parts(folder: Path) -> Iterator[Parts]:
    with suppress(FileExistsError):
        (settings.DATA_DIR / "static").symlink_to(settings.STATIC_ROOT)
    parts = Parts(folder)
    try:
        parts.start()
        yield parts
    finally:
        parts.stop()
