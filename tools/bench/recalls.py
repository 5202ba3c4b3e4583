"""A recall over HTTP, by one client: what of its time is the hub's own, beside the endpoint's.

The parts are those of `./hub up`: the web processes, the queue and the worker for services. The endpoint is a process of
its own that does as little as one can, since it shares the processors; its time is from the last byte of a request read to the
last of its answer written.
"""

import json
import multiprocessing
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from statistics import median, quantiles
from typing import Any

from memoryhub.embedded import EmbeddedPostgres, EmbeddedQueue
from memoryhub.parts import Program
from memoryhub.supervisor import PROVIDER_OPTIONS
from tests.live import LiveCaller
from tools.bench.figures import Goal

ANSWER = json.dumps({"text": "x" * 1_024, "sources": [{"id": "s1"}], "cursor": "c-1"}).encode()
RECALLS, WARM_UP_RECALLS = 200, 20
START_SECONDS_MAX = 60.0
_LENGTH = re.compile(rb"(?is)content-length: (\d+)\r\n(?:.*?\r\n)?\r\n")
ORIGINS = "MEMORYHUB_EGRESS_PRIVATE_ORIGINS"


@dataclass(slots=True)
class Recalls:
    """Seconds of each recall as its caller saw it, and of the endpoint in it."""

    whole: list[float] = field(default_factory=list)
    endpoint: list[float] = field(default_factory=list)

    @property
    def own(self) -> list[float]:
        return [whole - endpoint for whole, endpoint in zip(self.whole, self.endpoint, strict=True)]

    def table(self) -> str:
        columns = ((name, *_milliseconds(getattr(self, name))) for name in ("whole", "endpoint", "own"))
        cells = [f"{middle:.1f} | {high:.1f}" for _, middle, high in columns]
        head = "| recall over HTTP | whole p50 ms | p95 | endpoint p50 ms | p95 | hub's own p50 ms | p95 |\n| --- "
        return head + "| ---: " * 6 + f"|\n| {len(self.whole)} by one client | " + " | ".join(cells) + " |"

    def goals(self) -> Iterator[Goal]:
        yield Goal("hub's own share of a recall over HTTP, median, ms", 1_000 * median(self.own), at_most=25)


def _milliseconds(seconds: list[float]) -> tuple[float, float]:
    return 1_000 * median(seconds), 1_000 * quantiles(seconds, n=20)[-1]


@dataclass(slots=True)
class Endpoint:
    origin: str
    times: Connection

    def last_seconds(self) -> float:
        return float(self.times.recv())


@contextmanager
def started_endpoint(postgres: EmbeddedPostgres) -> Iterator[Endpoint]:
    """An endpoint and the queue, which the settings of this process name from now on."""
    queue = EmbeddedQueue(postgres.data_dir)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    serving = multiprocessing.Process(target=_serve, args=[theirs], daemon=True)
    queue.start()
    serving.start()
    try:
        endpoint = Endpoint(ours.recv(), ours)
        os.environ |= {"REDIS_URL": queue.url(), ORIGINS: f"{endpoint.origin}=127.0.0.0/8"}
        yield endpoint
    finally:
        serving.terminate()
        queue.stop()


@contextmanager
def started_worker(postgres: EmbeddedPostgres) -> Iterator[None]:
    worker = Program(
        [sys.executable, "-m", "celery", "--quiet", "-A", "memoryhub.celery", "worker", *PROVIDER_OPTIONS],
        environment=os.environ,
        log=postgres.data_dir / "logs" / "provider-worker.log",
        stop_seconds=15,
    )
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def _serve(times: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"
    answer = head.encode() + ANSWER
    with socket.create_server(("127.0.0.1", 0)) as listening:
        times.send(f"http://127.0.0.1:{listening.getsockname()[1]}")
        while True:
            called, _ = listening.accept()
            with called:
                _read_request(called)
                started = time.perf_counter()
                called.sendall(answer)
                times.send(time.perf_counter() - started)


def _read_request(called: socket.socket) -> None:
    received = b""
    while (length := _LENGTH.search(received)) is None or len(received) < length.end() + int(length[1]):
        more = called.recv(65_536)
        assert more, "the request ended before its end"
        received += more


def measure_recalls(port: int, key: str, session_id: str, endpoint: Endpoint) -> Recalls:
    call = LiveCaller(port, key)
    _await_worker(call, session_id, endpoint)
    recalls = Recalls()
    for number in range(-WARM_UP_RECALLS, RECALLS):
        started = time.perf_counter()
        answer = _recall(call, session_id, f"r{number}")
        seconds = time.perf_counter() - started
        assert answer.status == 201, answer.content
        own = endpoint.last_seconds()
        if number >= 0:
            recalls.whole.append(seconds)
            recalls.endpoint.append(own)
    call.close()
    return recalls


def _await_worker(call: LiveCaller, session_id: str, endpoint: Endpoint) -> None:
    """Until a recall succeeds: a worker that still starts is told as an overload."""
    ends_at = time.monotonic() + START_SECONDS_MAX
    while _recall(call, session_id, "first").status not in (200, 201):
        assert time.monotonic() < ends_at, "the worker for services does not start"
        time.sleep(0.5)
    while endpoint.times.poll():
        endpoint.last_seconds()


def _recall(call: LiveCaller, session_id: str, name: str) -> Any:
    body = {"client_request_id": name, "input": {"text": "What is known?"}}
    return call("POST", f"/v1/sessions/{session_id}/model-requests", body)
