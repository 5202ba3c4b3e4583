"""A mount that is killed at any of its requests: what others wrote stands, and what the agent wrote is saved or still on the disk."""

import http.client
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest

from stores import memory_stores
from stores.models import Memory
from tests.live import LiveHub
from tests.mount.ground import files_of
from tests.source import ROOT
from tests.stores.shelf import Shelf
from tests.world import Tenant

ROUNDS = int(os.environ.get("MEMORYHUB_TEST_KILL_ROUNDS", "6"))  # the whole number is 60
BEFORE = {"/mine": "old", "/gone": "old", "/moved": "moves", "/theirs": "old", "/both": "old"}
SCRIPT = """cd "$0"; echo ready
while [ ! -e "$1" ]; do sleep 0.05; done
printf 'mine' > mine; printf 'new' > new; printf 'lost to the owner' > both; rm gone; mv moved moved-on"""


class Proxy(ThreadingHTTPServer):
    """Passes requests on. At one of them it kills: before the hub has it, or before its answer is given."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.hub_port = port
        self.lock = Lock()
        self.begin(None, None)

    def begin(self, kill_at: int | None, is_answered: bool | None) -> None:
        self.count, self.kill_at, self.is_answered = 0, kill_at, is_answered
        self.victim: subprocess.Popen[str] | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who was killed reads no answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def next_number(self) -> int:
        with self.lock:
            self.count += 1
            return self.count - 1


class Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _pass_on(self) -> None:
        number = self.server.next_number()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_last = number == self.server.kill_at
        if is_last and not self.server.is_answered:
            self._kill()
            return
        hub = http.client.HTTPConnection("127.0.0.1", self.server.hub_port, timeout=30)
        try:
            kept = ("authorization", "content-type", "accept")
            headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
            hub.request(self.command, self.path, body or None, headers)
            answer = hub.getresponse()
            content = answer.read()
        finally:
            hub.close()
        if is_last:
            self._kill()
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _pass_on

    def _kill(self) -> None:
        assert self.server.victim is not None
        self.server.victim.send_signal(signal.SIGKILL)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def proxy(live: LiveHub) -> Iterator[Proxy]:
    with Proxy(live.port) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@dataclass
class Round:
    """One store, one mount of it, one end."""

    proxy: Proxy
    tenant: Tenant
    folder: Path
    shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        store = memory_stores.create_store(
            environment="development", name="Notes", description="", metadata={}, actor=self.tenant.actor
        )
        self.shelf = Shelf(store.wire_id, self.tenant.actor)
        for path, content in BEFORE.items():
            self.shelf.put(path, content)

    @property
    def root(self) -> Path:
        return self.folder / "notes"

    def start(self) -> "subprocess.Popen[str]":
        url = f"http://127.0.0.1:{self.proxy.server_address[1]}"
        environment = {
            **os.environ,
            "MEMORYHUB_URL": url,
            "MEMORYHUB_KEY": self.tenant.key,
            "PYTHONPATH": str(ROOT),
        }
        words = ["--store", self.shelf.store_id, "--root", str(self.folder), "--interval", "off", "--"]
        return subprocess.Popen(
            [sys.executable, "-m", "stores.mount.command", *words, "sh", "-c", SCRIPT, str(self.root), str(self.flag)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip

    @property
    def flag(self) -> Path:
        return self.folder / "go"

    def run(self) -> int:
        """The agent works once the owner has; the exit code."""
        process = self.proxy.victim = self.start()
        assert process.stdout is not None
        is_mounted = process.stdout.readline() == "ready\n"
        if is_mounted:
            for path in ("/theirs", "/both"):
                memory = Memory.objects.get(store_id=self.shelf.store.id, path=path)
                self.shelf.update(memory, content="the owner's")
        self.flag.touch()
        process.communicate(timeout=60)
        self.require(is_mounted)
        return process.returncode

    def memories(self) -> dict[str, str]:
        held = Memory.objects.filter(store_id=self.shelf.store.id).select_related("head")
        return {memory.path: str(memory.head.content) for memory in held}

    def on_disk(self) -> set[str]:
        """What stands in the folder or was kept aside."""
        left = files_of(self.root).values() if self.root.exists() else ()
        kept = (file for file in (self.folder / ".memoryhub-kept").rglob("*") if file.is_file())
        return {*left, *(file.read_text() for file in kept)}

    def require(self, is_mounted: bool) -> None:
        held = self.memories()
        if not is_mounted:
            assert held == BEFORE
            return
        assert (held["/theirs"], held["/both"]) == ("the owner's", "the owner's")
        found = {*held.values(), *self.on_disk()}
        assert {"mine", "new", "lost to the owner", "moves"} <= found
        assert ("/moved" in held) != ("/moved-on" in held)
        versions = [version.content for version in self.shelf.versions()]
        assert versions.count("new") <= 1 and versions.count("mine") <= 1


def end_of(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_killed_at_any_request_it_drops_nothing_and_overwrites_nothing(
    proxy: Proxy, live_tenant: Tenant, tmp_path: Path
) -> None:
    arrange = partial(Round, proxy, live_tenant)
    (tmp_path / "whole").mkdir()
    whole = arrange(tmp_path / "whole")
    proxy.begin(None, None)
    assert whole.run() == 0
    expected = {
        "/mine": "mine",
        "/new": "new",
        "/moved-on": "moves",
        "/theirs": "the owner's",
        "/both": "the owner's",
    }
    assert whole.memories() == expected
    points = [(number, is_answered) for number in range(proxy.count) for is_answered in (False, True)]
    assert len(points) >= 12, points
    seed = random.randrange(2**32)
    print(f"seed {seed}, {len(points)} points")
    chosen = [
        one
        for _ in range(ROUNDS // len(points) + 1)
        for one in random.Random(seed).sample(points, len(points))
    ]
    for number, (kill_at, is_answered) in enumerate(chosen[:ROUNDS]):
        (tmp_path / str(number)).mkdir()
        one = arrange(tmp_path / str(number))
        proxy.begin(kill_at, is_answered)
        code = one.run()
        assert code in (0, -signal.SIGKILL), (kill_at, is_answered)
        if code and one.root.exists():  # what a dead mount left is never taken for somebody's files
            left = files_of(one.root)
            proxy.begin(None, None)
            again = proxy.victim = one.start()
            assert end_of(again) == 65
            assert files_of(one.root) == left
